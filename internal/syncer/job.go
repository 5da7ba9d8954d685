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

// job is one manifest in one sync. The steps of a sync are phases: between them
// one goroutine has the jobs to itself. Within a phase a job belongs to the
// goroutine of its step, but for the downloads: several work for one job.
type job struct {
	target Target
	active mirror.Record // what is served of it, if served
	served bool
	state  store.Manifest // what is remembered; committed at the end

	release  manifest.Release          // chosen; "" until then
	full     bool                      // the Manifest and all digests were asked
	listed   int                       // files in the provider's list, before filters
	links    string                    // fingerprint of the provider's list
	plan     manifest.Plan             // its Known grows by downloads, under mu
	sizes    map[manifest.Digest]int64 // of missing files, as far as Metadata told
	noSizes  atomic.Bool               // Metadata failed: it is asked no more
	mismatch error                     // why the plan was started over
	repeated bool                      // the result is an earlier sync's: its back-off is not over
	ctx      context.Context           // of the downloads that only this job wants
	abort    context.CancelCauseFunc   // ends ctx

	mu         sync.Mutex     // what downloads change; between phases it is read without
	record     *mirror.Record // to publish; nil while there is nothing new
	result     report.Result  // "" while under way
	err        error
	finished   time.Time
	fetched    map[manifest.Digest]bool
	downloaded int64 // bytes that arrived
}

// open is true while the job has neither failed nor been settled.
func (j *job) open() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.result == ""
}

// wants is true until what the job planned is in service: from then on its record
// keeps the objects.
func (j *job) wants() bool {
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
	j.err, j.record, j.finished = err, nil, time.Now()
	j.result = report.Failed
	if refusal.ReasonOf(err) != "" {
		j.result = report.Refused
	}
	if j.abort != nil {
		j.abort(errAborted)
	}
}

// suspend puts a job that failed by a mismatch under way again.
func (j *job) suspend() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mismatch, j.result, j.err = j.err, "", nil
}

// errAborted ends downloads whose manifest failed elsewhere.
var errAborted = errors.New("another file of the manifest failed")

// wanted is what an unfinished job wants, and what of that is proven already,
// in this sync or in one that failed before.
func (j *job) wanted() []store.Wanted {
	j.mu.Lock()
	defer j.mu.Unlock()
	wanted := make([]store.Wanted, 0, len(j.plan.Files))
	for _, f := range j.plan.Files {
		w := store.Wanted{Expected: f.Expected}
		// A SHA-256 is the object's name: to write it twice would make a long list twice as long.
		if object, ok := j.plan.Known[f.Expected]; ok && f.Expected.Algorithm != manifest.SHA256 {
			w.Object, w.Size = object.ID, object.Size
		}
		wanted = append(wanted, w)
	}
	return wanted
}

// arrived counts bytes of a download.
func (j *job) arrived(bytes int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.downloaded += bytes
}

// proven notes that a missing file is an object now.
func (j *job) proven(expected manifest.Digest, object manifest.Object, fetchedHere bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.plan.Known[expected] = object
	if fetchedHere {
		j.fetched[expected] = true
	}
}

// openJobs are those of jobs that are still under way.
func openJobs(jobs []*job) []*job {
	var still []*job
	for _, j := range jobs {
		if j.open() {
			still = append(still, j)
		}
	}
	return still
}
