package syncer

import (
	"context"
	"slices"

	"syncd/internal/mirror/export"
	"syncd/internal/report"
)

// exportMeanwhile makes the folders follow what is served when the sync begins: a crash
// may have come between a swap and its export. wait ends when that is done.
func (r *run) exportMeanwhile(ctx context.Context) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.noteExports(r.tree.Export(ctx, r.exportOptions(), r.req.TakeOver))
	}()
	return func() { <-done }
}

func (r *run) exportOptions() export.Options { return export.Options{Thorough: r.req.Demand} }

// noteExports keeps outcomes for the report. One that changed nothing hides no other of the
// same sync.
func (r *run) noteExports(results []report.ExportResult) {
	r.exportsMu.Lock()
	defer r.exportsMu.Unlock()
	for _, result := range results {
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

func (r *run) exportResults() []report.ExportResult {
	r.exportsMu.Lock()
	defer r.exportsMu.Unlock()
	return r.exports
}
