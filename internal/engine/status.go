package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"syncd/internal/clients/origin"
	"syncd/internal/config"
	"syncd/internal/engine/offer"
	"syncd/internal/engine/sources"
	"syncd/internal/engine/upload"
	"syncd/internal/golive"
	"syncd/internal/golive/probe"
	"syncd/internal/mirror"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/report/status"
	"syncd/internal/store"
)

// Progress returns the progress of the running work.
func (e *Engine) Progress() report.Progress {
	p, current := e.progress.Snapshot(), e.mirror.Current()
	p.Probing = e.notes.Pending(func(name string) string { return current.Records[name].ID() })
	return p
}

// Status returns the status of each configured or served manifest.
func (e *Engine) Status() (report.Status, error) {
	progress := e.progress.Snapshot()
	progress.StuckSince = e.silence.StuckSince()
	s, err := readStatus(e.Config(), e.mirror, e.store, e.staging.All(), ages{e.lifespans.All(), e.witness.Present()}, progress)
	showProbes(&s, e.Config(), e.notes.Trials())
	for i := range s.Manifests {
		s.Manifests[i].DestroyWaits = e.destructions.Waiting()[s.Manifests[i].Name]
	}
	if e.Followers.fleet != nil {
		offer.ShowWaiting(&s, e.Followers.fleet.Waiting())
	}
	s.Exports = status.Exports(e.mirror, Exports(e.Config()), e.directory.Folders().Failed())
	s.Scrub = status.Scrub(e.Scrub.Progress(), e.Config().Scrub.Schedule.IsSet())
	if err == nil {
		s.Hooks, err = status.Hooks(e.store, configuredHooks(e.Config()), e.Hooks.states())
	}
	if err == nil {
		s.Upload, err = e.Uploads.Status(s.Generation)
	}
	if broken := cmp.Or(e.intact(), e.usable()); broken != nil {
		damaged(&s, broken)
	}
	s.Explain(time.Now())
	return s, err
}

// damaged tells of damage in all manifests, because it concerns all of them.
func damaged(s *report.Status, broken error) {
	s.Damage = broken.Error()
	for i := range s.Manifests {
		s.Manifests[i].State, s.Manifests[i].Error = report.StateFailed, s.Damage
	}
}

// lost is an error when nothing is served although the state knows better.
func lost(m *mirror.Mirror, state status.StateReader) error {
	if m.Current().Number != 0 || state == nil {
		return nil
	}
	saved, err := state.Manifests()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(saved)) {
		if served := saved[name].Served; served != "" && served != (mirror.Record{}).ID() {
			return fmt.Errorf("%s/current is missing, although %s %s was served: run `syncd sync`, which rebuilds it from what is on disk, then `syncd verify`", m.Dir(), name, served)
		}
	}
	return nil
}

// StatusOnDisk returns the status of each of cfg's manifests when no engine is
// running; state is nil when there is no state database.
func StatusOnDisk(cfg *config.Config, m *mirror.Mirror, state status.StateReader) (report.Status, error) {
	entries, err := staging.Read(m.Root())
	if err != nil {
		return report.Status{}, err
	}
	known, err := agesOnDisk(m, state)
	if err != nil {
		return report.Status{}, err
	}
	s, err := readStatus(cfg, m, state, entries, known, report.Progress{})
	trials, readErr := probe.Read(m.Root())
	err = errors.Join(err, readErr)
	showProbes(&s, cfg, trials)
	waiting, readErr := offer.WaitingOnDisk(cfg, m, state)
	err = errors.Join(err, readErr)
	offer.ShowWaiting(&s, waiting)
	s.Exports = status.Exports(m, Exports(cfg), nil)
	if state != nil && err == nil {
		var scrub store.Scrub
		scrub, err = state.Scrub()
		s.Scrub = status.Scrub(scrub, cfg.Scrub.Schedule.IsSet())
	}
	if err == nil && state != nil {
		s.Hooks, err = status.Hooks(state, configuredHooks(cfg), nil)
	}
	if err == nil {
		s.Upload, err = upload.StatusOnDisk(cfg, state, s.Generation)
	}
	if err == nil {
		if broken := lost(m, state); broken != nil {
			damaged(&s, broken)
		}
	}
	s.Explain(time.Now())
	return s, err
}

func readStatus(cfg *config.Config, m *mirror.Mirror, state status.StateReader, entries map[string]staging.Revision, known ages, progress report.Progress) (report.Status, error) {
	configured := make([]status.Configured, len(cfg.Manifests))
	current := m.Current()
	blocked := golive.Blocked(targetsOf(cfg, probe.Probe{}), groupsOf(cfg), current, entries, time.Now())
	for i, m := range cfg.Manifests {
		configured[i] = status.Configured{Name: m.Name, Release: m.Release, Policy: policyOf(m.Activate), Grouped: len(groupsOf(cfg).Of(m.Name)) > 1, Blocked: cmp.Or(blocked[m.Name], known.blocks(m, entries[m.Name]))}
		configured[i].Age = known.of(m, current.Records[m.Name])
	}
	s, err := status.Read(m, state, origin.Of(cfg.Source.URL), configured, entries, progress)
	if cfg.Source.TrustFile != "" && state != nil && err == nil {
		var believed store.Belief
		believed, err = state.Belief()
		s.Upstream = status.Upstream(believed, time.Now())
	}
	if err == nil {
		s.Sources, err = sources.Status(cfg, state)
	}
	s.Views = status.Views(m.Current(), configuredViews(cfg, m.Current()))
	s.ReadOnly, s.Patches = m.Root().IsReadOnly(), patchesStatus(cfg, m)
	return s, err
}

func configuredViews(cfg *config.Config, current mirror.Generation) []status.ConfiguredView {
	var configured []status.ConfiguredView
	isLeft := func(name string) bool { return !slices.Contains(cfg.Names(), name) }
	for _, target := range viewsOf(cfg) {
		w := status.ConfiguredView{ViewSpec: mirror.ViewSpec{View: target.View, Access: mirror.Access(cfg.Permissions)}}
		w.Maps, w.Err = target.ReadMaps()
		w.ViewSpec = w.Keeping(current.Views[w.Name], current.Records, isLeft)
		configured = append(configured, w)
	}
	return configured
}

// History returns the newest entries first, limit at most.
func (e *Engine) History(limit int) (report.History, error) {
	return status.History(e.mirror, e.store, limit)
}

// DiskUse returns the space that the generations on disk take.
func (e *Engine) DiskUse() (report.DiskUse, error) { return status.DiskUse(e.mirror) }

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
		if gone := e.lifespans.Get(name).Withdrawn; !served && gone != nil {
			return fmt.Errorf("%s has no data: release %s expired on %s and was withdrawn", name, gone.Release, gone.Expired)
		}
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
func DeliveriesOnDisk(cfg *config.Config, state status.StateReader) (report.Deliveries, error) {
	if state == nil {
		return report.Deliveries{Deliveries: []report.Delivery{}}, nil
	}
	return status.Deliveries(state, hookNames(cfg), nil)
}

// Alive is nil while the data directory and its parts are there to work in and every running
// sync moves.
func (e *Engine) Alive() error { return errors.Join(e.usable(), e.silence.Check()) }
