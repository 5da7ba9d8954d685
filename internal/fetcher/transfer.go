package fetcher

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/manifest/refusal"
)

// transfer is one pass over the missing bytes of a download. It uses the main
// connection and, where that is faster, workers too.
type transfer struct {
	download *download
	partial  *partial // the download's
	segments int      // connections at most
	workers  *workers

	// pastCaches asks caches on the way for the server's bytes: theirs may be damaged.
	pastCaches bool

	// The main connection owns these fields.
	furthest  int64 // the most bytes that were present at once
	headway   headway
	continues bool // the last response was received to its end, so the next is no restart
}

// run returns when all bytes are present. They are not proven yet.
func (t *transfer) run(parent context.Context) error {
	f := t.download.fetcher
	if !t.download.isSmall {
		defer f.join(parent)()
	}
	f.running.Add(1)
	defer f.running.Add(-1)
	ctx, fail := context.WithCancelCause(parent)
	defer fail(nil)
	t.workers = newWorkers(t, fail)
	defer t.workers.stop()
	for {
		c := t.next(ctx)
		if c == nil {
			return context.Cause(ctx)
		}
		t.headway = headway{least: f.minRate, since: time.Now()}
		err := f.source.Retry(ctx, func(progress func()) error { return t.attempt(ctx, c, progress) })
		t.workers.release(c.segment)
		if err != nil {
			return err
		}
	}
}

// next returns the connection for the next segment. While workers fetch all that is
// missing it waits, because one of them may fail. It returns nil when all bytes are
// present or the context has ended.
func (t *transfer) next(ctx context.Context) *connection {
	for ctx.Err() == nil {
		c, othersPending := t.workers.assign()
		if c != nil {
			return &connection{transfer: t, segment: c}
		}
		if !othersPending {
			return nil
		}
		select {
		case <-t.workers.released:
		case <-ctx.Done():
		}
	}
	return nil
}

// attempt makes one request for a segment. It calls progress only if more bytes are
// present than ever before, and only if they came fast enough. Otherwise a server that
// always fails at the same place, or that drips, would be retried without end.
func (t *transfer) attempt(ctx context.Context, c *connection, progress func()) error {
	before := t.partial.size()
	c.limited = 0
	err := t.fetch(ctx, c)
	if err != nil {
		err = cmp.Or(t.download.notifier.arrived(0), err)
	}
	t.continues = err == nil
	t.headway.pause(c.limited)
	if size := t.partial.size(); size > t.furthest && size != before { // bytes of an earlier call don't count
		gained := size - t.furthest
		if size > before {
			gained = size - max(t.furthest, before)
		}
		t.furthest = size
		if t.headway.renews(gained) {
			progress()
		}
	}
	return err
}

// fetch requests a segment and receives its bytes. The segment grows to the whole file
// if the response contains the whole file.
func (t *transfer) fetch(ctx context.Context, c *connection) error {
	if err := t.open(ctx, c); err != nil {
		return err
	}
	defer c.close()
	if err := t.accept(c); err != nil {
		return err
	}
	if !t.continues {
		if err := t.download.notifier.started(); err != nil {
			return err
		}
	}
	if c.res.Received == nil { // one connection makes a content as fast as several
		t.workers.start(ctx)
	}
	return c.receive(ctx)
}

// open sends the request. If the server rejects the range (416), open requests the
// whole file instead.
func (t *transfer) open(ctx context.Context, c *connection) error {
	err := c.open(ctx)
	if failed, ok := errors.AsType[*transport.Error](err); ok && failed.Status == http.StatusRequestedRangeNotSatisfiable && t.partial.size() > 0 {
		if err := t.restart(c); err != nil {
			return err
		}
		return c.open(ctx)
	}
	return err
}

// accept checks the response, and prepares the segment and the partial file for its body.
func (t *transfer) accept(c *connection) error {
	if err := c.checkEncoding(); err != nil {
		return err
	}
	switch {
	case c.res.Status == http.StatusPartialContent && c.segment.requested != everything:
		return t.acceptRange(c)
	case c.res.Status != http.StatusOK:
		return refusal.New(refusal.BadShape, "unexpected status %d for a download", c.res.Status)
	}
	if t.partial.size() > 0 || t.workers.isStarted {
		if err := t.restart(c); err != nil {
			return err
		}
	}
	return t.partial.start(c.segment, c.res)
}

// acceptRange accepts a 206 with the requested range. After one with another range,
// the next attempt starts from zero.
func (t *transfer) acceptRange(c *connection) error {
	got, err := c.checkRange()
	if err == nil {
		if c.segment.requested.to == endless {
			t.partial.learnTotal(c.segment, got.end+1)
		}
		return nil
	}
	if restartErr := t.restart(c); restartErr != nil {
		return restartErr
	}
	return &transport.Error{Kind: transport.Transient, Endpoint: "Download", Status: c.res.Status, Err: err}
}

// restart empties the file, and extends the segment to the whole file.
func (t *transfer) restart(c *connection) error {
	t.workers.stop()
	t.continues = false
	err := t.partial.restart()
	t.partial.assignAll(c.segment)
	return err
}
