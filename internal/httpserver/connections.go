//go:build linux

package httpserver

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"

	"golang.org/x/sys/unix"

	"syncd/internal/httpserver/accounts"
)

// connections is a listener whose open connections have places, because they take file
// descriptors that a sync needs.
type connections struct {
	net.Listener
	places *accounts.Places
}

// connection is an open connection.
type connection struct {
	net.Conn
	place *accounts.Place
}

func (c *connections) Accept() (net.Conn, error) {
	for {
		accepted, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		conn := &connection{Conn: accepted}
		if conn.place = c.places.Take(ownerOf(accepted.RemoteAddr()), conn.drop); conn.place == nil {
			accepted.Close()
			continue
		}
		limitBuffers(accepted, c.places.Open())
		return conn, nil
	}
}

func ownerOf(client net.Addr) accounts.Identity {
	tcp, ok := client.(*net.TCPAddr)
	if !ok {
		return accounts.Identity{}
	}
	return accounts.OfAddress(tcp.AddrPort().Addr())
}

// Limits of the kernel's memory for a connection. Clients that do not read would otherwise
// have it keep megabytes for each of their connections, until it has none for others.
const (
	receiveBuffer = 16 << 10 // requests are small
	allUnsent     = 32 << 20 // of all connections together, as long as leastUnsent allows it
	leastUnsent   = 32 << 10
	mostUnsent    = 4 << 20  // fewer wake-ups than with 1 MiB: half of the CPU
	crowd         = 256      // so many connections have a send buffer that grows with the distance
	crowdBuffer   = 64 << 10 // of each of the others
)

// limitBuffers bounds what the kernel keeps for a connection, the less the more connections
// there are.
func limitBuffers(conn net.Conn, open int) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	_ = tcp.SetReadBuffer(receiveBuffer) // without the limits it works, too
	if open > crowd {
		_ = tcp.SetWriteBuffer(crowdBuffer)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, min(max(allUnsent/open, leastUnsent), mostUnsent))
	})
}

// drop ends the connection at once, whatever the client has not taken yet.
func (c *connection) drop() {
	c.forgetUnsent()
	c.Conn.Close()
}

func (c *connection) Close() error {
	c.place.Leave()
	return c.Conn.Close()
}

// ReadFrom lets net/http send files by sendfile, which a wrapper without it prevents.
func (c *connection) ReadFrom(src io.Reader) (n int64, err error) {
	to, isTCP := c.Conn.(*net.TCPConn)
	if part, isPart := src.(*io.LimitedReader); isTCP && isPart {
		n, err = sendCached(to, part)
		if err != nil || part.N <= 0 {
			return n, c.giveUp(err)
		}
	}
	if isTCP {
		var rest int64
		rest, err = to.ReadFrom(src)
		n += rest
	} else {
		n, err = io.Copy(struct{ io.Writer }{c.Conn}, src)
	}
	return n, c.giveUp(err)
}

func (c *connection) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	return n, c.giveUp(err)
}

// giveUp makes the kernel drop what lies in its buffer when a client was too slow. It would
// hold megabytes until the client has taken them, long after the connection was closed.
func (c *connection) giveUp(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.forgetUnsent()
	}
	return err
}

func (c *connection) forgetUnsent() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // the connection is closed all the same
	}
}

// remember keeps the place of a connection in the context of its requests.
func (c *connections) remember(ctx context.Context, conn net.Conn) context.Context {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		conn = secure.NetConn()
	}
	if own, ok := conn.(*connection); ok {
		ctx = accounts.WithPlace(ctx, own.place)
	}
	return ctx
}

// working marks the connection of a request as busy while next handles it. The server
// speaks HTTP/1.1, so a connection has one request at a time.
func (c *connections) working(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if place := accounts.PlaceOf(r.Context()); place != nil {
			place.Begin()
			defer place.End()
		}
		next.ServeHTTP(w, r)
	})
}

// bounded refuses requests above a number at once. Health checks always pass: what
// slow clients and crowds do must not make syncd look dead.
func bounded(most int, next http.Handler) http.Handler {
	slots := make(chan struct{}, most)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			default:
				w.Header().Set("Retry-After", "1")
				http.Error(w, "too many requests at once", http.StatusServiceUnavailable)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
