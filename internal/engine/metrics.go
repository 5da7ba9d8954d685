package engine

import (
	"cmp"
	"math"
	"slices"
	"time"

	"syncd/internal/clients/origin"
	"syncd/internal/config"
	"syncd/internal/hooks"
	"syncd/internal/manifest"
	"syncd/internal/metrics"
	"syncd/internal/report"
)

// coolDown is until when the configured origin wants no requests; zero for no wait.
func (e *Engine) coolDown() time.Time {
	active := e.active.Load()
	if active == nil {
		return time.Time{}
	}
	return e.gate.Until(origin.Of(active.config.Source.URL))
}

// freeBytes is NaN when the free space is unknown: 0 would mean a full disk.
func (e *Engine) freeBytes() float64 {
	free, err := e.mirror.Free()
	if err != nil || e.checkDataDir() != nil {
		return math.NaN()
	}
	return float64(free.Bytes)
}

// samples returns the metrics.
func (e *Engine) samples() ([]metrics.Sample, error) { return metrics.Samples(e.options.Registry) }

// createSeries creates the series of cfg's manifests, with the values that disk
// and state database have for them.
func (e *Engine) createSeries(cfg *config.Config) {
	saved, err := e.store.Manifests()
	if err != nil {
		e.options.Log.Warn().Err(err).Msg("reading the state failed: metrics start without the times of earlier syncs")
	}
	current, entries := e.mirror.Current(), e.staging.All()
	for _, m := range cfg.Manifests {
		e.metrics.CreateManifest(m.Name, report.LabelValues())
		e.metrics.Pinned(m.Name, cmp.Or(current.Records[m.Name].Orders.Pin, m.Release) != manifest.Latest)
		report.ShowManifest(e.metrics, m.Name, current.Records[m.Name], saved[m.Name], entries[m.Name])
		report.ShowForecast(e.metrics, m.Name, saved[m.Name], e.mirror.RevisionCount(m.Name), cfg.Retain)
	}
	for _, h := range cfg.Hooks {
		e.metrics.CreateHook(h.Name, hooks.Results())
	}
	for _, v := range report.ReadViews(current, wantedViews(cfg)) {
		if v.State != report.StateOrphaned {
			report.ShowView(e.metrics, v.Name, v.State)
		}
	}
	for _, exported := range report.ReadExports(e.mirror, Exports(cfg), e.shared.Failed()) {
		report.ShowExport(e.metrics, exported)
	}
}

// dropSeries drops the series of manifests, views, exports and hooks that before has and
// the configuration in force has not. Work that began under before may have created them
// again.
func (e *Engine) dropSeries(before *config.Config) {
	now := e.Config()
	for _, name := range before.Names() {
		if !now.Has(name) {
			e.metrics.DropManifest(name)
		}
	}
	left := hookNames(now)
	for _, name := range hookNames(before) {
		if !slices.Contains(left, name) {
			e.metrics.DropHook(name)
		}
	}
	isNow := func(test func(config.View) bool) bool { return slices.ContainsFunc(now.Views, test) }
	for _, old := range before.Views {
		if !isNow(func(v config.View) bool { return v.Name == old.Name }) {
			e.metrics.DropView(old.Name)
		}
		if !isNow(func(v config.View) bool { return v.Name == old.Name && v.Export != "" }) {
			e.metrics.DropExport(old.Name)
		}
	}
}
