package syncer

import (
	"context"
	"iter"
	"sync"
	"time"

	"syncd/internal/golive"
	"syncd/internal/host/clock"
	"syncd/internal/mirror/inventory"
	"syncd/internal/report"
	"syncd/internal/report/progress"
	"syncd/internal/report/request"
	"syncd/internal/store"
	"syncd/internal/syncer/download"
	"syncd/internal/syncer/source"
)

// run is one sync. One goroutine owns its fields; each step hands one job to each of
// its goroutines. A recorded job belongs to no step any more. The work of each step on a job stands
// in asking, wave, candidate and saver.
type run struct {
	cfg           *Config
	tree          *golive.Tree
	req           request.Sync
	started       time.Time
	jobs          []*job
	plannedBefore map[string][]store.Planned // by unfinished syncs before this one
	views         []golive.ConfiguredView
	unusable      error         // why the tree cannot be changed
	changed       chan struct{} // signals that a job was settled, failed or is ready

	// Used while publishing, by one goroutine at a time: first by publishMeanwhile's.
	isNew       bool                    // a generation was published at all
	hasReplaced bool                    // damaged objects were downloaded again
	unlisted    []report.ManifestResult // recorded, and in no entry of the history
	recordErr   error

	results golive.Results
	space   *report.Space // of a dry run

	progress    *progress.Tracker
	deadlines   *clock.Deadlines
	endProgress func()
	source      *source.Source
	session     *inventory.Session
	downloads   *download.Downloader
}

// end gives back what the run has of the Shared.
func (r *run) end() {
	r.cfg.Shared.end(r)
	r.endProgress()
	for _, j := range r.unrecorded() {
		j.endSpan()
	}
}

func (r *run) inParallel(ctx context.Context, jobs []*job, do func(context.Context, *job)) {
	var group sync.WaitGroup
	for _, j := range jobs {
		group.Go(func() { do(j.span.In(ctx), j) })
	}
	group.Wait()
}

// interrupted saves what was proven for the next sync. It returns what was published
// before, and why the sync ended.
func (r *run) interrupted(why error) (report.Sync, error) {
	planned, proofs := map[string]iter.Seq[store.Planned]{}, map[string]*store.Proofs{}
	for _, j := range r.unrecorded() {
		if len(j.plan().files) > 0 {
			planned[j.target.Name], proofs[j.target.Name] = j.plannedContents(), r.session.Proofs(j.objects())
		}
	}
	r.pruneIfWantsChanged(planned)
	if err := r.cfg.Store.Commit(store.Changes{Planned: planned, Proofs: proofs}); err != nil {
		r.cfg.Log.Warn().Err(err).Msg("noting the unfinished downloads failed; the next sync may lose them")
	}
	if err := r.cfg.Mirror.Objects.Sync(); err != nil {
		r.cfg.Log.Warn().Err(err).Msg("fsync of object directories failed")
	}
	return r.report(), why
}

// freeMemory drops all but the plans of unfinished jobs, before pruning reads the
// records on disk.
func (r *run) freeMemory() {
	r.session.Release()
	for _, j := range r.jobs {
		j.freeMemory()
	}
}
