package transport

import (
	"context"
	"io"
	"net"
	"net/http/httptrace"
	"sync"
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
	cancel  context.CancelCauseFunc
	conn    atomic.Pointer[net.Conn]
	fresh   atomic.Int32           // new connections that the call of net/http took
	step    atomic.Pointer[string] // what making a connection waits for, before and after TCP
	trace   httptrace.ClientTrace
	timer   *time.Timer // runs check

	mu        sync.Mutex // guards what follows
	isWaiting bool       // a call of net/http runs
	isEnding  bool       // it should return, because the context has ended
	due       time.Time  // when it stalls
	last      time.Time  // when the transfer must end, however many bytes it moves
	late      error      // why it ends when due
	connectBy time.Time  // when a transfer without a connection ends; zero for due

	// Of the answer that the transfer waits for.
	slow     time.Time // when to tell that it is slow; zero if there is nothing to tell
	tellSlow func()
}

// maxFresh is how many new connections one call of net/http may take. Over HTTP/2, it sends
// a request again without a pause, and without an end, that a server refused with a goodbye
// (GOAWAY): a thousand connections in a few seconds. Retry makes the pauses.
const maxFresh = 3

// unlimited is longer than any transfer.
const unlimited = 100 * 365 * 24 * time.Hour

// newStallWatch returns a stopped watch. The transfer must use the watch's context.
func newStallWatch(ctx context.Context, timeout time.Duration) *stallWatch {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &stallWatch{timeout: timeout, cancel: cancel, last: time.Now().Add(unlimited)}
	w.trace.GotConn = func(info httptrace.GotConnInfo) {
		conn := belowTLS(info.Conn)
		w.conn.Store(&conn)
		if !info.Reused && w.fresh.Add(1) > maxFresh {
			w.cancel(errNoneAnswers)
		}
	}
	w.trace.DNSStart = func(info httptrace.DNSStartInfo) {
		w.step.Store(new("address of " + info.Host + " from the name servers"))
	}
	w.trace.DNSDone = func(httptrace.DNSDoneInfo) { w.step.Store(nil) }
	w.trace.TLSHandshakeStart = func() { w.step.Store(&tlsStep) }
	w.ctx = httptrace.WithClientTrace(ctx, &w.trace)
	w.timer = time.AfterFunc(timeout, w.check)
	w.timer.Stop()
	return w
}

var tlsStep = "TLS handshake"

// missing says what a transfer to origin waits for.
func (w *stallWatch) missing(origin string) string {
	step := w.step.Load()
	switch {
	case w.conn.Load() != nil:
		return "answer from " + origin
	case step == nil:
		return "connection to " + origin
	case step == &tlsStep:
		return tlsStep + " with " + origin
	}
	return *step
}

func (w *stallWatch) resume() { w.waitFor(w.timeout) }

// waitFor watches a call of net/http that is about to begin.
func (w *stallWatch) waitFor(limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.isWaiting, w.isEnding, w.due, w.late = true, false, now.Add(limit), errStalled
	w.checkSoonLocked(now)
}

// waitForAnswer watches a call that is about to begin and returns with an answer. It calls
// slow once if the answer takes long. left is what the retry budget has left. The budget ends
// a call that has no connection, and a repeated one that has no answer: a slow server has the
// whole timeout for its first answer.
func (w *stallWatch) waitForAnswer(left time.Duration, isRepeated bool, slow func()) {
	w.fresh.Store(0)
	left = max(left, leastAttempt)
	limit := w.timeout
	if isRepeated {
		limit = min(limit, left)
	}
	w.waitFor(limit)
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.slow, w.tellSlow, w.connectBy = now.Add(slowAfter), slow, now.Add(left)
	if limit < w.timeout {
		w.late = errNoTimeLeft
	}
}

func (w *stallWatch) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isWaiting, w.slow, w.connectBy = false, time.Time{}, time.Time{}
	w.timer.Stop()
}

// waits is true while a call of net/http runs, for a transfer that goes on.
func (w *stallWatch) waits() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.isWaiting && w.ctx.Err() == nil
}

func (w *stallWatch) end() {
	w.pause()
	w.cancel(nil)
}

// endWithin abandons the transfer after limit, however many bytes it moves.
func (w *stallWatch) endWithin(limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last := time.Now().Add(limit); last.Before(w.last) {
		w.last = last
	}
}

// checkSoonLocked starts the timer. Looking for the context's end every now and then
// costs a short request less than being told of it.
func (w *stallWatch) checkSoonLocked(now time.Time) {
	w.timer.Reset(min(w.due.Sub(now), w.last.Sub(now), grace))
}

func (w *stallWatch) check() {
	slow, cause := w.failure()
	if slow != nil {
		slow()
	}
	if cause != nil {
		w.abandon(cause)
	}
}

// failure returns why the call that runs must end, nil if it may go on. When the context
// has ended, the call has some time left to return by itself. slow is to be called, if any.
func (w *stallWatch) failure() (slow func(), cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	switch {
	case !w.isWaiting: // it returned just now
		return nil, nil
	case !now.Before(w.last):
		return nil, errTooSlow
	case !now.Before(w.due):
		return nil, w.late
	case !w.connectBy.IsZero() && !now.Before(w.connectBy) && w.conn.Load() == nil:
		return nil, errNoTimeLeft
	case w.ctx.Err() != nil && !w.isEnding:
		w.isEnding, w.due = true, now.Add(grace)
	case !w.slow.IsZero() && !now.Before(w.slow):
		w.slow, slow = time.Time{}, w.tellSlow
	}
	w.checkSoonLocked(now)
	return slow, nil
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

// watchedBody is a response body whose reads run under a stallWatch.
type watchedBody struct {
	body  io.ReadCloser
	watch *stallWatch
	wrap  func(error) error
	about *subject // nil for the body of a transient fault
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.watch.resume()
	n, err := b.body.Read(p)
	b.watch.pause()
	if n > 0 && b.about != nil {
		b.about.answered()
	}
	if err != nil && err != io.EOF { //nolint:errorlint // only a bare io.EOF ends a body; a wrapped one is a failure
		err = b.wrap(contextError(b.watch.ctx, err))
	}
	return n, err
}

func (b *watchedBody) Close() error {
	b.watch.end()
	return b.watch.close(b.body)
}
