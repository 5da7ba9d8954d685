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
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/space"
	"syncd/internal/verify"
)

// task is one content to fetch, for every job that wants it.
type task struct {
	file  *manifest.File // one of a plan
	size  int64          // expected, -1 when unknown
	jobs  []*job
	owner *job // counts the download

	begun   atomic.Bool // by a goroutine of one of the jobs
	arrived func(bytes int64)
}

// smallFiles is how many small files are fetched at once. Their cost is latency. Over
// HTTP/2 they share one connection, and servers allow 100 responses on it.
const smallFiles = 64

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
	for _, tasks := range tasksOf(jobs) {
		small, large := split(tasks)
		group.Go(func() error { return r.obtainAll(ctx, small, smallFiles) })
		group.Go(func() error { return r.obtainAll(ctx, large, r.cfg.Transfers) })
	}
	_ = group.Wait() // the context's end
	r.session.Flush()
}

// tasksOf returns the tasks of each job. Jobs that want the same content share a task.
func tasksOf(jobs []*job) [][]*task {
	byDigest := map[manifest.Digest]*task{}
	all := make([][]*task, len(jobs))
	for of, j := range jobs {
		for _, f := range j.plan.Missing {
			t := byDigest[f.Expected]
			if t == nil {
				t = &task{file: f, size: -1}
				byDigest[f.Expected] = t
			}
			if size, known := j.sizes[f.Expected]; known {
				t.size = size
			}
			t.jobs = append(t.jobs, j)
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

// obtainAll makes the contents objects that no other job has begun. It returns the
// context's error.
func (r *run) obtainAll(ctx context.Context, tasks []*task, atOnce int) error {
	return forAll(ctx, len(tasks), atOnce, func(ctx context.Context, i int) error {
		if tasks[i].begun.CompareAndSwap(false, true) {
			r.obtain(ctx, tasks[i])
		}
		return nil // each failure is its jobs' own
	})
}

// obtain makes one content an object, unless another sync does it. The download of a
// content that only one job wants is cancelled with that job.
func (r *run) obtain(ctx context.Context, t *task) {
	open := openJobs(t.jobs)
	if len(open) == 0 || ctx.Err() != nil {
		return
	}
	if len(t.jobs) == 1 {
		ctx = t.jobs[0].ctx
	}
	contents := &r.cfg.Shared.contents
	object, fetched, err := contents.claim(ctx, t.file.Expected)
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
		contents.settle(t.file.Expected, manifest.Object{})
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
		contents.settle(t.file.Expected, file.Object)
	})
}

func (r *run) countDone(t *task, object manifest.Object) {
	for _, j := range t.jobs {
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
	file, err := r.fetchLink(ctx, t, *t.file)
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
	tried := map[manifest.Reference]bool{t.file.Reference: true}
	for _, j := range openJobs(t.jobs) {
		i := slices.IndexFunc(j.plan.Missing, func(f *manifest.File) bool { return f.Expected == t.file.Expected })
		link := *j.plan.Missing[i]
		if tried[link.Reference] {
			continue
		}
		tried[link.Reference] = true
		if file, err := r.fetchLink(ctx, t, link); !isAboutLink(err) {
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
		t.fail(fmt.Errorf("store %s: %w", t.file.Path, space.RefuseIfFull(err)))
		return
	}
	for _, j := range t.jobs {
		j.adopted(t.file.Expected, object, j == t.owner)
	}
}

// fail fails the jobs of the task, unless it was cancelled because its job has failed.
func (t *task) fail(err error) {
	if errors.Is(err, errAborted) {
		return
	}
	for _, j := range t.jobs {
		j.fail(err)
	}
}

// downloadReplaced looks again at manifests with a digest mismatch. If the provider
// replaced files meanwhile, their digests have changed, and the plan starts over
// once.
func (r *run) downloadReplaced(ctx context.Context) {
	var again []*job
	for _, j := range r.jobs {
		if j.mayReopen() {
			again = append(again, j)
		}
	}
	if len(again) == 0 || ctx.Err() != nil {
		return
	}
	for _, j := range again {
		j.reopen()
	}
	r.provider.sizes.forget() // the contents may have changed
	r.each(ctx, again, r.listFiles, r.askDigests, r.requireChange, r.plan)
	r.askSizes(ctx, again)
	r.reserveSpace(ctx, again)
	r.download(ctx, again)
}

// requireChange fails with the earlier mismatch when no digest has changed.
func (r *run) requireChange(_ context.Context, j *job) error {
	if manifest.Fingerprint(j.files) == manifest.Fingerprint(j.plan.Files) {
		return j.mismatch
	}
	return nil
}
