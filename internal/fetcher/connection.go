package fetcher

import (
	"context"
	"io"
	"net/http"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/manifest/refusal"
)

// connection fetches one segment. It owns the segment and the body of the response. A
// retry of the segment opens the same connection again.
type connection struct {
	transfer *transfer
	segment  *segment
	res      *transport.Response // set by open
	cancel   context.CancelFunc  // ends the response; set by open
	gatherer *gatherer           // of a large body
	limited  time.Duration       // that the bandwidth limit cost the last receive
}

// open requests the bytes of the segment, without compression: a compressed body could
// not be continued.
func (c *connection) open(ctx context.Context) error {
	t := c.transfer
	header := http.Header{"Accept-Encoding": {"identity"}}
	requested := t.partial.request(c.segment)
	if condition := t.partial.validator.Condition; condition != "" && requested != everything {
		header.Set("Range", requested.String())
		header.Set("If-Range", condition)
	}
	ctx, c.cancel = context.WithCancel(ctx)
	sent := time.Now()
	if t.pastCaches {
		header.Set("Cache-Control", "no-cache")
	}
	res, err := t.download.fetcher.source.Download(ctx, t.download.file, header, !t.download.isSmall)
	if err != nil {
		c.cancel()
		return err
	}
	c.res = res
	t.workers.observeLatency(time.Since(sent))
	return nil
}

// close ends the response. If its body was read to the end, its TCP connection is free for
// the next request.
func (c *connection) close() {
	c.cancel()
	if c.gatherer != nil {
		c.gatherer.stop()
		c.gatherer = nil
	}
	c.res.Body.Close()
}

// checkEncoding refuses a response whose bytes are encoded and so differ from the file.
func (c *connection) checkEncoding() error {
	if encoding := c.res.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return refusal.New(refusal.BadShape, "download has Content-Encoding %.32q, but identity was requested", encoding)
	}
	return nil
}

// checkRange returns an error unless a 206 has the requested range of the same content.
func (c *connection) checkRange() (contentRange, error) {
	return c.transfer.partial.validator.checkRange(c.segment.requested, c.res)
}

// isRange returns whether the response is a 206 with the requested range.
func (c *connection) isRange() bool {
	if c.res.Status != http.StatusPartialContent || c.checkEncoding() != nil {
		return false
	}
	_, err := c.checkRange()
	return err == nil
}

// receive stores the bytes of the body that belong to the segment.
func (c *connection) receive(ctx context.Context) error {
	f, p := c.transfer.download.fetcher, c.transfer.partial
	body := bodyReader{next: c.reader(), received: c.res.Received, bandwidth: f.bandwidth}
	if c.res.Received == nil { // whoever makes a body sees how fast the network brings it
		body.pace = transport.Pace{Least: f.minRate, Endpoint: "Download"}
	}
	defer func() { c.limited = body.limited }()
	for {
		b, readErr := body.read(ctx)
		n := len(b.data)
		stored, err := p.store(c.segment, b, f.hasIdleCore())
		if err == nil && stored > 0 {
			came := stored
			if c.res.Received != nil {
				came = body.came
			}
			err = c.transfer.download.notifier.arrived(came)
		}
		switch {
		case err != nil || stored < n: // the rest belongs to another connection
			return err
		case readErr == io.EOF: //nolint:errorlint // a wrapped one is a failure
			return c.checkEnd()
		case readErr != nil && p.room(c.segment) == 0:
			return nil // all bytes are present; a request for none could not be retried
		case readErr != nil:
			return readErr
		}
	}
}

// reader returns the function that waits for the next bytes of the body.
func (c *connection) reader() func() (*buffer, error) {
	f, at := c.transfer.download.fetcher, c.segment.next
	if c.res.Length > SmallFile || c.res.Length < 0 && !c.transfer.download.isSmall {
		c.gatherer = gather(c.res.Body, f.buffers, f.bandwidth.Most, at)
		return c.gatherer.next
	}
	return func() (*buffer, error) {
		return readOnce(c.res.Body, f.buffers.get(false, c.segment.next), f.bandwidth.Most())
	}
}

// checkEnd returns a transient error if the body ended before the segment.
func (c *connection) checkEnd() error {
	if c.transfer.partial.endOfBody(c.segment) {
		return nil
	}
	return &transport.Error{Kind: transport.Transient, Endpoint: "Download", Status: c.res.Status, Err: io.ErrUnexpectedEOF}
}
