package daemon

import (
	"fmt"
	"time"

	"syncd/internal/config"
	"syncd/internal/mirror"
	"syncd/internal/origin"
	"syncd/internal/report"
)

// intact is nil while readers find what is served.
func (e *Engine) intact() error {
	if err := e.present(); err != nil {
		return err
	}
	return e.mirror.Intact()
}

// Progress is the state of the work under way.
func (e *Engine) Progress() report.Snapshot { return e.progress.Snapshot() }

// Status tells how each configured manifest stands.
func (e *Engine) Status() (report.Status, error) {
	status, err := statusOf(e.Config(), e.mirror, e.store, e.progress.Snapshot())
	if broken := e.intact(); broken != nil {
		for i := range status.Manifests {
			status.Manifests[i].State, status.Manifests[i].Error = report.StateFailed, broken.Error()
		}
	}
	status.Explain(time.Now())
	return status, err
}

// StatusOnDisk tells how each of cfg's manifests stands when no process holds the
// data directory; remembered is nil when there is no state.
func StatusOnDisk(cfg *config.Config, m *mirror.Mirror, remembered report.StateReader) (report.Status, error) {
	status, err := statusOf(cfg, m, remembered, report.Snapshot{})
	status.Explain(time.Now())
	return status, err
}

func statusOf(cfg *config.Config, m *mirror.Mirror, remembered report.StateReader, now report.Snapshot) (report.Status, error) {
	return report.ReadStatus(m, remembered, origin.Of(cfg.Source.URL), configured(cfg), now)
}

// Disk tells what the generations on disk take.
func (e *Engine) Disk() (report.DiskUse, error) { return report.ReadDiskUse(e.mirror) }

// Alive is nil while the data directory is there to work in.
func (e *Engine) Alive() error { return e.present() }

// History returns the newest entries first.
func (e *Engine) History(limit int) (report.History, error) {
	return report.ReadHistory(e.mirror, e.store, limit)
}

// Ready is nil when every configured manifest is served and, with a maxAge,
// was found up to date no longer ago than that.
func (e *Engine) Ready(maxAge time.Duration) error {
	if err := e.intact(); err != nil {
		return err
	}
	states, err := e.store.Manifests()
	if err != nil {
		return err
	}
	current := e.mirror.Current()
	for _, name := range e.Config().Names() {
		record, served := current.Records[name]
		if !served {
			return fmt.Errorf("%s has no data yet", name)
		}
		synced := states[name].SyncedAt
		if synced.IsZero() {
			synced = record.PublishedAt
		}
		if age := time.Since(synced); maxAge > 0 && age > maxAge {
			return fmt.Errorf("%s was last up to date %s ago", name, age.Round(time.Second))
		}
	}
	return nil
}

func configured(cfg *config.Config) []report.Configured {
	all := make([]report.Configured, len(cfg.Manifests))
	for i, m := range cfg.Manifests {
		all[i] = report.Configured{Name: m.Name, Release: m.Release}
	}
	return all
}
