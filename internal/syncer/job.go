package syncer

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"syncd/internal/disk/space"
	"syncd/internal/golive"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/metrics/tracing"
	"syncd/internal/mirror"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/store"
	"syncd/internal/syncer/download"
	"syncd/internal/syncer/source"
)

// job is one manifest in one sync. What its steps find are values that follow each other:
// listed, planned, fetch, end.
type job struct {
	target  golive.Target
	entry   *source.Entry
	span    *tracing.Span    // until the outcome is recorded
	staged  staging.Revision // when the sync began
	changed chan struct{}    // the run's
	isAside bool             // another source is asked next, so that no failure is recorded
	kept    int              // files in memory; guarded by the mu of Shared

	// Owned by the goroutine of the present step, at last by the one that publishes.
	active      mirror.Record // the served one, if served
	served      bool
	state       store.Manifest        // as saved; written back at the end
	release     manifest.Release      // chosen; "" until then
	replaced    bool                  // it has other bytes than at the last poll
	checked     *listed               // compared with what is served; nil if only the release was asked for
	withdrawn   bool                  // the served revision is the newest again
	newlyStaged bool                  // by this sync
	republished bool                  // the provider changed the bytes of the served release
	outcome     report.ManifestResult // once recorded

	mu   sync.Mutex // guards life, for everybody
	life life
}

// life is what several goroutines see of a job: those of the steps and of downloads,
// pruning, other syncs, and the one that publishes.
type life struct {
	release    manifest.Release // of the plan
	planning   []manifest.File  // their contents stay on disk until there is a plan
	planned    *planned         // nil before the plan
	fetch      *fetch           // of planned
	downloaded int64            // bytes that arrived, for all plans
	need       space.Amount     // reserved
	gated      bool             // the gate and the comparison of rows passed the revision
	mismatch   error            // why the plan started over
	end        *end             // nil while open
	abandoned  bool             // what it fetched was destroyed

	adopted  map[manifest.Digest]bool // contents that came from a folder before this sync, or with it
	recorded bool                     // nothing of the job changes any more
}

// listed are the files of a release after filters.
type listed struct {
	files []manifest.File
	count int                 // of the provider's list, before filters
	links string              // fingerprint of the provider's list
	told  *source.Description // for other hosts

	delisted bool // only this host still has the release
	mixed    bool // sizes cannot be assumed, because a file was larger
}

// compared is the list without its files, whose memory a job keeps only in its plan.
func (l *listed) compared() *listed { return &listed{count: l.count, links: l.links} }

// planned is a list split into contents that are objects and contents to download. It does
// not change.
type planned struct {
	listed
	contents *manifest.Contents // of the files
	missing  []*manifest.File
	sizes    *manifest.Table[int64] // of missing contents, as far as Metadata gave them
	assumed  int64                  // the size to assume of the others; 0 to assume nothing
}

// end is how a job ended. A step returns it as an error to end the job without a failure.
type end struct {
	result   report.Result
	err      error
	repeated bool // it is the end of an earlier sync, whose backoff is not over
	at       time.Time
}

func (e *end) Error() string { return string(e.result) }

// unchanged ends a job that leaves its manifest as it is.
func unchanged() error { return &end{result: report.Unchanged} }

// repeated ends a job with the outcome of an earlier sync: its backoff is not over, or the
// gate is not asked again.
func repeated(result report.Result, err error) error {
	return &end{result: result, err: err, repeated: true}
}

// errAborted ends the downloads of a manifest that failed elsewhere.
var errAborted = errors.New("another file of the manifest failed")

// open is true while the job has not ended.
func (j *job) open() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.life.end == nil
}

// ended is how the job ended, the zero value while it is open.
func (j *job) ended() end {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.life.end == nil {
		return end{}
	}
	return *j.life.end
}

// hasFailed is true after a failure or a refusal.
func (j *job) hasFailed() bool {
	result := j.ended().result
	return result == report.Failed || result == report.Refused
}

// isUpdated is true when the job's revision went live.
func (j *job) isUpdated() bool { return j.ended().result == report.Updated }

// signal wakes the goroutine that publishes.
func (j *job) signal() {
	select {
	case j.changed <- struct{}{}:
	default:
	}
}

// settle ends the job without a failure.
func (j *job) settle(result report.Result) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.endLocked(&end{result: result})
}

func (j *job) endLocked(e *end) {
	e.at = time.Now()
	j.life.end = e
	j.entry.Drop()
	j.signal()
}

// finish ends the job as a step says that returned err: settled, or failed. The first
// failure counts, and stops its downloads.
func (j *job) finish(err error) {
	if err == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if e, ok := errors.AsType[*end](err); ok {
		j.endLocked(e)
		return
	}
	j.failLocked(err)
}

func (j *job) failLocked(err error) {
	l := &j.life
	if l.recorded || l.abandoned || l.end != nil && (l.end.result == report.Failed || l.end.result == report.Refused) {
		return
	}
	if l.fetch != nil && l.fetch.abort != nil {
		l.fetch.abort(errAborted)
	}
	result := report.Failed
	if refusal.ReasonOf(err) != "" {
		result = report.Refused
	}
	j.endLocked(&end{result: result, err: err})
}

// mayReopen is true for a job with a digest mismatch that was not looked at again yet: the
// provider may have replaced the file between the question for its digest and the download. It
// is also true for a job that assumed too small a size.
func (j *job) mayReopen() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.life.end == nil {
		return false
	}
	return errors.Is(j.life.end.err, download.ErrUnforeseen) || refusal.ReasonOf(j.life.end.err) == refusal.HashMismatch && j.life.mismatch == nil
}

// reopen opens a job again that mayReopen, and returns why it had ended. Downloads for its
// plan go on for other jobs only.
func (j *job) reopen() (cause error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := &j.life
	if cause = l.end.err; !errors.Is(cause, download.ErrUnforeseen) {
		l.mismatch = cause
	}
	l.end, l.gated, l.fetch.over = nil, false, true
	return cause
}

// startPlan keeps the contents of files on disk while the plan looks for them. It returns
// the objects of an earlier plan.
func (j *job) startPlan(files []manifest.File) (known *manifest.Table[manifest.Object]) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.life.release, j.life.planning = j.release, files
	if j.life.fetch != nil {
		known = j.life.fetch.known
	}
	return known
}

// setPlan begins a plan, with the contents that are objects.
func (j *job) setPlan(p *planned, known *manifest.Table[manifest.Object]) {
	j.mu.Lock()
	defer j.mu.Unlock()
	next := &fetch{job: j, known: known, counted: manifest.NewTable[struct{}](p.contents), missing: len(p.missing)}
	if before := j.life.fetch; before != nil {
		for digest := range before.counted.All() {
			if _, isKnown := known.Get(digest); isKnown {
				next.counted.Put(digest, struct{}{})
			}
		}
	}
	j.life.planned, j.life.fetch, j.life.planning = p, next, nil
	j.entry.Drop()
}

// plan is the job's present plan, without files before there is one.
func (j *job) plan() *planned {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.life.planned == nil {
		return &planned{}
	}
	return j.life.planned
}

// objects are those of the plan. Downloads add to them until the job is complete, recorded
// or interrupted; don't call it before.
func (j *job) objects() *manifest.Table[manifest.Object] {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.life.fetch == nil {
		return nil
	}
	return j.life.fetch.known
}

// setSizes adds the sizes of missing contents to the plan, and the size to assume of the others.
func (j *job) setSizes(sizes *manifest.Table[int64], assumed int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	p := *j.life.planned
	p.sizes, p.assumed = sizes, assumed
	j.life.planned = &p
}

// sizeOf is the size of a planned content: that of its object, else by Metadata.
func (j *job) sizeOf(content manifest.Digest) (size int64, known bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if object, proven := j.life.fetch.known.Get(content); proven {
		return object.Size, true
	}
	return j.life.planned.sizes.Get(content)
}

// isReady is true when an open job can be published: all its contents are objects, and
// those that judge it passed them.
func (j *job) isReady() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.isCompleteLocked() && (j.life.gated || !j.target.IsJudged())
}

func (j *job) isCompleteLocked() bool {
	l := &j.life
	return l.end == nil && l.fetch != nil && !l.fetch.over && l.fetch.begun && l.fetch.missing == 0
}

// isComplete is true when all contents of an open job are objects.
func (j *job) isComplete() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.isCompleteLocked()
}

// awaitsGate is true when a job is complete and its gate has not passed it.
func (j *job) awaitsGate() bool { return j.isComplete() && !j.isReady() }

// passGate notes that the gate passed the revision, or need not look at it.
func (j *job) passGate() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.life.gated = true
	j.signal()
}

// markRecorded keeps downloads that other jobs want, too, from changing the job.
func (j *job) markRecorded() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.life.recorded = true
}

func (j *job) isRecorded() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.life.recorded
}

// freeMemory drops what a recorded job needs no more.
func (j *job) freeMemory() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.isUnfinishedLocked() {
		j.checked, j.active, j.life.planned, j.life.fetch = nil, mirror.Record{}, nil, nil
	}
}

// isUnfinishedLocked is true until the planned revision is served: from then on its
// record keeps the objects.
func (j *job) isUnfinishedLocked() bool {
	e := j.life.end
	return e == nil || e.result != report.Updated && e.result != report.Unchanged
}

// keeps lists the contents that pruning must keep for the job. They replace those that
// the state has of the manifest, once there is a plan.
func (j *job) keeps() (planned []store.Planned, replaces bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.life.planned != nil && j.isUnfinishedLocked() {
		planned = make([]store.Planned, 0, len(j.life.planned.files))
		j.plannedLocked(func(w store.Planned) bool {
			planned = append(planned, w)
			return true
		})
		replaces = true
	}
	for _, f := range j.life.planning {
		planned = append(planned, store.Planned{Expected: f.Expected, Release: j.life.release})
	}
	return planned, replaces
}

// reserved is the space that an open job will still take.
func (j *job) reserved() space.Amount {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := &j.life
	if l.end != nil {
		return space.Amount{}
	}
	counted := 0
	if l.fetch != nil {
		counted = l.fetch.counted.Len()
	}
	return space.Amount{Bytes: max(l.need.Bytes-l.downloaded, 0), Inodes: max(l.need.Inodes-int64(counted), 0)}
}

func (j *job) reserve(need space.Amount) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.life.need = need
}

// plannedContents lists the contents that an unfinished job wants, with the objects of those
// that are proven already.
func (j *job) plannedContents() iter.Seq[store.Planned] {
	return func(yield func(store.Planned) bool) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.plannedLocked(yield)
	}
}

func (j *job) plannedLocked(yield func(store.Planned) bool) {
	if j.life.planned == nil {
		return
	}
	for _, f := range j.life.planned.files {
		w := store.Planned{Expected: f.Expected, Release: j.life.release, Adopted: j.life.adopted[f.Expected]}
		// A SHA-256 is the object's name: writing it twice would double a long list.
		if object, known := j.life.fetch.known.Get(f.Expected); known && f.Expected.Algorithm != manifest.SHA256 {
			w.Object, w.Size = object.ID, object.Size
		}
		if !yield(w) {
			return
		}
	}
}

// downloads is how many downloads the job counts, their bytes, and those of their objects.
func (j *job) downloads() (files int, bytes, objects int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.life.fetch == nil {
		return 0, j.life.downloaded, 0
	}
	for digest := range j.life.fetch.counted.All() {
		object, _ := j.life.fetch.known.Get(digest)
		objects += object.Size
	}
	return j.life.fetch.counted.Len(), j.life.downloaded, objects
}

// begin begins the downloads of a planned job. The caller must call the returned function
// when they have ended.
func (j *job) begin(ctx context.Context) (f *fetch, end func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f = j.life.fetch
	f.ctx, f.abort = context.WithCancelCause(ctx)
	if f.begun = true; f.missing == 0 {
		j.signal()
	}
	return f, func() { f.abort(nil) }
}

// openJobs returns those of jobs that are open.
func openJobs(jobs []*job) []*job {
	var open []*job
	for _, j := range jobs {
		if j.open() {
			open = append(open, j)
		}
	}
	return open
}

func namesOfJobs(jobs []*job) []string {
	names := make([]string, len(jobs))
	for i, j := range jobs {
		names[i] = j.target.Name
	}
	return names
}
