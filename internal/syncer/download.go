package syncer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"syncd/internal/clients/transport"
	"syncd/internal/disk/space"
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/verify"
)

// task is one content to fetch, for every job that wants it.
type task struct {
	links []link
	size  int64 // expected, -1 when unknown
	again bool  // of plans that started over
	owner *job  // counts the download

	begun   atomic.Bool   // by a goroutine of one of the jobs
	ended   chan struct{} // closed at the end; nil with one link only
	arrived func(bytes int64)
}

// smallFiles is how many small files are fetched at once. Their cost is latency. Over
// HTTP/2 they share one connection, and servers allow 100 responses on it.
const smallFiles = 64

// link is a manifest's link to a content.
type link struct {
	job  *job
	file *manifest.File // of the job's plan
}

func (t *task) content() manifest.Digest { return t.links[0].file.Expected }

// open returns the open jobs that still want the content by way of this task.
func (t *task) open() []*job {
	var open []*job
	for _, l := range t.links {
		if l.job.open() && l.job.follows(t) {
			open = append(open, l.job)
		}
	}
	return open
}

// obtainAll fetches the missing contents of planned jobs, if there is space for them.
func (r *run) obtainAll(ctx context.Context, jobs []*job) {
	r.checkViews(jobs)
	r.askSizes(ctx, jobs) // asks Metadata of the missing files that were not asked for yet
	r.reserveSpace(ctx, jobs)
	r.saveWanted(jobs)
	r.download(ctx, jobs)
}

// download fetches the missing contents of the jobs, those of each job the largest
// first so that none trails, and small ones beside large ones. A failure ends the jobs
// that want the content.
func (r *run) download(ctx context.Context, jobs []*job) {
	jobs = openJobs(jobs)
	for _, j := range jobs {
		r.progress.SetPhase(j.target.Name, report.PhaseDownloading)
		defer j.beginFetching(ctx)()
	}
	var group errgroup.Group
	barriers := r.barriers(jobs)
	for i, tasks := range tasksOf(jobs) {
		group.Go(func() error {
			err := r.downloadTasks(ctx, jobs[i], tasks)
			if err == nil {
				r.downloadReplaced(ctx, jobs[i])
			}
			barriers[jobs[i]].Done()
			if err != nil || len(jobs[i].target.Gate.Command) == 0 {
				return err
			}
			barriers[jobs[i]].Wait()
			r.session.Flush() // makes the last small files objects
			r.judge(ctx, jobs[i])
			return nil
		})
	}
	_ = group.Wait() // the context's end
	r.session.Flush()
	r.inParallel(ctx, jobs, r.judge) // those whose last files were in the flush of another
}

// downloadTasks goes through the tasks of a job, and waits for those that other jobs have
// begun. When the job fails, it leaves the rest to the other jobs that want them.
func (r *run) downloadTasks(ctx context.Context, j *job, tasks []*task) error {
	small, large := split(tasks)
	var group errgroup.Group
	group.Go(func() error { return r.obtainEach(ctx, j, small, smallFiles) })
	group.Go(func() error { return r.obtainEach(ctx, j, large, r.cfg.Transfers) })
	err := group.Wait()
	for _, t := range tasks {
		if err == nil && t.ended != nil && j.open() { // so it has begun
			<-t.ended
		}
	}
	return err
}

// tasksOf returns the tasks of each job. Jobs that want the same content share a task.
func tasksOf(jobs []*job) [][]*task {
	byDigest := map[manifest.Digest]*task{}
	all := make([][]*task, len(jobs))
	for of, j := range jobs {
		for _, f := range j.plan.Missing {
			t := byDigest[f.Expected]
			if t == nil {
				t = &task{size: -1, again: j.mismatch != nil}
				byDigest[f.Expected] = t
			}
			if size, known := j.sizes[f.Expected]; known {
				t.size = size
			}
			if t.links = append(t.links, link{j, f}); len(t.links) == 2 {
				t.ended = make(chan struct{})
			}
			all[of] = append(all[of], t)
		}
	}
	for _, tasks := range all {
		slices.SortStableFunc(tasks, func(a, b *task) int { return cmp.Compare(b.size, a.size) })
	}
	return all
}

// split returns the tasks with small files and those with others, in their order.
func split(tasks []*task) (small, large []*task) {
	for _, t := range tasks {
		if t.isSmall() {
			small = append(small, t)
		} else {
			large = append(large, t)
		}
	}
	return small, large
}

func (t *task) isSmall() bool { return fetcher.IsSmall(t.size) }

// obtainEach makes the contents objects that no other job has begun, as long as the job
// is open. It returns the context's error.
func (r *run) obtainEach(ctx context.Context, j *job, tasks []*task, atOnce int) error {
	return forAll(ctx, len(tasks), atOnce, func(ctx context.Context, i int) error {
		if j.open() && tasks[i].begun.CompareAndSwap(false, true) {
			r.obtain(ctx, tasks[i])
		}
		return nil // each failure is its jobs' own
	})
}

// obtain makes one content an object, unless another sync does it. The download of a
// content that only one job wants is cancelled with that job.
func (r *run) obtain(ctx context.Context, t *task) {
	if t.ended != nil {
		defer close(t.ended)
	}
	open := t.open()
	if len(open) == 0 || ctx.Err() != nil {
		return
	}
	if len(t.links) == 1 {
		ctx = open[0].ctx
	}
	contents := &r.cfg.Shared.contents
	object, fetched, err := contents.claim(ctx, t.content())
	switch {
	case err != nil:
		t.fail(err)
	case fetched:
		r.countDone(t, object)
		t.settle(object, nil)
	default:
		t.owner = open[0]
		r.fetch(ctx, t)
	}
}

// fetch downloads a claimed content and makes it an object.
func (r *run) fetch(ctx context.Context, t *task) {
	contents := &r.cfg.Shared.contents
	file, err := r.fetchAnyLink(ctx, t)
	if err != nil {
		contents.settle(t.content(), manifest.Object{})
		t.fail(err)
		return
	}
	r.countDone(t, file.Object)
	r.cfg.Metrics.FileDownloaded(t.owner.target.Name)
	r.session.Add(file, func(err error) {
		t.settle(file.Object, err)
		if err != nil {
			file.Object = manifest.Object{}
		}
		contents.settle(t.content(), file.Object)
	})
}

func (r *run) countDone(t *task, object manifest.Object) {
	for _, j := range t.open() {
		r.progress.AddDone(j.target.Name, object.Size)
	}
}

// fetchAnyLink waits for a slot and downloads a content.
func (r *run) fetchAnyLink(ctx context.Context, t *task) (verify.Proven, error) {
	slot, err := r.takeSlot(ctx, t)
	if err != nil {
		return verify.Proven{}, err
	}
	defer slot.release()
	t.arrived = func(bytes int64) {
		slot.moved(bytes)
		t.owner.arrived(bytes)
	}
	file, err := r.fetchLink(ctx, t, *t.links[0].file)
	if isAboutLink(err) {
		return r.fetchOtherLinks(ctx, t, err)
	}
	return file, err
}

func (r *run) takeSlot(ctx context.Context, t *task) (*slot, error) {
	if t.isSmall() {
		return r.cfg.Shared.small.take(ctx, smallFiles)
	}
	return r.cfg.Shared.large.take(ctx, r.cfg.Transfers)
}

// fetchLink downloads a content by one manifest's link to it.
func (r *run) fetchLink(ctx context.Context, t *task, link manifest.File) (verify.Proven, error) {
	return r.downloads.fetch(ctx, t.owner.target.Name, link, t.size, t.arrived)
}

// fetchOtherLinks tries the links that other manifests have to a content. When the
// provider refuses all of them for good, the error is the first link's.
func (r *run) fetchOtherLinks(ctx context.Context, t *task, first error) (verify.Proven, error) {
	tried := map[manifest.Reference]bool{t.links[0].file.Reference: true}
	for _, l := range t.links {
		if tried[l.file.Reference] || !l.job.open() {
			continue
		}
		tried[l.file.Reference] = true
		if file, err := r.fetchLink(ctx, t, *l.file); !isAboutLink(err) {
			return file, err
		}
	}
	return verify.Proven{}, first
}

// isAboutLink is true for the provider's final answer to one link: another link to
// the same content may work.
func isAboutLink(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && answer.Kind != transport.Transient || isMismatch(err)
}

// settle tells the jobs that the content is an object now, or why it is not.
func (t *task) settle(object manifest.Object, err error) {
	if err != nil {
		t.fail(fmt.Errorf("store %s: %w", t.links[0].file.Path, space.RefuseIfFull(err)))
		return
	}
	if open := t.open(); t.owner != nil && !t.owner.follows(t) && len(open) > 0 {
		t.owner = open[0]
	}
	for _, l := range t.links {
		l.job.adopted(t, object)
	}
}

// fail fails the jobs of the task, unless it was cancelled because its job has failed.
func (t *task) fail(err error) {
	if errors.Is(err, errAborted) {
		return
	}
	for _, l := range t.links {
		l.job.failTask(t, err)
	}
}

// downloadReplaced looks again at a manifest with a digest mismatch, without waiting for
// others. If the provider replaced files meanwhile, their digests have changed, and the
// plan starts over once.
func (r *run) downloadReplaced(ctx context.Context, j *job) {
	if !j.mayReopen() || ctx.Err() != nil || r.lock != nil {
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
