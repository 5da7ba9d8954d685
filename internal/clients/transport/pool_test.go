package transport

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"golang.org/x/net/http2"
)

// TestLongBodiesGetConnectionsOfTheirOwn also follows a redirect, as downloads do.
func TestLongBodiesGetConnectionsOfTheirOwn(t *testing.T) {
	arrived, answer := make(chan struct{}, 8), make(chan struct{})
	server, ca := tlsServerWith(t, func(s *httptest.Server) { s.EnableHTTP2 = true }, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusFound)
			return
		}
		arrived <- struct{}{}
		<-answer // so that all requests are under way at once
		fmt.Fprintf(w, "%s from %s, ID %t", r.Proto, r.RemoteAddr, r.URL.Query().Get("id") == testID)
	})
	c := newClient(t, server.URL, func(cfg *Config) { cfg.CAFile = ca })
	for _, tt := range []struct {
		bulk        bool
		proto       string
		connections int
	}{{true, "HTTP/1.1", 4}, {false, "HTTP/2.0", 1}} {
		texts := make(chan string, 4)
		for range cap(texts) {
			go func() {
				_, body, err := c.Do(t.Context(), Request{Endpoint: "E", Segments: []string{"old"}, Limit: 100, Bulk: tt.bulk})
				texts <- fmt.Sprint(string(body), err)
			}()
		}
		for range cap(texts) {
			<-arrived
		}
		for range cap(texts) {
			answer <- struct{}{}
		}
		connections := map[string]bool{}
		for range cap(texts) {
			text := <-texts
			var from string
			if _, err := fmt.Sscanf(text, tt.proto+" from %s ID true<nil>", &from); err != nil {
				t.Errorf("bulk %t: %q", tt.bulk, text)
			}
			connections[from] = true
		}
		if len(connections) != tt.connections {
			t.Errorf("bulk %t: %d connections, want %d", tt.bulk, len(connections), tt.connections)
		}
	}
}

func TestALongBodyOverPlainHTTPReusesTheConnection(t *testing.T) {
	base, connections := countingServer(t)
	c := newClient(t, base)
	for _, bulk := range []bool{false, true, false} {
		if _, _, err := c.Do(t.Context(), Request{Endpoint: "E", Segments: []string{"file"}, Limit: 1000, Bulk: bulk}); err != nil {
			t.Error(err)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// A client that does not read in time keeps what the windows allow in memory.
func TestHTTP2WindowsBoundWhatAServerMaySend(t *testing.T) {
	const connectionDefault = 65535
	type windows struct{ stream, connection int64 }
	seen := make(chan windows, 1)
	f := newFront(t)
	p := hostilePeer(t, f.certificate, func(h *hostile) {
		got := windows{connection: connectionDefault}
		for {
			frame, err := h.ReadFrame()
			if err != nil {
				return
			}
			switch frame := frame.(type) {
			case *http2.SettingsFrame:
				if value, found := frame.Value(http2.SettingInitialWindowSize); found {
					got.stream = int64(value)
				}
			case *http2.WindowUpdateFrame:
				got.connection += int64(frame.Increment)
			case *http2.HeadersFrame:
				seen <- got
				h.headers(frame.StreamID, "200", true)
			}
		}
	})
	f.base = "https://" + p.Addr().String()
	c := f.client(t, 0)
	if _, _, err := c.Do(t.Context(), toGood); err != nil {
		t.Fatal(err)
	}
	got := <-seen
	if got.stream != streamWindow || got.connection > connectionWindow+connectionDefault || got.connection < got.stream {
		t.Errorf("a server may send %d bytes of a response, and %d over a connection", got.stream, got.connection)
	}
}

func TestALongBodyComesOverHTTP2FromAServerWithoutHTTP1(t *testing.T) {
	server, ca := tlsServerWith(t, func(s *httptest.Server) {
		s.EnableHTTP2 = true
		s.TLS = &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if slices.Contains(hello.SupportedProtos, "h2") {
				return nil, nil // the server's own
			}
			only := s.TLS.Clone()
			only.NextProtos = []string{"another"} // net/http lets clients of HTTP/1.1 in unless h2 is missing here
			return only, nil
		}}
	}, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) })
	c := newClient(t, server.URL, func(cfg *Config) { cfg.CAFile = ca })
	for range 2 {
		_, body, err := c.Do(t.Context(), Request{Endpoint: "E", Segments: []string{"x"}, Limit: 100, Bulk: true, Once: true})
		if err != nil || string(body) != "HTTP/2.0" {
			t.Errorf("%q, %v", body, err)
		}
	}
}
