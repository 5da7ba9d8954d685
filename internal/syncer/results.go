package syncer

import (
	"slices"
	"sync"

	"syncd/internal/golive"
	"syncd/internal/report"
)

// results are what became of views and exported folders in one sync. Safe for concurrent use.
type results struct {
	mu      sync.Mutex                   // guards what follows
	views   map[string]report.ViewResult // by name
	exports []report.ExportResult
}

// noteViews keeps outcomes for the report. One that changed nothing hides no other of the
// same sync.
func (r *results) noteViews(outcomes []report.ViewResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.views == nil {
		r.views = map[string]report.ViewResult{}
	}
	for _, v := range outcomes {
		if r.views[v.Name].Result != report.Updated || v.Result != report.Unchanged {
			r.views[v.Name] = v
		}
	}
}

// viewsOf returns the outcomes in the order of the configuration.
func (r *results) viewsOf(wanted []golive.ConfiguredView) (all []report.ViewResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range wanted {
		if result, noted := r.views[v.Name]; noted {
			all = append(all, result)
		}
	}
	return all
}

// noteExports keeps outcomes for the report. One that changed nothing hides no other of the
// same sync.
func (r *results) noteExports(outcomes []report.ExportResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, result := range outcomes {
		i := slices.IndexFunc(r.exports, func(old report.ExportResult) bool { return old.Path == result.Path })
		switch {
		case i < 0:
			r.exports = append(r.exports, result)
		case result.Result != report.Unchanged || r.exports[i].Error != "":
			r.exports[i] = result
		default:
			r.exports[i].Generation = result.Generation
		}
	}
}

func (r *results) exportsSoFar() []report.ExportResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.exports)
}
