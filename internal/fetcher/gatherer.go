package fetcher

import (
	"io"
	"sync"
	"time"

	"syncd/internal/disk/directio"
)

// gatherTime bounds how long bytes wait in memory for more of them, so that a kill loses
// little and progress is shown.
const gatherTime = 20 * time.Millisecond

// gatherer fills buffers from a body, while the connection stores earlier ones. A single
// read brings 16 KiB at most over TLS, too few to write and hash by themselves.
type gatherer struct {
	body    io.Reader
	buffers *bufferPool
	most    func() int // bytes in a buffer
	full    chan gathered
	quit    chan struct{}
	ended   chan struct{} // closed after the last read
	timer   *time.Timer

	// The reading goroutine owns these fields.
	isFast bool

	mu     sync.Mutex // guards the fields below; held for moments
	buffer *buffer    // being filled; nil between two
	taken  int        // bytes of buffer that next has returned already
	at     int64      // the place in the file of buffer's first byte
}

// gathered are the last bytes of a buffer, and the error of the read after them.
type gathered struct {
	buffer *buffer
	err    error
}

// gather begins to read a body whose first byte belongs at an offset of the file.
func gather(body io.Reader, buffers *bufferPool, most func() int, at int64) *gatherer {
	g := &gatherer{
		body: body, buffers: buffers, most: most, at: at,
		full: make(chan gathered), quit: make(chan struct{}), ended: make(chan struct{}),
		timer: time.NewTimer(gatherTime),
	}
	go g.run()
	return g
}

// next waits for a full buffer or, for gatherTime at most, for less. It is called by one
// goroutine, and not again after an error.
func (g *gatherer) next() (*buffer, error) {
	for {
		select {
		case got := <-g.full:
			g.timer.Reset(gatherTime)
			return got.buffer, got.err
		case <-g.timer.C:
			g.timer.Reset(gatherTime)
			if b := g.cut(); b != nil {
				return b, nil
			}
		}
	}
}

// stop returns when the reading has ended. The caller has cancelled the response.
func (g *gatherer) stop() {
	g.timer.Stop()
	close(g.quit)
	<-g.ended
}

func (g *gatherer) run() {
	defer close(g.ended)
	for {
		b, err := g.fill()
		select {
		case g.full <- gathered{b, err}:
		case <-g.quit:
			g.buffers.put(b)
			return
		}
		if err != nil {
			return
		}
	}
}

// fill reads until a buffer is full, the body ends or the reading has to stop. It returns
// the bytes that cut left.
func (g *gatherer) fill() (*buffer, error) {
	began := time.Now()
	room := g.begin()
	for read := 0; ; {
		n, err := g.body.Read(room[read:])
		read += n
		if b := g.extend(read, err != nil || read == len(room) || g.isStopped()); b != nil {
			// A connection that is slow, or has just begun, does with small buffers.
			g.isFast = int64(time.Since(began))*smallBuffer <= int64(gatherTime)*int64(read)
			return b, err
		}
	}
}

func (g *gatherer) isStopped() bool {
	select {
	case <-g.quit:
		return true
	default:
		return false
	}
}

// begin takes a new buffer and returns its room.
func (g *gatherer) begin() []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.buffer, g.taken = g.buffers.get(g.isFast, g.at), 0
	return g.buffer.data[:min(cap(g.buffer.data), g.most())]
}

// extend notes that the buffer holds n bytes. If these are its last ones, extend returns
// what cut left of them.
func (g *gatherer) extend(n int, isLast bool) *buffer {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.buffer
	b.data = b.data[:n]
	if !isLast {
		return nil
	}
	g.at += int64(n)
	b.data = b.data[g.taken:]
	g.buffer = nil
	return b
}

// cut returns a copy of the bytes that have arrived by now, or nil without any. It leaves
// the part of a block at their end for later, unless there is no more.
func (g *gatherer) cut() *buffer {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.buffer == nil || len(g.buffer.data) == g.taken {
		return nil
	}
	at := g.at + int64(g.taken)
	rest := g.buffer.data[g.taken:]
	if part := int((at + int64(len(rest))) % directio.Block); part < len(rest) {
		rest = rest[:len(rest)-part]
	}
	b := g.buffers.get(len(rest) > smallBuffer-directio.Block, at)
	b.data = append(b.data, rest[:min(len(rest), cap(b.data))]...)
	g.taken += len(b.data)
	return b
}
