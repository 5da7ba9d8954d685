package transport

import (
	"cmp"
	"net"
	"runtime"
	"sync"
	"time"
)

// maxGathered bounds the bytes that wait to be sent on a connection.
const maxGathered = 64 << 10

// gathering is a connection whose writes return before their bytes are sent, if TLS begins on
// it. Requests that share a connection with HTTP/2 are written one by one, each under the lock
// of all. So those that come at once go to the kernel in one call. When it refuses bytes,
// the connection is closed, and so all its requests end.
type gathering struct {
	net.Conn

	mu      sync.Mutex // guards what follows; never held while sending
	taken   sync.Cond  // wakes writers that wait for room
	asked   bool       // there was a write
	direct  bool       // there is no TLS, so no request shares the connection
	sending bool       // a goroutine sends
	calling bool       // it waits for the kernel
	waiting []byte
	spare   []byte // memory of bytes that were sent
	err     error  // of an earlier write
}

func newGathering(c net.Conn) *gathering {
	g := &gathering{Conn: c}
	g.taken.L = &g.mu
	return g
}

// handshake is the first byte of a TLS connection.
const handshake = 0x16

func (g *gathering) Write(p []byte) (int, error) {
	g.mu.Lock()
	if !g.asked && len(p) > 0 {
		g.asked, g.direct = true, p[0] != handshake
	}
	if g.direct {
		g.mu.Unlock()
		return g.Conn.Write(p)
	}
	defer g.mu.Unlock()
	for g.err == nil && len(g.waiting) > 0 && len(g.waiting)+len(p) > maxGathered {
		g.taken.Wait()
	}
	if g.err != nil {
		return 0, g.err
	}
	g.waiting = append(g.waiting, p...)
	if !g.sending {
		g.sending = true
		go g.send()
	}
	return len(p), nil
}

// send sends what waits. First it lets others write that are ready to.
func (g *gathering) send() {
	for runtime.Gosched(); ; runtime.Gosched() {
		bytes := g.take()
		if len(bytes) == 0 {
			return
		}
		_, err := g.Conn.Write(bytes)
		if g.put(bytes, err); err != nil {
			g.Conn.Close()
			return
		}
	}
}

// take returns what waits. If there is nothing, the next write begins to send again.
func (g *gathering) take() (bytes []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	bytes, g.waiting, g.spare = g.waiting, g.spare, nil
	g.sending = len(bytes) > 0
	g.calling = g.sending
	g.taken.Broadcast()
	return bytes
}

// put takes the memory of bytes that were sent.
func (g *gathering) put(bytes []byte, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.spare, g.calling = bytes[:0], false
	if err != nil {
		g.err = cmp.Or(g.err, err)
		g.taken.Broadcast()
	}
}

// goodbyeTimeout is how long Close waits for a server that does not read.
const goodbyeTimeout = 50 * time.Millisecond

// Close closes the connection. It sends what waits, such as the goodbye of TLS, if the kernel
// takes it at once.
func (g *gathering) Close() error {
	g.mu.Lock()
	bytes := g.waiting
	if g.calling || g.err != nil {
		bytes = nil
	}
	g.waiting, g.err = nil, cmp.Or(g.err, net.ErrClosed)
	g.taken.Broadcast()
	g.mu.Unlock()
	if len(bytes) > 0 {
		end := time.AfterFunc(goodbyeTimeout, func() { g.Conn.Close() })
		defer end.Stop()
		_, _ = g.Conn.Write(bytes) // the server notices the end all the same
	}
	return g.Conn.Close()
}
