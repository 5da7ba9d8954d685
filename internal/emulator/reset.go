package emulator

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"syscall"
	"time"
	"unsafe"
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

// unsent asks the kernel how many bytes the client's host has not acknowledged.
func unsent(c *net.TCPConn) int {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	var n int32
	_ = raw.Control(func(fd uintptr) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCOUTQ, uintptr(unsafe.Pointer(&n))); errno != 0 {
			n = 0
		}
	}) // it fails on a closed connection, which has nothing to send
	return int(n)
}
