package syncer

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/refusal"
	"syncd/internal/report"
	"syncd/internal/store"
)

// job is one manifest in one sync. Between the steps of a sync, the goroutine of
// Sync owns all jobs. During a step a job belongs to the step's goroutine for it,
// except in downloads: there several goroutines change the fields under mu.
type job struct {
	target Target
	active mirror.Record // the served one, if served
	served bool
	state  store.Manifest // as saved; written back at the end

	release  manifest.Release          // chosen; "" until then
	full     bool                      // the Manifest and all digests were asked for
	listed   int                       // files in the provider's list, before filters
	links    string                    // fingerprint of the provider's list
	files    []manifest.File           // listed, after filters; nil once planned
	plan     manifest.Plan             // downloads add to its Known, under mu
	sizes    map[manifest.Digest]int64 // of missing contents, as far as Metadata gave them
	noSizes  atomic.Bool               // Metadata failed, so no more sizes are requested
	mismatch error                     // why the plan started over
	repeated bool                      // the result is that of an earlier sync, whose backoff is not over
	ctx      context.Context           // of the downloads that only this job wants
	abort    context.CancelCauseFunc   // ends ctx

	mu         sync.Mutex    // guards what follows; not needed between steps
	result     report.Result // "" while open
	err        error
	finished   time.Time
	fetched    map[manifest.Digest]bool // contents whose download this job counts
	downloaded int64                    // bytes that arrived
}

// errAborted ends the downloads of a manifest that failed elsewhere.
var errAborted = errors.New("another file of the manifest failed")

// open is true while the job has neither failed nor been settled.
func (j *job) open() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.result == ""
}

// isUnfinished is true until the planned revision is served: from then on its
// record keeps the objects.
func (j *job) isUnfinished() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.result != report.Updated && j.result != report.Unchanged
}

// settle ends the job without a failure.
func (j *job) settle(result report.Result) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.result, j.finished = result, time.Now()
}

// fail ends the job with its first error and stops its downloads.
func (j *job) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.result == report.Failed || j.result == report.Refused {
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
}

// isMismatch is true for a digest mismatch. The provider may have replaced the file
// between the question for its digest and the download.
func isMismatch(err error) bool { return refusal.ReasonOf(err) == refusal.HashMismatch }

// reopen opens a job again that failed with a mismatch.
func (j *job) reopen() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mismatch, j.result, j.err = j.err, "", nil
}

// arrived counts bytes of a download.
func (j *job) arrived(bytes int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.downloaded += bytes
}

// adopted notes that a missing content is an object now. counts is true for the job
// that counts the download.
func (j *job) adopted(expected manifest.Digest, object manifest.Object, counts bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.plan.Known[expected] = object
	if counts {
		j.fetched[expected] = true
	}
}

// wanted lists the contents that an unfinished job wants, with the objects of those
// that are proven already.
func (j *job) wanted() []store.Wanted {
	j.mu.Lock()
	defer j.mu.Unlock()
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
