package syncer

import (
	"slices"
	"sync"

	"syncd/internal/golive"
	"syncd/internal/report"
)

// results are what became of views and exported folders in one sync. Safe for concurrent use.
type results struct {
	mu      sync.Mutex // guards what follows
	views   []report.ViewResult
	exports []report.ExportResult
}

// noteViews keeps outcomes for the report.
func (r *results) noteViews(outcomes []report.ViewResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.views = report.AddViews(r.views, outcomes)
}

// viewsOf returns the outcomes in the order of the configuration.
func (r *results) viewsOf(wanted []golive.ConfiguredView) (all []report.ViewResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range wanted {
		if i := slices.IndexFunc(r.views, func(result report.ViewResult) bool { return result.Name == v.Name }); i >= 0 {
			all = append(all, r.views[i])
		}
	}
	return all
}

// noteExports keeps outcomes for the report.
func (r *results) noteExports(outcomes []report.ExportResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exports = report.AddExports(r.exports, outcomes)
}

func (r *results) exportsSoFar() []report.ExportResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.exports)
}
