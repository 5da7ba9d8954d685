package syncer

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/syncer/download"
)

// obtainAll fetches the missing contents of planned jobs, if there is space for them.
func (r *run) obtainAll(ctx context.Context, jobs []*job) {
	r.checkViews(jobs)
	r.askSizes(ctx, jobs) // asks Metadata of the missing files that were not asked for yet
	r.reserveSpace(ctx, jobs)
	r.saveWanted(jobs)
	r.download(ctx, jobs)
}

// download fetches the missing contents of the jobs. A failure ends the jobs that want the
// content.
func (r *run) download(ctx context.Context, jobs []*job) {
	jobs = openJobs(jobs)
	orders := make([]*download.Order, len(jobs))
	for i, j := range jobs {
		r.progress.SetPhase(j.target.Name, report.PhaseDownloading)
		end := j.beginFetching(ctx)
		defer end()
		orders[i] = j.order()
	}
	batch := r.downloads.Batch(r.session, orders)
	var group errgroup.Group
	barriers := r.barriers(jobs)
	for i, j := range jobs {
		group.Go(func() error {
			err := batch.Obtain(ctx, orders[i])
			if err == nil {
				r.downloadReplaced(ctx, j)
			}
			barriers[j].Done()
			if err != nil || len(j.target.Gate.Command) == 0 {
				return err
			}
			barriers[j].Wait()
			r.session.Flush() // makes the last small files objects
			r.judge(ctx, j)
			return nil
		})
	}
	_ = group.Wait() // the context's end
	r.session.Flush()
	r.inParallel(ctx, jobs, r.judge) // those whose last files were in the flush of another
}

// downloadReplaced looks again at a manifest with a digest mismatch, without waiting for
// others. If the provider replaced files meanwhile, their digests have changed, and the
// plan starts over once.
func (r *run) downloadReplaced(ctx context.Context, j *job) {
	if !j.mayReopen() || ctx.Err() != nil || r.source.AllOrNothing() {
		return
	}
	r.session.Flush() // the new plan can use what has arrived
	j.reopen()
	r.take(ctx, j, r.listFiles, r.findDigests, r.requireChange, r.plan, r.describe)
	r.obtainAll(ctx, []*job{j})
}

// requireChange fails with the earlier mismatch when no digest has changed.
func (r *run) requireChange(_ context.Context, j *job) error {
	if manifest.Fingerprint(j.files) == manifest.Fingerprint(j.plan.Files) {
		return j.mismatch
	}
	return nil
}

// wanter is a job with one of its plans. Downloads for several jobs go on for the others
// when one of them starts over with another plan.
type wanter struct {
	*job
	again bool // of the plan after a mismatch
}

// order is what the job's plan wants to download.
func (j *job) order() *download.Order {
	return &download.Order{
		Wanter: wanter{j, j.mismatch != nil}, Manifest: j.target.Name, Context: j.ctx,
		Missing: j.plan.Missing, Sizes: j.sizes,
	}
}

// Wants is true while the job is open and has this plan.
func (w wanter) Wants() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.result == "" && w.isPresentLocked()
}

func (w wanter) isPresentLocked() bool { return w.again == (w.mismatch != nil) }

// Got notes that a missing content is an object now.
func (w wanter) Got(content manifest.Digest, object manifest.Object, counts bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isPresentLocked() {
		return false
	}
	if w.recorded {
		return true
	}
	w.plan.Known[content] = object
	if counts {
		w.fetched[content] = true
	}
	if w.missing--; w.missing == 0 {
		w.signal()
	}
	return true
}

// Failed ends the job, if it still has this plan.
func (w wanter) Failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isPresentLocked() {
		w.failLocked(err)
	}
}

// Arrived counts bytes of a download.
func (w wanter) Arrived(bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.recorded {
		w.downloaded += bytes
	}
}

// barriers let the gates of a group wait until all its manifests of a wave are complete,
// so that a view shows the new files of all.
func (r *run) barriers(jobs []*job) map[*job]*sync.WaitGroup {
	byGroup := map[string]*sync.WaitGroup{}
	of := make(map[*job]*sync.WaitGroup, len(jobs))
	for _, j := range jobs {
		first := r.cfg.Groups.Of(j.target.Name)[0]
		if byGroup[first] == nil {
			byGroup[first] = &sync.WaitGroup{}
		}
		byGroup[first].Add(1)
		of[j] = byGroup[first]
	}
	return of
}
