package fetcher

import "sync"

// bufferSize bytes are read, written and hashed at a time.
const bufferSize = 256 << 10

// buffer holds bytes of a response body until they are on disk and hashed.
type buffer struct{ data []byte }

// bufferPool recycles buffers. Safe for concurrent use.
type bufferPool struct{ pool sync.Pool }

func newBufferPool() *bufferPool {
	return &bufferPool{pool: sync.Pool{New: func() any { return &buffer{data: make([]byte, 0, bufferSize)} }}}
}

func (p *bufferPool) get() *buffer { return p.pool.Get().(*buffer) }

func (p *bufferPool) put(b *buffer) { p.pool.Put(b) }
