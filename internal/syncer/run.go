package syncer

import (
	"context"
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
// its goroutines. A recorded job belongs to no step any more.
type run struct {
	cfg     *Config
	tree    *golive.Tree
	req     request.Sync
	started time.Time
	jobs    []*job
	wanted  map[string][]store.Wanted // by unfinished syncs before this one
	views   []golive.WantedView
	changed chan struct{} // signals that a job was settled, failed or is ready

	// Used while publishing, by one goroutine at a time: first by publishMeanwhile's.
	isNew     bool                    // a generation was published at all
	unlisted  []report.ManifestResult // recorded, and in no entry of the history
	recordErr error

	viewResults map[string]report.ViewResult // by name

	exportsMu sync.Mutex // guards exports
	exports   []report.ExportResult

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
}

// each takes the steps for every open job, all jobs in parallel.
func (r *run) each(ctx context.Context, jobs []*job, steps ...func(context.Context, *job) error) {
	r.inParallel(ctx, openJobs(jobs), func(ctx context.Context, j *job) { r.take(ctx, j, steps...) })
}

func (r *run) inParallel(ctx context.Context, jobs []*job, do func(context.Context, *job)) {
	var group sync.WaitGroup
	for _, j := range jobs {
		group.Go(func() { do(ctx, j) })
	}
	group.Wait()
}

// take takes the steps for one job. The job ends with the step that settles it or
// fails; other jobs continue.
func (r *run) take(ctx context.Context, j *job, steps ...func(context.Context, *job) error) {
	for _, step := range steps {
		if err := step(ctx, j); err != nil {
			j.fail(err)
		}
		if !j.open() {
			return
		}
	}
}

// saveWanted writes the wanted contents to the state before they are downloaded, so
// that pruning after a crash keeps the downloads.
func (r *run) saveWanted(jobs []*job) {
	wanted := map[string][]store.Wanted{}
	for _, j := range openJobs(jobs) {
		if len(j.plan.Missing) > 0 {
			wanted[j.target.Name] = j.wanted()
		}
	}
	if len(wanted) == 0 {
		return
	}
	if err := r.cfg.Store.Commit(store.Changes{Wanted: wanted}); err != nil {
		r.cfg.Log.Warn().Err(err).Msg("noting the unfinished downloads failed; a crash now would lose the downloads of this sync")
	}
}

// interrupted saves what was proven for the next sync. It returns what was published
// before, and why the sync ended.
func (r *run) interrupted(why error) (report.Sync, error) {
	wanted, proofs := map[string][]store.Wanted{}, map[string]*store.Proofs{}
	for _, j := range r.unrecorded() {
		if len(j.plan.Files) > 0 {
			wanted[j.target.Name], proofs[j.target.Name] = j.wanted(), r.session.Proofs(j.plan.Known)
		}
	}
	r.pruneIfWantsChanged(wanted)
	if err := r.cfg.Store.Commit(store.Changes{Wanted: wanted, Proofs: proofs}); err != nil {
		r.cfg.Log.Warn().Err(err).Msg("noting the unfinished downloads failed; the next sync may lose them")
	}
	if err := r.cfg.Mirror.SyncObjects(); err != nil {
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
