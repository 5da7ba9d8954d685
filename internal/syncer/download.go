package syncer

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"syncd/internal/manifest"
)

// task is one content to fetch, for every job that wants it.
type task struct {
	file manifest.File
	size int64 // foreseen, -1 when unknown
	jobs []*job
}

// download fetches what the jobs miss, the largest first so that none trails,
// and notes failures with the jobs that they concern.
func (r *run) download(ctx context.Context, jobs []*job) {
	jobs = openJobs(jobs)
	for _, j := range jobs {
		r.progress.phase(j.target.Name, downloading)
		j.ctx, j.abort = context.WithCancelCause(ctx)
		defer j.abort(nil)
	}
	var group errgroup.Group
	group.SetLimit(r.Transfers)
	for _, t := range tasksOf(jobs) {
		group.Go(func() error {
			r.fetch(ctx, t)
			return nil
		})
	}
	_ = group.Wait() // each failure is its jobs' own
}

func tasksOf(jobs []*job) []*task {
	byDigest := map[manifest.Digest]*task{}
	var tasks []*task
	for _, j := range jobs {
		for _, f := range j.plan.Missing {
			t := byDigest[f.Expected]
			if t == nil {
				t = &task{file: f, size: -1}
				byDigest[f.Expected] = t
				tasks = append(tasks, t)
			}
			if size, told := j.sizes[f.Expected]; told {
				t.size = size
			}
			t.jobs = append(t.jobs, j)
		}
	}
	slices.SortStableFunc(tasks, func(a, b *task) int { return cmp.Compare(b.size, a.size) })
	return tasks
}

// fetch turns one content into an object. A content that only one job wants ends
// with that job.
func (r *run) fetch(ctx context.Context, t *task) {
	wanting := openJobs(t.jobs)
	if len(wanting) == 0 || ctx.Err() != nil {
		return
	}
	if len(t.jobs) == 1 {
		ctx = t.jobs[0].ctx
	}
	object, err := r.bring(ctx, wanting[0].target.Name, t.file, t.size, wanting[0].arrived)
	if errors.Is(err, errAborted) {
		return // the job has failed for another reason
	}
	for _, j := range t.jobs {
		if err != nil {
			j.fail(err)
			continue
		}
		j.proven(t.file.Expected, object, j == wanting[0])
		r.progress.done(j.target.Name, object.Size)
	}
	if err == nil {
		r.Metrics.FileDownloaded(wanting[0].target.Name)
	}
}

// downloadReplaced looks again at manifests of which a file did not have the
// promised digest: if the provider replaced files meanwhile, its digests have
// changed, and the plan starts over once.
func (r *run) downloadReplaced(ctx context.Context) {
	var again []*job
	for _, j := range r.jobs {
		if isMismatch(j.err) {
			again = append(again, j)
		}
	}
	if len(again) == 0 || ctx.Err() != nil {
		return
	}
	for _, j := range again {
		j.suspend()
	}
	r.each(ctx, again, r.planAgain)
	r.each(ctx, again, r.size)
	r.reserveSpace(ctx, again)
	r.download(ctx, again)
}

// planAgain fails with the mismatch that was there when nothing has changed.
func (r *run) planAgain(ctx context.Context, j *job) error {
	files, _, err := r.list(ctx, j)
	if err != nil {
		return err
	}
	if manifest.Fingerprint(files) == manifest.Fingerprint(j.plan.Files) {
		return j.mismatch
	}
	r.plan(ctx, j, files)
	return nil
}
