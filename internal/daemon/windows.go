package daemon

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"syncd/internal/engine/operation"
	"syncd/internal/report/request"
)

// activatePause is how long the daemon waits after a failed activation, such as for lack
// of space.
const activatePause = 5 * time.Minute

// windows publishes what is staged when its window opens.
type windows struct {
	running  atomic.Bool
	failedAt atomic.Pointer[time.Time] // the last attempt, if it failed
}

// activateDue publishes what may go live by itself now, beside running syncs.
func (d *Daemon) activateDue(ctx context.Context, running *sync.WaitGroup) {
	w := &d.windows
	if failed := w.failedAt.Load(); failed != nil && time.Since(*failed) < activatePause {
		return
	}
	if !d.engine.HasDue(time.Now()) || !w.running.CompareAndSwap(false, true) {
		return
	}
	running.Go(func() {
		defer w.running.Store(false)
		w.failedAt.Store(nil)
		if result, err := operation.Activate.Do(ctx, d.operations, request.Activate{Trigger: request.TriggerWindow}); err != nil || !result.OK() { // it has been logged
			now := time.Now()
			w.failedAt.Store(&now)
		}
	})
}

// untilWindow is how long it takes until a window opens for something staged.
func (d *Daemon) untilWindow(now time.Time) time.Duration {
	at := d.engine.DueAt(now)
	if at.IsZero() {
		return maxSleep
	}
	return max(at.Sub(now), time.Millisecond)
}
