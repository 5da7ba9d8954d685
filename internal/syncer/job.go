package syncer

import (
	"context"
	"errors"
	"sync"
	"time"

	"syncd/internal/disk/space"
	"syncd/internal/golive"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/store"
	"syncd/internal/syncer/source"
)

// job is one manifest in one sync. Between the steps of a sync, the goroutine of
// Sync owns all jobs. During a step a job belongs to the step's goroutine for it,
// except in downloads: there several goroutines change the fields under mu. A job that
// is ready, settled or failed belongs to the goroutine that publishes.
type job struct {
	target  golive.Target
	entry   *source.Entry
	active  mirror.Record // the served one, if served
	served  bool
	staged  staging.Entry  // when the sync began
	state   store.Manifest // as saved; written back at the end
	changed chan struct{}  // the run's

	release  manifest.Release          // chosen; "" until then
	news     bool                      // files may differ from the served ones, whatever the release
	told     *source.Description       // for other hosts; nil before the list
	full     bool                      // the Manifest and all digests were asked for
	listed   int                       // files in the provider's list, before filters
	links    string                    // fingerprint of the provider's list
	files    []manifest.File           // listed, after filters; nil once planned
	sizes    map[manifest.Digest]int64 // of missing contents, as far as Metadata gave them
	repeated bool                      // the result is that of an earlier sync, whose backoff is not over
	ctx      context.Context           // of the downloads that only this job wants
	outcome  report.ManifestResult     // once recorded

	newlyStaged bool // by this sync
	withdrawn   bool // the served revision is the newest again
	kept        int  // files in memory; guarded by the mu of Shared

	republished bool // the provider changed the bytes of the served release

	mu         sync.Mutex              // guards what follows, which its owner reads without mu
	plan       manifest.Plan           // downloads add to its Known
	planning   []manifest.File         // their contents stay on disk until there is a plan
	need       space.Amount            // reserved
	missing    int                     // contents that are not objects yet; valid once fetching is true
	fetching   bool                    // the downloads have begun
	gated      bool                    // the gate passed the revision
	abort      context.CancelCauseFunc // ends ctx
	mismatch   error                   // why the plan started over
	result     report.Result           // "" while open
	err        error
	finished   time.Time
	fetched    map[manifest.Digest]bool // contents whose download this job counts
	downloaded int64                    // bytes that arrived
	recorded   bool                     // nothing of the job changes any more
}

// errAborted ends the downloads of a manifest that failed elsewhere.
var errAborted = errors.New("another file of the manifest failed")

// endList frees the list when there is a plan, or none is needed.
func (j *job) endList() {
	j.files = nil
	j.entry.Drop()
}

// open is true while the job has neither failed nor been settled.
func (j *job) open() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.result == ""
}

// hasFailed is true after a failure or a refusal.
func (j *job) hasFailed() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.result == report.Failed || j.result == report.Refused
}

// isUpdated is true when the job's revision went live.
func (j *job) isUpdated() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.result == report.Updated
}

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
	j.result, j.finished = result, time.Now()
	j.endList()
	j.signal()
}

// repeat ends the job with the outcome of an earlier sync: its backoff is not over, or the
// gate is not asked again.
func (j *job) repeat(result report.Result, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.result, j.err, j.repeated, j.finished = result, err, true, time.Now()
	j.endList()
	j.signal()
}

// fail ends the job with its first error and stops its downloads.
func (j *job) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failLocked(err)
}

// failIf ends the job if there is an error.
func (j *job) failIf(err error) {
	if err != nil {
		j.fail(err)
	}
}

func (j *job) failLocked(err error) {
	if j.recorded || j.result == report.Failed || j.result == report.Refused {
		return
	}
	j.err, j.finished = err, time.Now()
	j.result = report.Failed
	if refusal.ReasonOf(err) != "" {
		j.result = report.Refused
	}
	if j.abort != nil {
		j.abort(errAborted)
	}
	j.endList()
	j.signal()
}

// isMismatch is true for a digest mismatch. The provider may have replaced the file
// between the question for its digest and the download.
func isMismatch(err error) bool { return refusal.ReasonOf(err) == refusal.HashMismatch }

// mayReopen is true for a job with a mismatch that was not looked at again yet.
func (j *job) mayReopen() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return isMismatch(j.err) && j.mismatch == nil
}

// reopen opens a job again that failed with a mismatch.
func (j *job) reopen() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mismatch, j.result, j.err, j.fetching, j.gated = j.err, "", nil, false, false
}

// beginFetching begins the downloads of a planned job. The caller must call the
// returned function when they have ended.
func (j *job) beginFetching(ctx context.Context) (end func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ctx, j.abort = context.WithCancelCause(ctx)
	j.fetching, j.missing = true, len(j.plan.Missing)
	if j.missing == 0 {
		j.signal()
	}
	abort := j.abort
	return func() { abort(nil) }
}

// isReady is true when an open job can be published: all its contents are objects, and
// its gate passed them.
func (j *job) isReady() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.isCompleteLocked() && (j.gated || len(j.target.Gate.Command) == 0)
}

func (j *job) isCompleteLocked() bool { return j.result == "" && j.fetching && j.missing == 0 }

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
	j.gated = true
	j.signal()
}

// startPlan keeps the contents of files on disk while the plan looks for them.
func (j *job) startPlan(files []manifest.File) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.planning = files
}

func (j *job) setPlan(plan manifest.Plan, fetched map[manifest.Digest]bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.plan, j.fetched, j.planning = plan, fetched, nil
}

// markRecorded keeps downloads that other jobs want, too, from changing the job.
func (j *job) markRecorded() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.recorded = true
}

func (j *job) isRecorded() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.recorded
}

// freeMemory drops what a recorded job needs no more.
func (j *job) freeMemory() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.isUnfinishedLocked() {
		j.told, j.plan, j.active, j.sizes, j.fetched = nil, manifest.Plan{}, mirror.Record{}, nil, nil
	}
}

// isUnfinishedLocked is true until the planned revision is served: from then on its
// record keeps the objects.
func (j *job) isUnfinishedLocked() bool {
	return j.result != report.Updated && j.result != report.Unchanged
}

// keeps lists the contents that pruning must keep for the job. They replace those that
// the state has of the manifest, once there is a plan.
func (j *job) keeps() (wanted []store.Wanted, replaces bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.plan.Files) > 0 && j.isUnfinishedLocked() {
		wanted, replaces = j.wantedLocked(), true
	}
	for _, f := range j.planning {
		wanted = append(wanted, store.Wanted{Expected: f.Expected})
	}
	return wanted, replaces
}

// reserved is the space that an open job will still take.
func (j *job) reserved() space.Amount {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.result != "" {
		return space.Amount{}
	}
	return space.Amount{Bytes: max(j.need.Bytes-j.downloaded, 0), Inodes: max(j.need.Inodes-int64(len(j.fetched)), 0)}
}

func (j *job) reserve(need space.Amount) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.need = need
}

// wanted lists the contents that an unfinished job wants, with the objects of those
// that are proven already.
func (j *job) wanted() []store.Wanted {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.wantedLocked()
}

func (j *job) wantedLocked() []store.Wanted {
	wanted := make([]store.Wanted, 0, len(j.plan.Files))
	for _, f := range j.plan.Files {
		w := store.Wanted{Expected: f.Expected}
		// A SHA-256 is the object's name: writing it twice would double a long list.
		if object, known := j.plan.Known[f.Expected]; known && f.Expected.Algorithm != manifest.SHA256 {
			w.Object, w.Size = object.ID, object.Size
		}
		wanted = append(wanted, w)
	}
	return wanted
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
