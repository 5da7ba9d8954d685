package syncer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"syncd/internal/clients/transport"
	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/verify"
)

// task is one content to fetch, for every job that wants it.
type task struct {
	file *manifest.File // one of a plan
	size int64          // foreseen, -1 when unknown
	jobs []*job

	payer  *job          // whose download it is, in counts
	proven verify.Proven // once it was fetched
}

// download fetches what the jobs miss, the largest first so that none trails,
// and notes failures with the jobs that they concern.
func (r *run) download(ctx context.Context, jobs []*job) {
	jobs = openJobs(jobs)
	for _, j := range jobs {
		r.progress.SetPhase(j.target.Name, report.PhaseDownloading)
		j.ctx, j.abort = context.WithCancelCause(ctx)
		defer j.abort(nil)
	}
	var small batch
	tasks := tasksOf(jobs)
	_ = forAll(ctx, len(tasks), r.Transfers, func(ctx context.Context, i int) error {
		if r.fetch(ctx, tasks[i]) {
			r.adopt(small.add(tasks[i]))
		}
		return nil // each failure is its jobs' own
	})
	r.adopt(small.take())
}

func tasksOf(jobs []*job) []*task {
	byDigest := map[manifest.Digest]*task{}
	var tasks []*task
	for _, j := range jobs {
		for i := range j.plan.Missing {
			f := &j.plan.Missing[i]
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

// fetch brings one content; true when it is there. A content that only one job
// wants ends with that job.
func (r *run) fetch(ctx context.Context, t *task) bool {
	wanting := openJobs(t.jobs)
	if len(wanting) == 0 || ctx.Err() != nil {
		return false
	}
	if len(t.jobs) == 1 {
		ctx = t.jobs[0].ctx
	}
	t.payer = wanting[0]
	err := r.fetchBy(ctx, t, *t.file)
	if isOfLink(err) {
		err = r.fetchByOthers(ctx, t, err)
	}
	if err != nil {
		if !errors.Is(err, errAborted) { // else the job has failed for another reason
			t.fail(err)
		}
		return false
	}
	for _, j := range t.jobs {
		r.progress.AddDone(j.target.Name, t.proven.Object.Size)
	}
	r.Metrics.FileDownloaded(t.payer.target.Name)
	return true
}

// fetchBy brings a content by one manifest's link to it.
func (r *run) fetchBy(ctx context.Context, t *task, link manifest.File) (err error) {
	t.proven, err = r.bring(ctx, t.payer.target.Name, link, t.size, t.payer.arrived)
	return err
}

// fetchByOthers tries the links that other manifests have to a content. When the
// provider's last word on all of them is no, the error stays the first one's.
func (r *run) fetchByOthers(ctx context.Context, t *task, first error) error {
	tried := map[manifest.Reference]bool{t.file.Reference: true}
	for _, j := range openJobs(t.jobs) {
		i := slices.IndexFunc(j.plan.Missing, func(f manifest.File) bool { return f.Expected == t.file.Expected })
		link := j.plan.Missing[i]
		if tried[link.Reference] {
			continue
		}
		tried[link.Reference] = true
		if err := r.fetchBy(ctx, t, link); !isOfLink(err) {
			return err
		}
	}
	return first
}

// isOfLink is true for the provider's last word on one link: another one to the
// same content may be better.
func isOfLink(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && answer.Kind != transport.Transient || isMismatch(err)
}

// adopt turns contents into objects.
func (r *run) adopt(tasks []*task) {
	files := make([]verify.Proven, len(tasks))
	for i, t := range tasks {
		files[i] = t.proven
	}
	errs := r.Mirror.AdoptEach(files)
	for i, t := range tasks {
		if err := errs[i]; err != nil {
			t.fail(fmt.Errorf("keep %s: %w", t.file.Path, noSpace(err)))
			continue
		}
		for _, j := range t.jobs {
			j.proven(t.file.Expected, t.proven.Object, j == t.payer)
		}
		t.proven = verify.Proven{} // the paths of 100,000 files are worth giving back
	}
}

func (t *task) fail(err error) {
	for _, j := range t.jobs {
		j.fail(err)
	}
}

// batch gathers small files until so many are there that it pays to make them
// durable together. Safe for concurrent use.
type batch struct {
	mu    sync.Mutex
	tasks []*task
	bytes int64
}

// A batch of so many files or bytes is full. What a kill leaves of one lies
// among the unfinished downloads, where the next sync finds it whole.
const batchFiles, batchBytes = 1000, 64 << 20

// add returns what is to be adopted now: the file itself when it is durable, and
// the whole batch when it is full.
func (b *batch) add(t *task) []*task {
	if t.proven.Durable {
		return []*task{t}
	}
	b.mu.Lock()
	b.tasks, b.bytes = append(b.tasks, t), b.bytes+t.proven.Object.Size
	full := len(b.tasks) >= batchFiles || b.bytes >= batchBytes
	b.mu.Unlock()
	if full {
		return b.take()
	}
	return nil
}

// take empties the batch.
func (b *batch) take() []*task {
	b.mu.Lock()
	defer b.mu.Unlock()
	tasks := b.tasks
	b.tasks, b.bytes = nil, 0
	return tasks
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
	r.size(ctx, again)
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
	return r.plan(ctx, j, files)
}
