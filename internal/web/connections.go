package web

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

// connections is a listener with a bound on open connections, which take file
// descriptors that a sync needs. When it is full, a new connection takes the place of
// the one that has waited longest for a request. So clients that send nothing, or that
// do not know the password, cannot keep others out.
type connections struct {
	net.Listener
	most int

	mu   sync.Mutex
	open []*connection // those that have waited longest come first
}

// connection is an open connection.
type connection struct {
	net.Conn
	of   *connections
	busy int // requests that a handler works on, guarded by of.mu
}

func (c *connections) Accept() (net.Conn, error) {
	for {
		accepted, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		conn := &connection{Conn: accepted, of: c}
		if c.add(conn) {
			return conn, nil
		}
		accepted.Close()
	}
}

// add is false when every open connection is busy.
func (c *connections) add(conn *connection) bool {
	c.mu.Lock()
	var replaced *connection
	if len(c.open) >= c.most {
		i := slices.IndexFunc(c.open, func(o *connection) bool { return o.busy == 0 })
		if i < 0 {
			c.mu.Unlock()
			return false
		}
		replaced = c.open[i]
		c.open = slices.Delete(c.open, i, i+1)
	}
	c.open = append(c.open, conn)
	c.mu.Unlock()
	if replaced != nil {
		replaced.Conn.Close()
	}
	return true
}

func (c *connection) Close() error {
	c.of.mu.Lock()
	c.removeLocked()
	c.of.mu.Unlock()
	return c.Conn.Close()
}

func (c *connection) removeLocked() {
	if i := slices.Index(c.of.open, c); i >= 0 {
		c.of.open = slices.Delete(c.of.open, i, i+1)
	}
}

// begin and end count the requests of a connection. After a request it waits anew.
func (c *connection) begin() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.busy++
}

func (c *connection) end() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.busy--
	if slices.Contains(c.of.open, c) {
		c.removeLocked()
		c.of.open = append(c.of.open, c)
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

// working marks the connection of a request as busy while next handles it.
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
