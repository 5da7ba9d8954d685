package engine

import (
	"errors"
	"fmt"
	"time"

	"syncd/internal/clients/origin"
	"syncd/internal/config"
	"syncd/internal/mirror"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/store"
)

// Progress returns the progress of the running work.
func (e *Engine) Progress() report.Snapshot { return e.progress.Snapshot() }

// Status returns the status of each configured or served manifest.
func (e *Engine) Status() (report.Status, error) {
	progress := e.progress.Snapshot()
	progress.StuckSince = e.silence.stuckSince()
	status, err := readStatus(e.Config(), e.mirror, e.store, e.staging.All(), progress)
	status.Exports = report.ReadExports(e.mirror, Exports(e.Config()), e.shared.Failed())
	status.Scrub = report.ScrubStatusOf(e.Scrub.Progress(), e.Config().Scrub.Schedule.IsSet())
	if err == nil {
		status.Hooks, err = report.ReadHooks(e.store, configuredHooks(e.Config()), e.Hooks.states())
	}
	if err == nil {
		status.Publish, err = e.uploads.status(status.Generation)
	}
	if broken := e.intact(); broken != nil {
		for i := range status.Manifests {
			status.Manifests[i].State, status.Manifests[i].Error = report.StateFailed, broken.Error()
		}
	}
	status.Explain(time.Now())
	return status, err
}

// StatusOnDisk returns the status of each of cfg's manifests when no engine is
// running; state is nil when there is no state database.
func StatusOnDisk(cfg *config.Config, m *mirror.Mirror, state report.StateReader) (report.Status, error) {
	entries, err := staging.Read(m.Root())
	if err != nil {
		return report.Status{}, err
	}
	status, err := readStatus(cfg, m, state, entries, report.Snapshot{})
	status.Exports = report.ReadExports(m, Exports(cfg), nil)
	if state != nil && err == nil {
		var scrub store.Scrub
		scrub, err = state.Scrub()
		status.Scrub = report.ScrubStatusOf(scrub, cfg.Scrub.Schedule.IsSet())
	}
	if err == nil && state != nil {
		status.Hooks, err = report.ReadHooks(state, configuredHooks(cfg), nil)
	}
	if err == nil {
		status.Publish, err = publishStatusOnDisk(cfg, state, status.Generation)
	}
	status.Explain(time.Now())
	return status, err
}

func readStatus(cfg *config.Config, m *mirror.Mirror, state report.StateReader, entries map[string]staging.Entry, progress report.Snapshot) (report.Status, error) {
	configured := make([]report.Configured, len(cfg.Manifests))
	for i, m := range cfg.Manifests {
		configured[i] = report.Configured{Name: m.Name, Release: m.Release, Policy: policyOf(m.Activate)}
	}
	status, err := report.ReadStatus(m, state, origin.Of(cfg.Source.URL), configured, entries, progress)
	status.Views = report.ReadViews(m.Current(), wantedViews(cfg))
	return status, err
}

func wantedViews(cfg *config.Config) []report.WantedView {
	var wanted []report.WantedView
	for _, target := range viewsOf(cfg) {
		w := report.WantedView{Wanted: mirror.Wanted{View: target.View, Access: mirror.Access(cfg.Permissions)}}
		w.Maps, w.Err = target.ReadMaps()
		wanted = append(wanted, w)
	}
	return wanted
}

// History returns the newest entries first, limit at most.
func (e *Engine) History(limit int) (report.History, error) {
	return report.ReadHistory(e.mirror, e.store, limit)
}

// DiskUse returns the space that the generations on disk take.
func (e *Engine) DiskUse() (report.DiskUse, error) { return report.ReadDiskUse(e.mirror) }

// Ready is nil when every configured manifest is served. With a maxAge above 0,
// each must also have been up to date no longer ago than that.
func (e *Engine) Ready(maxAge time.Duration) error {
	if err := e.intact(); err != nil {
		return err
	}
	saved, err := e.store.Manifests()
	if err != nil {
		return err
	}
	current := e.mirror.Current()
	for _, name := range e.Config().Names() {
		record, served := current.Records[name]
		if !served {
			return fmt.Errorf("%s has no data yet", name)
		}
		synced := saved[name].SyncedAt
		if synced.IsZero() {
			synced = record.PublishedAt
		}
		if age := time.Since(synced); maxAge > 0 && age > maxAge {
			return fmt.Errorf("%s was last up to date %s ago", name, age.Round(time.Second))
		}
	}
	return nil
}

// DeliveriesOnDisk returns the deliveries that wait when no engine is running;
// state is nil when there is no state database.
func DeliveriesOnDisk(cfg *config.Config, state report.StateReader) (report.Deliveries, error) {
	if state == nil {
		return report.Deliveries{Deliveries: []report.Delivery{}}, nil
	}
	return report.ReadDeliveries(state, hookNames(cfg), nil)
}

// Alive is nil while the data directory is there to work in and every running sync
// moves.
func (e *Engine) Alive() error { return errors.Join(e.checkDataDir(), e.silence.check()) }

func (e *Engine) aliveAndReady() error {
	if err := e.Alive(); err != nil {
		return err
	}
	return e.Ready(0)
}
