package transport

import (
	"context"
	"io"
	"time"
)

// stallWatch ends a transfer that moves no byte for the timeout. It runs only
// while syncd waits for the network, so that a slow disk or a bandwidth limit
// is never taken for a stall.
type stallWatch struct {
	timeout time.Duration
	timer   *time.Timer
	cancel  context.CancelCauseFunc
}

func newStallWatch(ctx context.Context, timeout time.Duration) (context.Context, *stallWatch) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &stallWatch{timeout: timeout, cancel: cancel, timer: time.AfterFunc(timeout, func() { cancel(errStalled) })}
}

func (w *stallWatch) resume() { w.timer.Reset(w.timeout) }
func (w *stallWatch) pause()  { w.timer.Stop() }
func (w *stallWatch) end()    { w.timer.Stop(); w.cancel(nil) }

// watchedBody is a response body under a stallWatch.
type watchedBody struct {
	ctx   context.Context
	body  io.ReadCloser
	watch *stallWatch
	wrap  func(error) error
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.watch.resume()
	n, err := b.body.Read(p)
	b.watch.pause()
	if err != nil && err != io.EOF { //nolint:errorlint // io.EOF itself is the end; one that is wrapped is a failure
		err = b.wrap(contextError(b.ctx, err))
	}
	return n, err
}

func (b *watchedBody) Close() error {
	b.watch.end()
	return b.body.Close()
}
