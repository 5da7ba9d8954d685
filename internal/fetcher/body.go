package fetcher

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/disk/directio"
	"syncd/internal/host/rate"
)

const (
	// smallBuffer is enough for a slow connection and for a small file.
	smallBuffer = 64 << 10
	// bufferSize is what a fast connection of a large file writes and hashes at a time.
	bufferSize = 1 << 20
	// maxLarge bounds the memory of large buffers. Beyond it, buffers are small.
	maxLarge = 16
)

// buffer holds bytes of a response body until they are on disk and hashed.
type buffer struct {
	memory []byte // begins at a multiple of directio.Block
	data   []byte // its bytes that are used
}

// place empties the buffer for bytes from an offset of the file on. It leaves room
// before them, so that the file's blocks are blocks of memory too.
func (b *buffer) place(at int64) {
	from := int(at % directio.Block)
	b.data = b.memory[from:from]
}

func (b *buffer) isLarge() bool { return len(b.memory) == bufferSize }

// bufferPool recycles buffers. Safe for concurrent use.
type bufferPool struct {
	small, large sync.Pool
	used         atomic.Int32 // large buffers in use
}

func newBufferPool() *bufferPool {
	p := &bufferPool{}
	p.small.New = func() any { return &buffer{memory: directio.Buffer(smallBuffer)} }
	p.large.New = func() any { return &buffer{memory: directio.Buffer(bufferSize)} }
	return p
}

// get returns an empty buffer for the bytes of a file from an offset on. It never waits.
func (p *bufferPool) get(isLarge bool, at int64) *buffer {
	pool := &p.small
	if isLarge {
		if p.used.Add(1) <= maxLarge {
			pool = &p.large
		} else {
			p.used.Add(-1)
		}
	}
	b := pool.Get().(*buffer)
	b.place(at)
	return b
}

func (p *bufferPool) put(b *buffer) {
	if b.isLarge() {
		p.used.Add(-1)
		p.large.Put(b)
		return
	}
	p.small.Put(b)
}

// bodyReader reads a response body into buffers, no faster than the bandwidth limit
// allows and no slower than the pace.
type bodyReader struct {
	next      func() (*buffer, error) // waits for the next bytes of the body
	received  func() int64            // as the response has it
	bandwidth *rate.Budget
	pace      transport.Pace
	limited   time.Duration // spent waiting for the bandwidth limit
	came      int           // bytes over the network, in the last read
}

// read returns the next bytes of the body. Like an io.Reader, it can return an error
// after it has read some bytes, and io.EOF at the end.
func (r *bodyReader) read(ctx context.Context) (*buffer, error) {
	asked := time.Now()
	b, err := r.next()
	arrived := time.Now()
	n := len(b.data)
	if slow := r.pace.Add(n, arrived.Sub(asked)); err == nil {
		err = slow
	}
	if r.came = n; r.received != nil {
		r.came = int(r.received())
	}
	if n == 0 {
		return b, err
	}
	limit := r.bandwidth.Wait(ctx, r.came)
	r.limited += time.Since(arrived)
	if limit != nil {
		b.data = b.data[:0]
		return b, limit
	}
	return b, err
}

// readOnce returns what one read of a body brings, most bytes of a file at most.
func readOnce(body io.Reader, b *buffer, most int) (*buffer, error) {
	n, err := body.Read(b.data[:min(cap(b.data), most)])
	b.data = b.data[:n]
	return b, err
}
