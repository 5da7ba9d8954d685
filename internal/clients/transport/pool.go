package transport

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
)

// The windows of HTTP/2 bound the bytes that a server may send before they are read:
// streamWindow of each response, connectionWindow of all those on a connection.
//
// Small files have up to 1 MiB. With a round trip of 50 ms and 64 of them at once, 60
// take one round trip, and two with half the stream's window. 600 take 11, which 32 MiB
// for the connection would make 10, and 8 MiB 14.
const (
	streamWindow     = 1 << 20
	connectionWindow = 16 << 20
)

// noTable leaves no room for a header in a table of HPACK; 0 stands for a default.
const noTable = 1

// pool is the connections for one kind of body. Safe for concurrent use.
type pool struct {
	rt atomic.Pointer[http.Transport]
}

// poolFor returns the connections for a request. Long bodies get connections of their
// own, with HTTP/1.1: on a shared one they share its rate, which a server may limit, and
// a frame of HTTP/2 costs more time than it saves. Plain http has only HTTP/1.1.
func (c *Client) poolFor(req *Request, target *url.URL) *pool {
	if req.Bulk && target.Scheme == "https" {
		return &c.bulk
	}
	return &c.small
}

// newHTTP2Transport returns a transport for HTTP/2, and for HTTP/1.1 where the server
// does not offer it.
//
// HTTP/2 comes from golang.org/x/net: in net/http of Go 1.26, a server that overflows
// the window of a stream locks the client up for good.
func (c *Client) newHTTP2Transport() (*http.Transport, error) {
	rt := c.newTransport()
	rt.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := c.dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return newGathering(conn), nil
	}
	rt.HTTP2 = &http.HTTP2Config{
		MaxReceiveBufferPerStream: streamWindow, MaxReceiveBufferPerConnection: connectionWindow,
		// Nearly all headers differ between requests. Keeping them to compress later ones
		// costs a sixth of the CPU time of a request, and would keep the Customer ID.
		MaxEncoderHeaderTableSize: noTable, MaxDecoderHeaderTableSize: noTable,
	}
	_, err := http2.ConfigureTransports(rt) //nolint:staticcheck // deprecated for net/http's own, see above
	return rt, err
}

// refusesHTTP1 is true for the TLS alert of a server that has no HTTP/1.1. The connection
// carried no request yet. crypto/tls has no type for it.
func refusesHTTP1(err error) bool {
	var alert *net.OpError
	return errors.As(err, &alert) && alert.Op == "remote error" && alert.Err.Error() == "tls: no application protocol"
}

// replace takes a transport out of use in which a request hangs, because its locks may
// never be free again. The next one does without HTTP/2, where requests share locks.
func (p *pool) replace(hung, next *http.Transport) {
	if p.rt.CompareAndSwap(hung, next) {
		go hung.CloseIdleConnections()
	}
}

// Close closes all connections: requests that still run fail, and so do later ones. It
// does not wait for a server.
//
// Closing the idle ones of net/http first says goodbye to their servers, but does not find
// all: a connection that a server takes out of use (GOAWAY) after the last request ended
// is in no pool any more.
func (c *Client) Close() {
	defer c.conns.close()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		var both sync.WaitGroup
		for _, p := range []*pool{&c.small, &c.bulk} {
			both.Go(func() { p.rt.Load().CloseIdleConnections() })
		}
		both.Wait()
	}()
	select {
	case <-closed:
	case <-time.After(grace):
	}
}
