package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"time"
)

// newTransport returns a transport for HTTP/1.1.
//
// HTTP/2 comes from golang.org/x/net: in net/http of Go 1.26, a server that overflows
// the window of a stream locks the client up for good.
func (c *Client) newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            c.dial,
		TLSClientConfig:        &tls.Config{RootCAs: c.roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connectTimeout,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        keepIdle,
		MaxResponseHeaderBytes: maxHeader,
		ReadBufferSize:         readBuffer,
	}
}

func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: connectTimeout}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &connection{conn, min(writeTimeout, c.cfg.StallTimeout)}, nil
}

// connection closes itself when a write moves no byte for the timeout: a server that
// does not read would also block the next write, such as the alert that closes TLS.
type connection struct {
	net.Conn
	timeout time.Duration
}

func (c *connection) Write(p []byte) (n int, err error) {
	for {
		if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
			return n, err
		}
		m, err := c.Conn.Write(p[n:])
		n += m
		switch {
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return n, err
		case m == 0:
			c.Close()
			return n, err
		}
	}
}

// belowTLS returns the connection that carries conn. Closing a *tls.Conn would send an
// alert first.
func belowTLS(conn net.Conn) net.Conn {
	for {
		secure, ok := conn.(*tls.Conn)
		if !ok {
			return conn
		}
		conn = secure.NetConn()
	}
}

// roundTrip is http.Transport.RoundTrip under a watch. It returns soon after the context
// ended, even when RoundTrip does not.
func (c *Client) roundTrip(request *http.Request, watch *stallWatch) (*http.Response, error) {
	type result struct {
		answer *http.Response
		err    error
	}
	rt, done := c.rt.Load(), make(chan result, 1)
	watch.resume()
	defer watch.pause()
	go func() {
		answer, err := rt.RoundTrip(request) //nolint:bodyclose // the receiver of the result closes the body
		done <- result{answer, err}
	}()
	select {
	case r := <-done:
		return r.answer, r.err
	case <-watch.ctx.Done():
	}
	select {
	case r := <-done:
		return r.answer, r.err
	case <-time.After(2 * grace): // the watch closed the connection meanwhile
	}
	c.replace(rt)
	go func() {
		if r := <-done; r.err == nil {
			r.answer.Body.Close()
		}
	}()
	return nil, context.Cause(watch.ctx)
}

// replace takes a transport out of use in which a request hangs, because its locks may
// never be free again. The next one does without HTTP/2, where requests share locks.
func (c *Client) replace(rt *http.Transport) {
	if c.rt.CompareAndSwap(rt, c.newTransport()) {
		go rt.CloseIdleConnections()
	}
}

// Close closes idle connections. It does not wait for a server.
func (c *Client) Close() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		c.rt.Load().CloseIdleConnections()
	}()
	select {
	case <-closed:
	case <-time.After(grace):
	}
}
