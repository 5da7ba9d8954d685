package golive

import (
	"slices"
	"sync"

	"syncd/internal/report"
)

// Results are what became of views and exported folders in one sync. Safe for concurrent use.
type Results struct {
	mu      sync.Mutex // guards what follows
	views   []report.ViewResult
	exports []report.ExportResult
}

// NoteViews keeps outcomes for the report.
func (r *Results) NoteViews(outcomes []report.ViewResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.views = report.AddViews(r.views, outcomes)
}

// ViewsOf returns the outcomes in the order of the configuration.
func (r *Results) ViewsOf(wanted []ConfiguredView) (all []report.ViewResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range wanted {
		if i := slices.IndexFunc(r.views, func(result report.ViewResult) bool { return result.Name == v.Name }); i >= 0 {
			all = append(all, r.views[i])
		}
	}
	return all
}

// NoteExports keeps outcomes for the report.
func (r *Results) NoteExports(outcomes []report.ExportResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exports = report.AddExports(r.exports, outcomes)
}

// ExportsSoFar returns the outcomes so far.
func (r *Results) ExportsSoFar() []report.ExportResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.exports)
}
