package engine

import (
	"cmp"
	"math"
	"slices"
	"time"

	"syncd/internal/config"
	"syncd/internal/golive"
	"syncd/internal/hooks"
	"syncd/internal/manifest"
	"syncd/internal/metrics"
	"syncd/internal/report"
	"syncd/internal/report/status"
)

// freeBytes is NaN when the free space is unknown: 0 would mean a full disk.
func (b *base) freeBytes() float64 {
	free, err := b.mirror.Free()
	if err != nil || b.checkDataDir() != nil {
		return math.NaN()
	}
	return float64(free.Bytes)
}

// believedUntil is when the statement that was believed last expires; zero for none.
func (e *Engine) believedUntil() time.Time {
	if cfg := e.Config(); cfg == nil || cfg.Source.TrustFile == "" {
		return time.Time{}
	}
	believed, err := e.store.Belief()
	if err != nil {
		return time.Time{}
	}
	return believed.Expires
}

// metricSet is the metrics of manifests, views, exports and hooks.
type metricSet struct {
	*base
	directory *golive.Directory
}

func (s metricSet) samples() ([]metrics.Sample, error) { return metrics.Samples(s.options.Registry) }

// create creates the series of cfg's manifests, with the values that disk
// and state database have for them.
func (s metricSet) create(cfg *config.Config) {
	saved, err := s.store.Manifests()
	if err != nil {
		s.options.Log.Warn().Err(err).Msg("reading the state failed: metrics start without the times of earlier syncs")
	}
	current, entries := s.mirror.Current(), s.staging.All()
	for _, m := range cfg.Manifests {
		s.metrics.CreateManifest(m.Name, status.LabelValues())
		s.metrics.Pinned(m.Name, cmp.Or(current.Records[m.Name].Orders.Pin, m.Release) != manifest.Latest)
		status.ShowManifest(s.metrics, m.Name, current.Records[m.Name], saved[m.Name], entries[m.Name],
			status.AgeOf(m.Expires, current.Records[m.Name], s.lifespans.Get(m.Name), s.witness.Present()))
		if v := s.notes.Of(m.Name, current.Records[m.Name].ID()).Verdict; v != nil && m.Probe.IsSet() {
			s.metrics.Probed(m.Name, v.Passed, v.At)
		}
		status.ShowForecast(s.metrics, m.Name, saved[m.Name], s.mirror.Records.RevisionCount(m.Name), cfg.Retain)
	}
	for _, h := range cfg.Hooks {
		s.metrics.CreateHook(h.Name, hooks.Results())
	}
	for _, v := range status.Views(current, configuredViews(cfg, current)) {
		if v.State != report.StateOrphaned {
			status.ShowView(s.metrics, v.Name, v.State)
		}
	}
	for _, exported := range status.Exports(s.mirror, Exports(cfg), s.directory.Folders().Failed()) {
		status.ShowExport(s.metrics, exported)
	}
}

// drop drops the series of manifests, views, exports and hooks that before has and
// the configuration in force has not. Work that began under before may have created them
// again.
func (s metricSet) drop(before *config.Config) {
	now := s.Config()
	for _, name := range before.Names() {
		if !now.Has(name) {
			s.metrics.DropManifest(name)
		}
	}
	left := hookNames(now)
	for _, name := range hookNames(before) {
		if !slices.Contains(left, name) {
			s.metrics.DropHook(name)
		}
	}
	isNow := func(test func(config.View) bool) bool { return slices.ContainsFunc(now.Views, test) }
	for _, old := range before.Views {
		if !isNow(func(v config.View) bool { return v.Name == old.Name }) {
			s.metrics.DropView(old.Name)
		}
		if !isNow(func(v config.View) bool { return v.Name == old.Name && v.Export != "" }) {
			s.metrics.DropExport(old.Name)
		}
	}
}
