package transport

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// hostile is the server's side of an HTTP/2 connection. It ignores all errors, because
// the client closes the connection at any time.
type hostile struct {
	*http2.Framer
	net.Conn
}

// request reads frames until a request arrives and returns its stream.
func (h *hostile) request() uint32 {
	for {
		frame, err := h.ReadFrame()
		if err != nil {
			return 0
		}
		if frame.Header().Type == http2.FrameHeaders {
			return frame.Header().StreamID
		}
	}
}

func (h *hostile) headers(stream uint32, status string, end bool) error {
	return h.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block(status), EndHeaders: true, EndStream: end})
}

func block(status string) []byte {
	var b bytes.Buffer
	encoder := hpack.NewEncoder(&b)
	encoder.WriteField(hpack.HeaderField{Name: ":status", Value: status})
	return b.Bytes()
}

// drain reads what the client sends until it closes the connection.
func (h *hostile) drain() { io.Copy(io.Discard, h.Conn) }

// forever repeats a step until the client closes the connection.
func forever(step func() error) {
	for step() == nil {
		continue
	}
}

// attacks are what a hostile server does with a connection after the settings.
var attacks = map[string]func(h *hostile){
	"window overflow before the response": func(h *hostile) {
		stream := h.request()
		h.WriteWindowUpdate(stream, 1<<31-1)
		h.WriteWindowUpdate(stream, 1<<31-1)
		h.drain()
	},
	"window overflow within the body": func(h *hostile) {
		stream := h.request()
		h.headers(stream, "200", false)
		h.WriteData(stream, false, []byte("some"))
		h.WriteWindowUpdate(stream, 1<<31-1)
		h.WriteWindowUpdate(stream, 1<<31-1)
		h.drain()
	},
	"window overflow of the connection": func(h *hostile) {
		h.request()
		h.WriteWindowUpdate(0, 1<<31-1)
		h.WriteWindowUpdate(0, 1<<31-1)
		h.drain()
	},
	"window overflow by settings": func(h *hostile) {
		stream := h.request()
		h.WriteWindowUpdate(stream, 1<<31-1-65535)
		h.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
		h.drain()
	},
	"pings, never reads": func(h *hostile) {
		h.request()
		forever(func() error { return h.WritePing(false, [8]byte{1}) })
	},
	"pings within the body, never reads": func(h *hostile) {
		stream := h.request()
		h.headers(stream, "200", false)
		h.WriteData(stream, false, []byte("some"))
		forever(func() error { return h.WritePing(false, [8]byte{1}) })
	},
	"settings, never reads": func(h *hostile) {
		h.request()
		forever(func() error { return h.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 4096}) })
	},
	"settings and reads": func(h *hostile) {
		h.request()
		go h.drain()
		forever(func() error { return h.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1}) })
	},
	"headers that never end": func(h *hostile) {
		h.WriteHeaders(http2.HeadersFrameParam{StreamID: h.request(), BlockFragment: block("200")})
		h.drain()
	},
	"endless continuations": func(h *hostile) {
		stream := h.request()
		h.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block("200")})
		forever(func() error { return h.WriteContinuation(stream, false, nil) })
	},
	"endless informational responses": func(h *hostile) {
		stream := h.request()
		go h.drain()
		forever(func() error { return h.headers(stream, "103", false) })
	},
	"goodbye to every request": func(h *hostile) {
		h.request()
		h.WriteGoAway(0, http2.ErrCodeNo, nil)
		h.drain()
	},
	"goodbye within the body": func(h *hostile) {
		stream := h.request()
		h.headers(stream, "200", false)
		forever(func() error { return h.WriteGoAway(stream, http2.ErrCodeNo, nil) })
	},
	"refuses every stream": func(h *hostile) {
		for stream := h.request(); stream != 0; stream = h.request() {
			h.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
		}
	},
	"resets without end": func(h *hostile) {
		stream := h.request()
		go h.drain()
		forever(func() error { return h.WriteRSTStream(stream, http2.ErrCodeCancel) })
	},
	"no window for the request": func(h *hostile) {
		h.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		h.drain()
	},
	"no stream allowed": func(h *hostile) {
		h.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
		h.drain()
	},
	"body that hangs": func(h *hostile) {
		stream := h.request()
		h.headers(stream, "200", false)
		h.WriteData(stream, false, []byte("some"))
		h.drain()
	},
	"error body that hangs": func(h *hostile) {
		h.headers(h.request(), "503", false)
		forever(func() error { return h.WritePing(false, [8]byte{1}) })
	},
	"redirect body that hangs": func(h *hostile) {
		stream := h.request()
		var b bytes.Buffer
		encoder := hpack.NewEncoder(&b)
		for name, value := range map[string]string{":status": "302", "location": "/again", "content-length": "10"} {
			encoder.WriteField(hpack.HeaderField{Name: name, Value: value})
		}
		h.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: b.Bytes(), EndHeaders: true})
		forever(func() error { return h.WritePing(false, [8]byte{1}) })
	},
	"empty data without end": func(h *hostile) {
		stream := h.request()
		h.headers(stream, "200", false)
		go h.drain()
		forever(func() error { return h.WriteData(stream, false, nil) })
	},
	"data before headers": func(h *hostile) {
		h.WriteData(h.request(), false, []byte("some"))
		h.drain()
	},
	"data after the end": func(h *hostile) {
		stream := h.request()
		h.headers(stream, "200", true)
		go h.drain()
		forever(func() error { return h.WriteData(stream, false, make([]byte, 1000)) })
	},
	"push": func(h *hostile) {
		h.WritePushPromise(http2.PushPromiseParam{StreamID: h.request(), PromiseID: 2, BlockFragment: block("200"), EndHeaders: true})
		h.drain()
	},
	"silence": func(h *hostile) { h.drain() },
}

// peer is a server that never closes a connection by itself.
type peer struct {
	net.Listener
	open    atomic.Int64 // connections
	running sync.WaitGroup
}

// startPeer accepts connections until the test ends and gives each to serve.
func startPeer(t testing.TB, serve func(net.Conn)) *peer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &peer{Listener: listener}
	p.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.open.Add(1)
			p.running.Go(func() {
				defer p.open.Add(-1)
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(p.running.Wait)
	t.Cleanup(func() { listener.Close() })
	return p
}

// hostilePeer is an HTTP/2 server behind TLS that attacks on each connection.
func hostilePeer(t testing.TB, certificate tls.Certificate, attack func(*hostile)) *peer {
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}}
	return startPeer(t, func(raw net.Conn) {
		conn := tls.Server(raw, config)
		if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		framer := http2.NewFramer(conn, conn)
		framer.AllowIllegalReads, framer.AllowIllegalWrites = true, true
		framer.WriteSettings()
		attack(&hostile{framer, conn})
	})
}

// close closes the client, and shows that it keeps no connection to the peer.
func (p *peer) close(t *testing.T, c *Client) {
	t.Helper()
	within(t, "Close", c.Close)
	within(t, "a connection of a closed client", func() {
		for p.open.Load() > 0 {
			time.Sleep(time.Millisecond)
		}
	})
}

// front is a good HTTP/2 server that redirects to the server under /other.
type front struct {
	base, ca    string
	certificate tls.Certificate
	other       string
}

func newFront(t testing.TB) *front {
	f := &front{}
	server, ca := tlsServerWith(t, func(s *httptest.Server) { s.EnableHTTP2 = true }, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/other" {
			http.Redirect(w, r, f.other, http.StatusFound)
			return
		}
		io.WriteString(w, "good")
	})
	f.base, f.ca, f.certificate = server.URL, ca, server.TLS.Certificates[0]
	return f
}

func (f *front) client(t testing.TB, stall time.Duration) *Client {
	return newClient(t, f.base, func(cfg *Config) {
		cfg.CAFile, cfg.StallTimeout, cfg.Retry = f.ca, stall, quick
	})
}

var (
	toOther = Request{Endpoint: "Other", Segments: []string{"other"}, Limit: 1 << 20}
	toGood  = Request{Endpoint: "Good", Segments: []string{"good"}, Limit: 1 << 20}
)

// within fails the test at once when a call does not return. The limit only shows that
// it hangs.
func within(t *testing.T, what string, call func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		call()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s does not return", what)
	}
}

func assertGood(t *testing.T, c *Client) {
	t.Helper()
	within(t, "a request to a good server", func() {
		for range 3 { // a stall timeout of milliseconds also ends good requests
			if _, body, err := c.Do(t.Context(), toGood); err == nil && string(body) == "good" {
				return
			}
		}
		_, body, err := c.Do(t.Context(), toGood)
		if err != nil || string(body) != "good" {
			t.Errorf("%q, %v", body, err)
		}
	})
}

// leavesNothing fails a test that leaves goroutines behind.
func leavesNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

// attacked returns a client of a good server that redirects to a hostile one.
func attacked(t *testing.T, attack func(*hostile), stall time.Duration) (*Client, *peer) {
	leavesNothing(t)
	f := newFront(t)
	p := hostilePeer(t, f.certificate, attack)
	f.other = "https://" + p.Addr().String()
	return f.client(t, stall), p
}

func TestNoHTTP2PeerHoldsUpARequest(t *testing.T) {
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			c, p := attacked(t, attack, 5*soon)
			within(t, "the request", func() {
				_, body, err := c.Do(t.Context(), toOther)
				if err == nil && name != "data after the end" {
					t.Errorf("responded with %q", body)
				}
			})
			assertGood(t, c)
			p.close(t, c)
		})
	}
}

func TestNoHTTP2PeerHoldsUpACancelledDownload(t *testing.T) {
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			c, p := attacked(t, attack, 2*time.Second) // also limits blocked writes; the end of the context comes first
			stopped := errors.New("stopped")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(4*soon, func() { cancel(stopped) })
			within(t, "the download", func() {
				res, err := c.Open(ctx, toOther)
				if err != nil {
					return
				}
				io.Copy(io.Discard, res.Body)
				res.Body.Close()
			})
			assertGood(t, c)
			p.close(t, c)
		})
	}
}

func TestAPostWithoutAWindowEndsAtTheStallTimeout(t *testing.T) {
	f := newFront(t)
	f.base = "https://" + hostilePeer(t, f.certificate, attacks["no window for the request"]).Addr().String()
	// With a short retry budget, that could end first on a busy machine.
	c := newClient(t, f.base, func(cfg *Config) { cfg.CAFile, cfg.StallTimeout, cfg.Retry = f.ca, 5*soon, patient })
	within(t, "the request", func() {
		_, _, err := c.Do(t.Context(), Request{Endpoint: "E", Method: http.MethodPost, Body: make([]byte, 1<<20), Once: true, Limit: 1})
		if !errors.Is(err, errStalled) {
			t.Errorf("got %v", err)
		}
	})
}

// net/http does not find a connection again that said goodbye after its last request.
func TestCloseClosesAConnectionThatSaidGoodbye(t *testing.T) {
	f := newFront(t)
	ended, heard := make(chan struct{}), make(chan struct{})
	p := hostilePeer(t, f.certificate, func(h *hostile) {
		h.headers(h.request(), "200", true)
		<-ended
		h.WriteGoAway(1, http2.ErrCodeNo, nil)
		h.WritePing(false, [8]byte{1}) // the client answers after it read the goodbye
		for {
			frame, err := h.ReadFrame()
			if err != nil {
				return
			}
			if frame.Header().Type == http2.FramePing {
				close(heard)
			}
		}
	})
	f.base = "https://" + p.Addr().String()
	c := f.client(t, 20*time.Second)
	_, _, err := c.Do(t.Context(), toGood)
	must(t, err)
	close(ended)
	within(t, "the goodbye", func() { <-heard })
	p.close(t, c)
}

// net/http sends a request again on a new connection after a goodbye, without a pause and
// without an end.
func TestAServerThatSaysGoodbyeToEachRequestGetsPauses(t *testing.T) {
	leavesNothing(t)
	f := newFront(t)
	var connections atomic.Int64
	p := hostilePeer(t, f.certificate, func(h *hostile) {
		connections.Add(1)
		h.request()
		h.WriteGoAway(0, http2.ErrCodeNo, nil)
		h.drain()
	})
	f.base = "https://" + p.Addr().String()
	c := f.client(t, time.Minute)
	within(t, "the attempt", func() {
		if _, err := c.Open(t.Context(), toGood); !errors.Is(err, errNoneAnswers) || !IsTransient(err) {
			t.Errorf("%v", err)
		}
	})
	if n := connections.Load(); n > 2*maxFresh {
		t.Errorf("%d connections for one attempt", n)
	}
	p.close(t, c)
}

// A connection that answers pings, but no request, must not get the next request too.
func TestAStalledConnectionIsNotUsedAgain(t *testing.T) {
	f := newFront(t)
	connections := make(chan struct{}, 10)
	p := hostilePeer(t, f.certificate, func(h *hostile) {
		connections <- struct{}{}
		for {
			frame, err := h.ReadFrame()
			if err != nil {
				return
			}
			if ping, ok := frame.(*http2.PingFrame); ok {
				h.WritePing(true, ping.Data)
			}
		}
	})
	f.base = "https://" + p.Addr().String()
	c := f.client(t, 5*soon)
	for stalled := 0; stalled < 3; {
		within(t, "the request", func() {
			_, _, err := c.Do(t.Context(), toGood)
			if errors.Is(err, errStalled) || errors.Is(err, errTooSlow) { // other requests saw how the connection closes
				stalled++
			}
		})
	}
	if n := len(connections); n < 3 {
		t.Errorf("%d connections for 3 stalled requests", n)
	}
}

// hang is an http.RoundTripper that does not look at the context, as after a deadlock.
type hang chan struct{}

func (h hang) RoundTrip(*http.Request) (*http.Response, error) {
	<-h
	return nil, errors.New("released")
}

func TestARequestThatHangsInsideNetHTTPIsAbandoned(t *testing.T) {
	leavesNothing(t)
	f, hanging := newFront(t), make(hang)
	t.Cleanup(func() { close(hanging) })
	c := f.client(t, 5*soon)
	stuck := c.newTransport()
	stuck.RegisterProtocol("https", hanging)
	c.small.rt.Store(stuck)
	within(t, "the request", func() {
		if _, err := c.Open(t.Context(), toGood); !errors.Is(err, errStalled) {
			t.Errorf("got %v", err)
		}
	})
	assertGood(t, c)
}

func TestNoSilentPeerHoldsUpARequest(t *testing.T) {
	for name, serve := range map[string]func(net.Conn){
		"accepts and says nothing": func(conn net.Conn) { io.Copy(io.Discard, conn) },
		"handshake byte by byte": func(conn net.Conn) {
			go io.Copy(io.Discard, conn)
			for _, b := range []byte("\x16\x03\x03\x40\x00" + strings.Repeat("\x02", 1<<14)) {
				if _, err := conn.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(time.Millisecond)
			}
		},
	} {
		for _, scheme := range []string{"http", "https", "proxy"} {
			t.Run(name+" over "+scheme, func(t *testing.T) {
				leavesNothing(t)
				p := startPeer(t, serve)
				base := map[string]string{"proxy": "https://provider.invalid"}[scheme]
				c := newClient(t, cmp.Or(base, scheme+"://"+p.Addr().String()), func(cfg *Config) { cfg.StallTimeout, cfg.Retry = 5*soon, quick })
				if scheme == "proxy" {
					c.small.rt.Load().Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: p.Addr().String()})
				}
				within(t, "the request", func() {
					if _, _, err := c.Do(t.Context(), toGood); err == nil {
						t.Error("no error")
					}
				})
				p.close(t, c)
			})
		}
	}
}
