package emulator

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"
)

// inject answers a request of the caller id the way the fault wants it. w is the
// recorder, so that the log tells what was really sent.
func (e *Emulator) inject(f Fault, id string, w http.ResponseWriter, r *http.Request, next http.Handler) {
	switch f.Kind {
	case KindStatus, KindRedirect, KindBody, KindShape:
		answerFault(f, id, w, r)
	case KindDelay:
		if !pause(r.Context(), f.Delay) {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	case KindReset:
		if f.After == 0 {
			e.reset(w)
			return
		}
		next.ServeHTTP(&cutter{ResponseWriter: w, left: f.After, end: func() { e.reset(w) }}, r)
	case KindTruncate:
		next.ServeHTTP(&cutter{ResponseWriter: w, left: f.After, end: func() {}}, r)
	case KindStall:
		next.ServeHTTP(&cutter{ResponseWriter: w, left: f.After, end: func() { <-r.Context().Done() }}, r)
	case KindCorrupt:
		next.ServeHTTP(&corrupter{ResponseWriter: w, at: f.After}, r)
	case KindSlow:
		next.ServeHTTP(&throttle{ResponseWriter: w, ctx: r.Context(), rate: f.Rate}, r)
	default:
		e.editHeaders(f, w, r, next)
	}
}

// reset ends the connection with a TCP reset, once the client's host has what
// was sent before: a reset throws away what is still on its way.
func (e *Emulator) reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if c, ok := conn.(*tls.Conn); ok {
		conn = c.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		e.drain(tcp)
		_ = tcp.SetLinger(0) // then it is a plain close
	}
	_ = conn.Close()
}

// drain waits until the other side has acknowledged all bytes. The limit is for
// a client that stopped reading for good.
func (e *Emulator) drain(c *net.TCPConn) {
	ctx, cancel := context.WithTimeout(e.ctx, 10*time.Second)
	defer cancel()
	for unsent(c) > 0 && pause(ctx, time.Millisecond) {
	}
}

// pause waits for d and returns whether ctx allowed all of it.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// cutter lets left bytes of the body through, calls end, and aborts. The
// headers, with the length of the whole, are those of the usual answer.
type cutter struct {
	http.ResponseWriter
	left int64
	end  func()
}

func (c *cutter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *cutter) Write(p []byte) (int, error) {
	if int64(len(p)) <= c.left {
		n, err := c.ResponseWriter.Write(p)
		c.left -= int64(n)
		return n, err
	}
	if c.left > 0 {
		_, _ = c.ResponseWriter.Write(p[:c.left]) // aborted anyway
	}
	_ = http.NewResponseController(c.ResponseWriter).Flush()
	c.end()
	panic(http.ErrAbortHandler)
}

// corrupter flips a bit of the byte at an offset of the whole content.
type corrupter struct {
	http.ResponseWriter
	at  int64
	pos int64 // offset of the next byte
}

func (c *corrupter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *corrupter) WriteHeader(status int) {
	var first, last int64
	if n, _ := fmt.Sscanf(c.Header().Get("Content-Range"), "bytes %d-%d/", &first, &last); n == 2 {
		c.pos = first
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *corrupter) Write(p []byte) (int, error) {
	if i := c.at - c.pos; i >= 0 && i < int64(len(p)) {
		p = bytes.Clone(p)
		p[i] ^= 1
	}
	n, err := c.ResponseWriter.Write(p)
	c.pos += int64(n)
	return n, err
}

// throttle sends the body at a rate, in pieces of a fiftieth of a second.
type throttle struct {
	http.ResponseWriter
	ctx  context.Context //nolint:containedctx // of this one request
	rate int64
}

func (t *throttle) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *throttle) Write(p []byte) (int, error) {
	piece := int(max(t.rate/50, 1))
	for sent := 0; sent < len(p); {
		k := min(piece, len(p)-sent)
		n, err := t.ResponseWriter.Write(p[sent : sent+k])
		sent += n
		if err != nil {
			return sent, err
		}
		_ = http.NewResponseController(t.ResponseWriter).Flush() // a fault shows at the next write
		if !pause(t.ctx, time.Duration(k)*time.Second/time.Duration(t.rate)) {
			panic(http.ErrAbortHandler)
		}
	}
	return len(p), nil
}

// editHeaders serves as usual but for some headers. The request that next sees
// lacks the headers that a server of that kind would not heed.
func (e *Emulator) editHeaders(f Fault, w http.ResponseWriter, r *http.Request, next http.Handler) {
	edited := &headerEditor{ResponseWriter: w}
	var ignored []string
	switch f.Kind {
	case KindNoRanges:
		ignored = []string{"Range", "If-Range"}
		edited.edit = func(h http.Header) { h.Del("Accept-Ranges") }
	case KindNoValidators:
		ignored = ignoredConditions(r)
		edited.edit = func(h http.Header) {
			h.Del("ETag")
			h.Del("Last-Modified")
		}
	case KindNoLength:
		edited.flush = true
		edited.edit = func(h http.Header) { h.Del("Content-Length") }
	case KindChangeETag:
		ignored = ignoredConditions(r)
		etag := fmt.Sprintf(`"changed-%d"`, e.etags.Add(1))
		edited.edit = func(h http.Header) { h.Set("ETag", etag) }
	case KindBadRange:
		edited.edit = shiftRange
	}
	r = r.Clone(r.Context()) // the log keeps the headers as they came
	for _, name := range ignored {
		r.Header.Del(name)
	}
	next.ServeHTTP(edited, r)
}

// ignoredConditions are the headers that cannot hold where the validator is
// gone or new; a range under If-Range then becomes the whole.
func ignoredConditions(r *http.Request) []string {
	names := []string{"If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range"}
	if r.Header.Get("If-Range") != "" {
		names = append(names, "Range")
	}
	return names
}

// shiftRange moves a Content-Range one byte on.
func shiftRange(h http.Header) {
	var first, last, size int64
	if n, _ := fmt.Sscanf(h.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &size); n == 3 {
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first+1, last+1, size))
	}
}

// headerEditor changes the headers at the last moment.
type headerEditor struct {
	http.ResponseWriter
	edit  func(http.Header)
	flush bool // send them at once, before net/http can work out a length
}

func (w *headerEditor) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *headerEditor) WriteHeader(status int) {
	w.edit(w.Header())
	w.ResponseWriter.WriteHeader(status)
	if w.flush {
		_ = http.NewResponseController(w.ResponseWriter).Flush()
	}
}
