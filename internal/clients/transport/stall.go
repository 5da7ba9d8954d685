package transport

import (
	"context"
	"io"
	"time"
)

// stallWatch cancels a transfer that moves no byte for the timeout. It runs only while
// syncd waits for the network, so that a slow disk or a bandwidth limit is no stall.
type stallWatch struct {
	ctx     context.Context //nolint:containedctx // the watch lives as long as its transfer
	timeout time.Duration
	timer   *time.Timer
	cancel  context.CancelCauseFunc
}

// newStallWatch returns a stopped watch. The transfer must use the watch's context.
func newStallWatch(ctx context.Context, timeout time.Duration) *stallWatch {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &stallWatch{ctx: ctx, timeout: timeout, cancel: cancel}
	w.timer = time.AfterFunc(timeout, func() { cancel(errStalled) })
	w.timer.Stop()
	return w
}

func (w *stallWatch) resume() { w.timer.Reset(w.timeout) }
func (w *stallWatch) pause()  { w.timer.Stop() }
func (w *stallWatch) end()    { w.timer.Stop(); w.cancel(nil) }

// endAfter cancels the transfer after limit, however many bytes it moves. The caller
// stops the timer.
func (w *stallWatch) endAfter(limit time.Duration) *time.Timer {
	return time.AfterFunc(limit, func() { w.cancel(errTooSlow) })
}

// watchedBody is a response body whose reads run under a stallWatch.
type watchedBody struct {
	body  io.ReadCloser
	watch *stallWatch
	wrap  func(error) error
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.watch.resume()
	n, err := b.body.Read(p)
	b.watch.pause()
	if err != nil && err != io.EOF { //nolint:errorlint // only a bare io.EOF ends a body; a wrapped one is a failure
		err = b.wrap(contextError(b.watch.ctx, err))
	}
	return n, err
}

func (b *watchedBody) Close() error {
	b.watch.end()
	return b.body.Close()
}
