package syncer

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/dustin/go-humanize"
	"golang.org/x/sync/errgroup"

	"syncd/internal/manifest"
	"syncd/internal/refusal"
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
		r.progress.phase(j.target.Name, "downloading")
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
	watch := &watcher{run: r, job: wanting[0], size: t.size}
	watch.bar = r.progress.start(wanting[0].target.Name, t.file.Path, t.size)
	fetched, err := r.Fetcher.Fetch(ctx, t.file, watch)
	r.progress.finish(watch.bar)
	if err == nil {
		err = r.Mirror.Adopt(fetched.Path, fetched.Object)
	}
	if errors.Is(err, errAborted) {
		return // the job has failed for another reason
	}
	for _, j := range t.jobs {
		if err != nil {
			j.fail(noSpace(err))
			continue
		}
		j.proven(t.file.Expected, fetched.Object, j == wanting[0])
		r.progress.done(j.target.Name, fetched.Object.Size)
	}
	if err == nil {
		r.Metrics.FileDownloaded(wanting[0].target.Name)
	}
}

// watcher follows one download for its job.
type watcher struct {
	run    *run
	job    *job
	bar    *bar
	size   int64 // foreseen
	done   int64
	looked int64 // done when the free space was last looked at
}

// Announced checks a size that nobody foresaw against the free space.
func (w *watcher) Announced(size int64) error {
	w.run.progress.resize(w.bar, size)
	if size <= w.size {
		return nil
	}
	w.size = size
	free, err := w.run.Mirror.Free()
	if err != nil {
		return err
	}
	free.Inodes = -1 // the file exists
	return fits(spaceFor(size-w.done), free)
}

func (w *watcher) Moved(bytes, done int64) error {
	w.done = done
	w.run.progress.moved(w.bar, done)
	if bytes > 0 {
		w.run.Metrics.Downloaded(w.job.target.Name, bytes)
		w.job.arrived(bytes)
	}
	return w.checkUnforeseen()
}

// Of a file whose end nobody announced, the space is looked at after so many
// bytes, and so much of it stays free for others.
const unforeseenStep, unforeseenSpare = 64 << 20, 256 << 20

func (w *watcher) checkUnforeseen() error {
	if w.done <= max(w.size, w.looked+unforeseenStep) {
		return nil
	}
	w.looked = w.done
	free, err := w.run.Mirror.Free()
	if err != nil {
		return err
	}
	if free.Bytes < unforeseenSpare {
		return refusal.New(refusal.NoSpace, "%s arrived of a file without an announced size, and %s are left free: free space in data_dir",
			humanize.IBytes(uint64(w.done)), humanize.IBytes(uint64(free.Bytes)))
	}
	return nil
}

func (w *watcher) Mismatch(error) { w.run.Metrics.VerifyFailed(w.job.target.Name) }

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
	r.reserveSpace(again)
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
