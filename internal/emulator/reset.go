package emulator

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// reset ends the connection with a TCP reset, after the client's host has received
// the bytes sent before. A reset discards bytes that are still on their way.
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
		_ = tcp.SetLinger(0) // a failure makes it a normal close
	}
	_ = conn.Close()
}

// drain waits until the client's host has acknowledged all bytes, for at most 10 s:
// a client may have stopped reading.
func (e *Emulator) drain(c *net.TCPConn) {
	ctx, cancel := context.WithTimeout(e.ctx, 10*time.Second)
	defer cancel()
	for unsent(c) > 0 && pause(ctx, time.Millisecond) {
	}
}

// pause waits for d. It returns false when ctx ends first.
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
