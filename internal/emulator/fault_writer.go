package emulator

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"
)

// cutter sends left bytes of the body, calls end, and aborts. The headers are those
// of the normal answer, with the length of the whole body.
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

// throttle sends the body at a rate, in pieces of 20 ms.
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
		_ = http.NewResponseController(t.ResponseWriter).Flush() // the next write returns the error
		if !pause(t.ctx, time.Duration(k)*time.Second/time.Duration(t.rate)) {
			panic(http.ErrAbortHandler)
		}
	}
	return len(p), nil
}
