package syncer

import (
	"context"
	"sync"
	"time"

	"syncd/internal/mirror/export"
)

// flushEvery is the longest time that a small file waits for others before it becomes an
// object. It is short because another sync may want the file, or the file may be the last
// one of its manifest.
const flushEvery = 5 * time.Second

// exportMeanwhile makes the folders follow what is served when the sync begins: a crash
// may have come between a swap and its export. wait ends when that is done.
func (r *run) exportMeanwhile(ctx context.Context) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.results.NoteExports(r.tree.Exporter().Follow(ctx, r.exportOptions(), r.req.TakeOver))
	}()
	return func() { <-done }
}

func (r *run) exportOptions() export.Options { return export.Options{Thorough: r.req.Demand} }

// publishMeanwhile starts a goroutine that publishes and records manifests while others
// of the sync still go on: those that are ready, settled or failed, once the first of them
// has waited for Config.PublishAfter. stop ends the goroutine and waits for it. It can be
// called twice.
func (r *run) publishMeanwhile(ctx context.Context) (stop func()) {
	if r.source.AllOrNothing() {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		r.publishUntil(ctx, quit)
	}()
	return sync.OnceFunc(func() {
		close(quit)
		<-done
	})
}

func (r *run) publishUntil(ctx context.Context, quit <-chan struct{}) {
	flush := time.NewTicker(flushEvery)
	defer flush.Stop()
	var due <-chan time.Time
	for {
		select {
		case <-quit:
			return
		case <-ctx.Done():
			return
		case <-flush.C:
			r.session.Flush()
		case <-r.changed:
			if due == nil && len(r.waiting()) > 0 {
				due = time.After(r.cfg.PublishAfter)
			}
		case <-due:
			due = nil
			_ = r.publish(ctx, r.waiting()) // the context's end, which Sync sees, too
		}
	}
}

// waiting returns the jobs that only wait for others of the sync. A job with a mismatch
// does not: it is looked at again first.
func (r *run) waiting() []*job {
	var waiting []*job
	for _, j := range r.unrecorded() {
		if j.isReady() || !j.open() && !j.mayReopen() {
			waiting = append(waiting, j)
		}
	}
	return waiting
}

// unrecorded returns the jobs whose outcome is not recorded yet.
func (r *run) unrecorded() []*job {
	var jobs []*job
	for _, j := range r.jobs {
		if !j.isRecorded() {
			jobs = append(jobs, j)
		}
	}
	return jobs
}
