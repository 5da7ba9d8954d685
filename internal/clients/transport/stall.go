package transport

import (
	"context"
	"io"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// grace is how long net/http has to return after its context ended. Then its
// connection is closed.
const grace = 500 * time.Millisecond

// stallWatch cancels a transfer that moves no byte for the timeout, and closes its
// connection. It runs only while syncd waits for the network, so that a slow disk or a
// bandwidth limit is no stall.
//
// A server can keep net/http from noticing that its context ended: while a write to a
// server that does not read holds a lock of HTTP/2, RoundTrip, Read and Close wait for
// the lock. Closing the connection below TLS ends the write, and so all of them.
type stallWatch struct {
	ctx     context.Context //nolint:containedctx // the watch lives as long as its transfer
	timeout time.Duration
	timer   *time.Timer
	cancel  context.CancelCauseFunc
	forget  func() bool // stops the watch for the end of ctx
	waiting atomic.Bool // true while a call of net/http runs
	conn    atomic.Pointer[net.Conn]
	trace   httptrace.ClientTrace
}

// newStallWatch returns a stopped watch. The transfer must use the watch's context.
func newStallWatch(ctx context.Context, timeout time.Duration) *stallWatch {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &stallWatch{timeout: timeout, cancel: cancel}
	w.trace.GotConn = func(info httptrace.GotConnInfo) {
		conn := belowTLS(info.Conn)
		w.conn.Store(&conn)
	}
	w.ctx = httptrace.WithClientTrace(ctx, &w.trace)
	w.timer = time.AfterFunc(timeout, w.expire)
	w.timer.Stop()
	w.forget = context.AfterFunc(ctx, func() {
		if w.waiting.Load() {
			w.timer.Reset(grace)
		}
	})
	return w
}

func (w *stallWatch) resume() { w.waitFor(w.timeout) }

func (w *stallWatch) waitFor(limit time.Duration) {
	w.waiting.Store(true)
	w.timer.Reset(limit)
}

func (w *stallWatch) pause() {
	w.timer.Stop()
	w.waiting.Store(false)
}

func (w *stallWatch) end() {
	w.forget()
	w.pause()
	w.cancel(nil)
}

func (w *stallWatch) expire() {
	if w.waiting.Load() { // otherwise the call returned just now
		w.abandon(errStalled)
	}
}

// abandon cancels the transfer and closes its connection: a server that does not respond
// on it would not respond to the next request either.
func (w *stallWatch) abandon(cause error) {
	w.cancel(cause)
	if conn := w.conn.Load(); conn != nil {
		(*conn).Close()
	}
}

// close closes a body. It does not wait for a server longer than grace.
func (w *stallWatch) close(body io.Closer) error {
	w.waitFor(grace)
	defer w.pause()
	return body.Close()
}

// endAfter abandons the transfer after limit, however many bytes it moves. The caller
// stops the timer.
func (w *stallWatch) endAfter(limit time.Duration) *time.Timer {
	return time.AfterFunc(limit, func() { w.abandon(errTooSlow) })
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
	return b.watch.close(b.body)
}
