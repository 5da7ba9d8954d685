//go:build linux

package httpserver

import (
	"container/list"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
)

// connections is a listener with a bound on open connections, which take file
// descriptors that a sync needs. When it is full, a new connection takes the place of
// the one that has waited longest for a request. So clients that send nothing, or that
// do not know the password, cannot keep others out. perAddress bounds the connections of one
// address in the same way, so that one host cannot take the places of all others.
type connections struct {
	net.Listener
	most       int
	perAddress int // 0 for no bound

	mu      sync.Mutex
	open    int
	waiting list.List                // those without a request; who has waited longest comes first
	hosts   map[netip.Prefix]*places // of addresses with open connections
}

// places are the connections of one address.
type places struct {
	open    int
	waiting list.List
}

// connection is an open connection.
type connection struct {
	net.Conn
	of   *connections
	host netip.Prefix

	// The following are guarded by of.mu.
	closed         bool
	among, amongIt *list.Element // in the waiting of all and of the address; nil while a handler works on a request
}

func (c *connections) Accept() (net.Conn, error) {
	for {
		accepted, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		conn := &connection{Conn: accepted, of: c, host: hostOf(accepted.RemoteAddr())}
		replaced, ok := c.add(conn)
		if replaced != nil {
			replaced.Conn.Close()
		}
		if ok {
			return conn, nil
		}
		accepted.Close()
	}
}

// hostOf is the address of a client. A host with IPv6 has a whole network of them.
func hostOf(client net.Addr) netip.Prefix {
	tcp, ok := client.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	return prefixOf(tcp.AddrPort().Addr())
}

func prefixOf(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	host, _ := address.Prefix(bits) // bits fit the address
	return host
}

// add is false when the bound is reached and every connection has a request. The caller
// closes the connection that was replaced.
func (c *connections) add(conn *connection) (replaced *connection, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.hosts[conn.host]
	switch {
	case c.perAddress > 0 && own != nil && own.open >= c.perAddress:
		replaced = firstOf(&own.waiting)
	case c.open >= c.most:
		replaced = firstOf(&c.waiting)
	default:
		c.admitLocked(conn)
		return nil, true
	}
	if replaced == nil {
		return nil, false
	}
	c.removeLocked(replaced)
	c.admitLocked(conn)
	return replaced, true
}

func firstOf(waiting *list.List) *connection {
	if first := waiting.Front(); first != nil {
		return first.Value.(*connection)
	}
	return nil
}

func (c *connections) admitLocked(conn *connection) {
	if c.hosts == nil {
		c.hosts = map[netip.Prefix]*places{}
	}
	if c.hosts[conn.host] == nil {
		c.hosts[conn.host] = &places{}
	}
	c.open++
	c.hosts[conn.host].open++
	c.waitLocked(conn)
}

func (c *connections) waitLocked(conn *connection) {
	conn.among, conn.amongIt = c.waiting.PushBack(conn), c.hosts[conn.host].waiting.PushBack(conn)
}

func (c *connections) workLocked(conn *connection) {
	if conn.among != nil {
		c.waiting.Remove(conn.among)
		c.hosts[conn.host].waiting.Remove(conn.amongIt)
		conn.among, conn.amongIt = nil, nil
	}
}

func (c *connections) removeLocked(conn *connection) {
	if conn.closed {
		return
	}
	c.workLocked(conn)
	conn.closed = true
	c.open--
	own := c.hosts[conn.host]
	if own.open--; own.open == 0 {
		delete(c.hosts, conn.host)
	}
}

func (c *connection) Close() error {
	c.of.mu.Lock()
	c.of.removeLocked(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// ReadFrom lets net/http send files by sendfile, which a wrapper without it prevents.
func (c *connection) ReadFrom(src io.Reader) (n int64, err error) {
	if to, ok := c.Conn.(io.ReaderFrom); ok {
		n, err = to.ReadFrom(src)
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
	if tcp, ok := c.Conn.(*net.TCPConn); ok && errors.Is(err, os.ErrDeadlineExceeded) {
		_ = tcp.SetLinger(0) // the connection is closed all the same
	}
	return err
}

// begin and end say whether a handler works on a request of the connection. After each
// request, the connection waits for the next.
func (c *connection) begin() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.workLocked(c)
}

func (c *connection) end() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if !c.closed && c.among == nil {
		c.of.waitLocked(c)
	}
}

type connectionKey struct{}

// remember keeps a connection in the context of its requests.
func (c *connections) remember(ctx context.Context, conn net.Conn) context.Context {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		conn = secure.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

// working marks the connection of a request as busy while next handles it. The server
// speaks HTTP/1.1, so a connection has one request at a time.
func (c *connections) working(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			conn.begin()
			defer conn.end()
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
