package transport

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// countingServer responds by path and counts its connections.
func countingServer(t *testing.T) (base string, connections *atomic.Int64) {
	t.Helper()
	connections = new(atomic.Int64)
	text := strings.Repeat("x", 1000)
	server := serve(t, func(h http.Handler) *httptest.Server {
		s := httptest.NewUnstartedServer(h)
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				connections.Add(1)
			}
		}
		s.Start()
		return s
	}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			w.Header().Set("Location", "/file")
			w.WriteHeader(http.StatusFound)
		case "/chunked":
			w.Header().Set("Location", "/file")
			w.WriteHeader(http.StatusFound)
			_ = http.NewResponseController(w).Flush() // so that the response has no Content-Length
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
		case "/empty":
			return
		}
		io.WriteString(w, text)
	})
	return server.URL, connections
}

func TestConnectionsAreReusedAfterEveryResponse(t *testing.T) {
	base, connections := countingServer(t)
	c := newClient(t, base)
	for _, path := range []string{"file", "redirect", "chunked", "missing", "empty", "file"} {
		_, _, err := c.Do(t.Context(), Request{Endpoint: "E", Segments: []string{path}, Limit: 1000})
		if (err != nil) != (path == "missing") {
			t.Errorf("%s: %v", path, err)
		}
		if n := connections.Load(); n != 1 {
			t.Fatalf("%s: %d connections", path, n)
		}
	}
}

func TestConnectionsAreReusedUnderLoad(t *testing.T) {
	base, connections := countingServer(t)
	c := newClient(t, base)
	const requests = 60
	var workers sync.WaitGroup
	for range idlePerHost {
		workers.Go(func() {
			for i := range requests {
				path := []string{"file", "redirect", "missing"}[i%3]
				if _, _, err := c.Do(t.Context(), Request{Endpoint: "E", Segments: []string{path}, Limit: 1000}); (err != nil) != (path == "missing") {
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
	workers.Wait()
	if n := connections.Load(); n > 4*idlePerHost {
		t.Errorf("%d connections for %d requests, %d at once", n, requests*idlePerHost, idlePerHost)
	}
}

// A redirect with an endless body costs its connection, but no time.
func TestTheBodyOfARedirectDelaysNothing(t *testing.T) {
	base := rawServer(t, "HTTP/1.1 302 Found\r\nContent-Length: 1000\r\nUpgrade: none\r\nLocation: https://127.0.0.1:1/file\r\n\r\nxx")
	c := newClient(t, base, func(cfg *Config) { cfg.Retry = quick })
	begin := time.Now()
	_, _, err := c.Do(t.Context(), Request{Endpoint: "E", Limit: 1})
	if !IsTransient(err) || time.Since(begin) > 30*time.Second {
		t.Errorf("after %v: %v", time.Since(begin), err)
	}
}
