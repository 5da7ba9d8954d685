package fetcher

import (
	"cmp"
	"context"
	"io"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// bufferSize bytes are read, written and hashed at a time; of a small file, smallBuffer
// bytes, because many of them are fetched at once.
const bufferSize, smallBuffer = 256 << 10, 64 << 10

// buffer holds bytes of a response body until they are on disk and hashed.
type buffer struct{ data []byte }

// bufferPool recycles buffers of one size. Safe for concurrent use.
type bufferPool struct {
	size int
	pool sync.Pool
}

func newBufferPool(size int) *bufferPool {
	return &bufferPool{size: size, pool: sync.Pool{New: func() any { return &buffer{data: make([]byte, 0, size)} }}}
}

func (p *bufferPool) get() *buffer { return p.pool.Get().(*buffer) }

func (p *bufferPool) put(b *buffer) { p.pool.Put(b) }

// bodyReader reads a response body into buffers, no faster than the limiter allows and
// no slower than the pace.
type bodyReader struct {
	body    io.Reader
	limiter *rate.Limiter
	pace    pace
	limited time.Duration // spent waiting for the limiter
}

// read replaces the bytes of b by the next ones of the body. Like an io.Reader, it can
// return an error after it has read some bytes, and io.EOF at the end.
func (r *bodyReader) read(ctx context.Context, b *buffer) error {
	asked := time.Now()
	n, err := r.body.Read(b.data[:min(r.most(), cap(b.data))])
	b.data = b.data[:n]
	arrived := time.Now()
	if slow := r.pace.add(n, arrived.Sub(asked)); err == nil {
		err = slow
	}
	if n == 0 {
		return err
	}
	limit := r.limiter.WaitN(ctx, n)
	r.limited += time.Since(arrived)
	if limit == nil {
		return err
	}
	b.data = b.data[:0]
	// WaitN also returns an error when the wait would end after the deadline.
	return cmp.Or(context.Cause(ctx), context.DeadlineExceeded)
}

// most is how many bytes one read may take: under a low limit no more than a second
// brings, so that bytes keep moving.
func (r *bodyReader) most() int {
	if r.limiter.Limit() == rate.Inf {
		return bufferSize
	}
	return r.limiter.Burst()
}
