package fetcher

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/manifest"
	"syncd/internal/refusal"
)

// transfer brings the missing bytes of one file, over a first connection and, where
// that is faster, over others beside it.
type transfer struct {
	*Fetcher
	partial *partial
	ref     manifest.Reference
	watch   Watcher
	isAlone bool // there is to be no connection but the first

	beside   segments
	furthest int64 // bytes that were there at once, so that starting over again and again is no progress
	goesOn   bool  // the last answer was taken to its end: the next one is no new start
}

// run returns when all bytes are there, whatever they are.
func (t *transfer) run(parent context.Context) error {
	if err := t.connections.Acquire(parent, 1); err != nil {
		return context.Cause(parent)
	}
	defer t.connections.Release(1)
	t.running.Add(1)
	defer t.running.Add(-1)
	ctx, fail := context.WithCancelCause(parent)
	defer fail(nil)
	t.beside.init(ctx, t, fail)
	defer t.beside.stop()
	for {
		c := t.beside.next()
		if c == nil {
			return context.Cause(ctx)
		}
		err := t.source.Retry(ctx, func(progress func()) error {
			before := t.partial.size()
			err := t.bring(ctx, c)
			t.goesOn = err == nil
			if size := t.partial.size(); size > t.furthest && size != before { // bytes that were here before are none either
				t.furthest = size
				progress()
			}
			return err
		})
		t.beside.release(c)
		if err != nil {
			return err
		}
	}
}

// bring makes one attempt at the bytes of a claim, which are all when the answer
// is the whole of another content.
func (t *transfer) bring(ctx context.Context, c *claim) error {
	res, err := t.open(ctx, c)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := t.begin(c, res); err != nil {
		return err
	}
	if err := t.announce(); err != nil {
		return err
	}
	t.beside.begin()
	return t.copy(ctx, c, res)
}

// open asks for the bytes of a claim. A server that does not know the range any
// more (416) is asked for everything.
func (t *transfer) open(ctx context.Context, c *claim) (*transport.Response, error) {
	res, err := t.ask(ctx, c)
	var failed *transport.Error
	if errors.As(err, &failed) && failed.Status == http.StatusRequestedRangeNotSatisfiable && t.partial.size() > 0 {
		if err := t.restart(c); err != nil {
			return nil, err
		}
		return t.ask(ctx, c)
	}
	return res, err
}

// ask sends the request for a claim, and notes how long the answer took to begin.
func (t *transfer) ask(ctx context.Context, c *claim) (*transport.Response, error) {
	header, begun := t.header(c), time.Now()
	res, err := t.source.Download(ctx, t.ref, header)
	if err == nil {
		t.beside.answered(time.Since(begun))
	}
	return res, err
}

// header asks for what is missing, plain: a compressed body could not be continued.
func (t *transfer) header(c *claim) http.Header {
	h := http.Header{"Accept-Encoding": {"identity"}}
	t.partial.ask(c)
	if condition := t.partial.validator.Condition; condition != "" && c.asked != everything {
		h.Set("Range", c.asked.String())
		h.Set("If-Range", condition)
	}
	return h
}

// begin brings file and claim to where the answer's body starts.
func (t *transfer) begin(c *claim, res *transport.Response) error {
	if err := checkPlain(res); err != nil {
		return err
	}
	switch {
	case res.Status == http.StatusPartialContent && c.asked != everything:
		return t.checkContinues(c, res)
	case res.Status != http.StatusOK:
		return refusal.New(refusal.BadShape, "download answered with status %d", res.Status)
	}
	if t.partial.size() > 0 || t.beside.isBegun {
		if err := t.restart(c); err != nil {
			return err
		}
	}
	return t.partial.remember(res, c)
}

// checkPlain refuses an answer whose bytes are not those of the file.
func checkPlain(res *transport.Response) error {
	if encoding := res.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return refusal.New(refusal.BadShape, "download with Content-Encoding %.32q, which was not asked for", encoding)
	}
	return nil
}

// checkContinues starts clean, at the next attempt, when a 206 does not bring what
// is missing.
func (t *transfer) checkContinues(c *claim, res *transport.Response) error {
	got, err := t.partial.validator.checkRange(c.asked, res)
	if err == nil {
		t.partial.tell(c, got)
		return nil
	}
	if restartErr := t.restart(c); restartErr != nil {
		return restartErr
	}
	return &transport.Error{Kind: transport.Passing, Endpoint: "Download", Status: res.Status, Err: err}
}

// restart makes the claim one to the whole of an empty file.
func (t *transfer) restart(c *claim) error {
	t.beside.stop()
	t.goesOn = false
	err := t.partial.restart()
	*c = claim{end: endless}
	t.partial.layout.claims = []*claim{c}
	return err
}

// announce has the watcher know where a new start begins.
func (t *transfer) announce() error {
	if t.goesOn {
		return nil
	}
	t.partial.mu.Lock()
	defer t.partial.mu.Unlock()
	size := t.partial.layout.bytes()
	if size > 0 {
		t.watch.Resumed(size)
	}
	if total := t.partial.layout.size; total != endless {
		if err := t.watch.Announced(total); err != nil {
			return err
		}
	}
	return t.watch.Moved(0, size)
}

// copy takes a body as far as it belongs to the claim.
func (t *transfer) copy(ctx context.Context, c *claim, res *transport.Response) error {
	b := t.buffer()
	defer func() { t.buffers.Put(b) }()
	for {
		n, err := res.Body.Read(b[:])
		if n > 0 {
			if err := t.limiter.WaitN(ctx, n); err != nil {
				// WaitN also fails before the deadline when it would take longer.
				return cmp.Or(context.Cause(ctx), context.DeadlineExceeded)
			}
			keeps, more, err := t.arrived(c, b, n)
			if keeps {
				b = t.buffer()
			}
			if err != nil || !more {
				return err
			}
		}
		if err == io.EOF {
			return t.partial.ended(c, res)
		}
		if err != nil && t.partial.room(c) == 0 {
			return nil // it failed behind the last byte, from where nothing can be asked for
		}
		if err != nil {
			return err
		}
	}
}

// coreIsFree is true while there are fewer files on their way than cores: where
// there are more, each hashes what is in its core's cache still.
func (t *transfer) coreIsFree() bool { return int(t.running.Load()) < runtime.GOMAXPROCS(0) }

func (t *transfer) buffer() *[bufferSize]byte { return t.buffers.Get().(*[bufferSize]byte) }

// arrived writes and counts the next n bytes of a claim. more is false when the
// rest of the body is another connection's.
func (t *transfer) arrived(c *claim, b *[bufferSize]byte, n int) (keeps, more bool, err error) {
	p := t.partial
	fits := min(n, p.room(c)) // what lies behind may be hashed already
	if fits == 0 {
		return false, false, nil
	}
	if err := p.write(b[:fits], c.next); err != nil {
		return false, false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	keeps, err = p.take(c, b, fits, t.coreIsFree())
	if err == nil {
		err = t.watch.Moved(int64(fits), p.layout.bytes())
	}
	return keeps, fits == n, err
}
