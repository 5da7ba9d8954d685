package syncer

import (
	"context"

	"syncd/internal/manifest"
	"syncd/internal/syncer/download"
)

// fetch is how far one plan of a job has come, for the downloads. A job that starts over
// gets another one; downloads for several jobs go on for the others then. The mu of the job
// guards all of it.
type fetch struct {
	job     *job
	known   *manifest.Table[manifest.Object] // contents that are objects
	counted *manifest.Table[struct{}]        // contents whose download this job counts
	missing int                              // contents that are not objects yet
	begun   bool                             // the downloads have begun
	over    bool                             // the job starts over
	ctx     context.Context                  // of the downloads that only this job wants
	abort   context.CancelCauseFunc          // ends ctx
}

// order is what a plan wants to download.
func (f *fetch) order(p *planned) *download.Order {
	return &download.Order{Wanter: f, Manifest: f.job.target.Name, Context: f.ctx, Missing: p.missing, Sizes: p.sizes, Assumed: p.assumed}
}

// Wants is true while the job is open and has this plan.
func (f *fetch) Wants() bool {
	f.job.mu.Lock()
	defer f.job.mu.Unlock()
	return f.job.life.end == nil && !f.over
}

// Got notes that a missing content is an object now.
func (f *fetch) Got(content manifest.Digest, object manifest.Object, counts bool) bool {
	f.job.mu.Lock()
	defer f.job.mu.Unlock()
	if f.over {
		return false
	}
	if f.job.life.recorded {
		return true
	}
	f.known.Put(content, object)
	if counts {
		f.counted.Put(content, struct{}{})
	}
	if f.missing--; f.missing == 0 {
		f.job.signal()
	}
	return true
}

// Failed ends the job, if it still has this plan.
func (f *fetch) Failed(err error) {
	f.job.mu.Lock()
	defer f.job.mu.Unlock()
	if !f.over {
		f.job.failLocked(err)
	}
}

// Arrived counts bytes of a download.
func (f *fetch) Arrived(bytes int64) {
	f.job.mu.Lock()
	defer f.job.mu.Unlock()
	if !f.job.life.recorded {
		f.job.life.downloaded += bytes
	}
}
