package transport

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// redirector serves each request from another of many addresses. open counts the
// connections to all of them.
func redirector(t *testing.T, addresses int, secure bool) (base, ca string, open *atomic.Int64) {
	t.Helper()
	open = new(atomic.Int64)
	targets := make([]string, addresses)
	edit := func(s *httptest.Server) {
		s.EnableHTTP2 = true
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				open.Add(1)
			case http.StateClosed:
				open.Add(-1)
			}
		}
	}
	answer := func(w http.ResponseWriter, r *http.Request) {
		number, isFirst := strings.CutPrefix(r.URL.Path, "/from/")
		if !isFirst {
			io.WriteString(w, "done")
			return
		}
		i, _ := strconv.Atoi(number)
		w.Header().Set("Location", targets[i]+"/to")
		w.WriteHeader(http.StatusFound)
	}
	var server *recorder
	if secure {
		server, ca = tlsServerWith(t, edit, answer)
	} else {
		server = serve(t, func(h http.Handler) *httptest.Server {
			s := httptest.NewUnstartedServer(h)
			edit(s)
			s.Start()
			return s
		}, answer)
	}
	scheme, _, _ := strings.Cut(server.URL, "://")
	var serving sync.WaitGroup
	t.Cleanup(serving.Wait)
	for i := range targets {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		targets[i] = fmt.Sprintf("%s://%s", scheme, listener.Addr())
		if secure {
			listener = tls.NewListener(listener, server.TLS)
		}
		serving.Go(func() { _ = server.Config.Serve(listener) }) // ends with the listener
		t.Cleanup(func() { listener.Close() })
	}
	return server.URL, ca, open
}

// Each address keeps its idle connections, so a server that redirects every request to
// another one would take all descriptors.
func TestRedirectsToManyAddressesKeepFewConnectionsOpen(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("https %t", secure), func(t *testing.T) {
			base, ca, open := redirector(t, maxOpen+50, secure)
			c := newClient(t, base, func(cfg *Config) { cfg.CAFile = ca })
			for i := range maxOpen + 50 {
				_, body, err := c.Do(t.Context(), Request{Endpoint: "E", Segments: []string{"from", strconv.Itoa(i)}, Limit: 100})
				if err != nil || string(body) != "done" {
					t.Fatalf("request %d: %q, %v", i, body, err)
				}
			}
			for limit := time.Now().Add(time.Minute); open.Load() > maxOpen; time.Sleep(time.Millisecond) {
				if time.Now().After(limit) {
					t.Fatalf("%d connections are open, want at most %d", open.Load(), maxOpen)
				}
			}
		})
	}
}
