package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// newTransport returns a transport for HTTP/1.1.
func (c *Client) newTransport() *http.Transport {
	rt := &http.Transport{
		Proxy:                  c.proxyFor,
		OnProxyConnectResponse: checkProxy,
		DialContext:            c.dial,
		TLSClientConfig:        c.newTLSConfig(),
		TLSHandshakeTimeout:    connectTimeout,
		MaxIdleConnsPerHost:    idlePerHost,
		MaxIdleConns:           maxOpen,
		IdleConnTimeout:        keepIdle,
		MaxResponseHeaderBytes: maxHeader,
		ReadBufferSize:         readBuffer,
	}
	if c.cfg.Carrier != nil {
		rt.RegisterProtocol(c.cfg.Base.Scheme, c.cfg.Carrier)
	}
	return rt
}

func (c *Client) newTLSConfig() *tls.Config {
	config := &tls.Config{RootCAs: c.roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if c.own != nil {
		config.GetClientCertificate = c.certificateFor
	}
	return config
}

// atBase is the key of a context value: the request goes to the host of the base.
type atBase struct{}

// certificateFor returns the client's certificate for the host of the base, and an empty
// one for others: a redirect must not tell another host who the client is.
func (c *Client) certificateFor(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
	if own, _ := asked.Context().Value(atBase{}).(bool); own {
		return c.own, nil
	}
	return &tls.Certificate{}, nil
}

func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: connectTimeout}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	counted := &connection{Conn: conn, timeout: min(writeTimeout, c.cfg.StallTimeout), open: &c.conns}
	counted.moved.Store(time.Now().UnixNano())
	c.conns.add(counted)
	return counted, nil
}

// connection closes itself when a write moves no byte for the timeout: a server that
// does not read would also block the next write, such as the alert that closes TLS.
type connection struct {
	net.Conn
	timeout time.Duration
	open    *openConnections
	moved   atomic.Int64 // when it moved a byte last, in nanoseconds of Unix time
}

func (c *connection) Close() error {
	c.open.remove(c)
	return c.Conn.Close()
}

func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.moved.Store(time.Now().UnixNano())
	return n, err
}

func (c *connection) Write(p []byte) (n int, err error) {
	for {
		if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
			return n, err
		}
		m, err := c.Conn.Write(p[n:])
		c.moved.Store(time.Now().UnixNano())
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
func (c *Client) roundTrip(p *pool, request *http.Request, watch *stallWatch, wait func()) (*http.Response, error) {
	type result struct {
		answer *http.Response
		err    error
	}
	rt, done := p.rt.Load(), make(chan result, 1)
	wait()
	defer watch.pause()
	if request.URL.Scheme == "http" && c.cfg.Carrier == nil { // never HTTP/2, and net/http's HTTP/1.1 returns when the context ends
		return rt.RoundTrip(request)
	}
	go func() {
		answer, err := rt.RoundTrip(request) //nolint:bodyclose // the receiver of the result closes the body
		done <- result{answer, err}
	}()
	select {
	case r := <-done:
		return r.answer, r.err
	case <-watch.ctx.Done():
		watch.waitFor(grace)
	}
	select {
	case r := <-done:
		return r.answer, r.err
	case <-time.After(2 * grace): // the watch closed the connection meanwhile
	}
	p.replace(rt, c.newTransport())
	go func() {
		if r := <-done; r.err == nil {
			r.answer.Body.Close()
		}
		rt.CloseIdleConnections() // the connection went back to a pool that nobody uses any more
	}()
	return nil, context.Cause(watch.ctx)
}
