package fetcher

import (
	"context"
	"errors"
	"sync"
	"time"

	"syncd/internal/clients/transport"
)

const (
	// minSegmentedFile is the size from which a file gets more than one connection.
	minSegmentedFile = 16 << 20
	// minSegment is the least that is worth a request of its own.
	minSegment = 4 << 20
	// maxSegment bounds how far bytes arrive ahead of the hash, so that little is left to
	// read back after the last one.
	maxSegment = 64 << 20
)

// workers are the connections of a transfer beside the main one. Each fetches one
// segment after another. The controller decides how many workers there are.
type workers struct {
	transfer *transfer
	fail     context.CancelCauseFunc // ends the whole transfer
	released chan struct{}           // signals that a segment was released

	// The main connection owns these fields.
	isStarted bool
	cancel    context.CancelFunc
	group     sync.WaitGroup

	mu         sync.Mutex // guards the fields below; held for moments
	controller controller
	count      int // running workers
}

func newWorkers(t *transfer, fail context.CancelCauseFunc) *workers {
	return &workers{transfer: t, fail: fail, released: make(chan struct{}, 1), controller: controller{limit: t.segments}}
}

// start begins to measure whether more connections would help, if the file is large
// enough and its validator is strong. The workers end with ctx.
func (w *workers) start(ctx context.Context) {
	v := w.transfer.partial.validator
	if w.isStarted || w.controller.limit < 2 || !v.isStrong() || v.Total < minSegmentedFile {
		return
	}
	ctx, w.cancel = context.WithCancel(ctx)
	w.isStarted = true
	w.group.Go(func() { w.monitor(ctx) })
}

// stop ends all workers, and returns when they have ended.
func (w *workers) stop() {
	if w.isStarted {
		w.cancel()
		w.group.Wait()
		w.isStarted = false
	}
}

// monitor observes the rate and starts the workers that the controller wants. Workers
// beyond that number end on their own.
func (w *workers) monitor(ctx context.Context) {
	ticker := time.NewTicker(controlInterval)
	defer ticker.Stop()
	for before := w.transfer.partial.size(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := w.transfer.partial.size()
		missing := w.observeRate(float64(now-before) / controlInterval.Seconds())
		before = now
		for range missing {
			if !w.add(ctx) {
				break
			}
		}
	}
}

// add starts a worker if a connection is free.
func (w *workers) add(ctx context.Context) bool {
	connections := w.transfer.download.fetcher.connections
	if !connections.TryAcquire(1) {
		return false
	}
	if err := w.transfer.partial.allowGaps(); err != nil {
		connections.Release(1)
		w.fail(err)
		return false
	}
	w.resize(+1)
	w.group.Go(func() { w.work(ctx) })
	return true
}

// work fetches segments for as long as the worker is wanted and no file waits for
// its connection.
func (w *workers) work(ctx context.Context) {
	defer w.resize(-1)
	connections := w.transfer.download.fetcher.connections
	for {
		isDone := w.fetchSegment(ctx)
		connections.Release(1)
		if !isDone || w.hasSurplus() || !connections.TryAcquire(1) {
			return
		}
	}
}

// fetchSegment fetches one segment. It returns false if the worker should end. It does
// not report errors of the source: the main connection gets and reports them too.
func (w *workers) fetchSegment(ctx context.Context) bool {
	segment, _ := w.assign()
	if segment == nil {
		return false
	}
	defer w.release(segment)
	c := &connection{transfer: w.transfer, segment: segment}
	var failed *transport.Error
	if err := c.open(ctx); err != nil {
		w.backOff(errors.As(err, &failed) && failed.Kind != transport.Transient)
		return false
	}
	defer c.close()
	if !c.isRange() {
		w.backOff(true)
		return false
	}
	err := c.receive(ctx)
	switch {
	case err == nil:
		return true
	case errors.As(err, &failed):
		w.backOff(false)
	case ctx.Err() == nil:
		w.fail(err) // of the disk or the Watcher
	}
	return false
}

// assign takes the next segment, or everything that is left when no worker runs.
func (w *workers) assign() (c *segment, othersPending bool) {
	w.mu.Lock()
	limit := w.controller.segmentSize()
	if w.count == 0 {
		limit = endless
	}
	w.mu.Unlock()
	return w.transfer.partial.assign(limit)
}

// release gives a segment up, and wakes the main connection if it waits for one.
func (w *workers) release(c *segment) {
	w.transfer.partial.release(c)
	select {
	case w.released <- struct{}{}:
	default:
	}
}

// resize counts workers that start or end.
func (w *workers) resize(by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count += by
}

// hasSurplus returns whether there are more connections than the controller wants.
func (w *workers) hasSurplus() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return 1+w.count > w.controller.target
}

// observeRate takes the rate, in bytes per second, of all connections since the last
// call. It returns how many workers are missing.
func (w *workers) observeRate(rate float64) (missing int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.controller.observe(rate, 1+w.count)
	return max(w.controller.target-1-w.count, 0)
}

func (w *workers) observeLatency(latency time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.controller.latency = latency
}

// backOff ends the workers: for the rest of the transfer, or until the controller
// tries them again.
func (w *workers) backOff(forGood bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if forGood {
		w.controller.disable()
		return
	}
	w.controller.backOff()
}
