package web

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"syncd/internal/report"
)

// gated is a scene whose History blocks until the gate opens.
type gated struct {
	*scene
	gate chan struct{}

	mu      sync.Mutex
	entered int
}

func (g *gated) History(limit int) (report.History, error) {
	g.mu.Lock()
	g.entered++
	g.mu.Unlock()
	<-g.gate
	return g.scene.History(limit)
}

func TestPagesAreMadeOneAtATime(t *testing.T) {
	for _, path := range []string{"/", "/api/v1/history"} {
		synctest.Test(t, func(t *testing.T) {
			source := &gated{scene: scenes()["idle"], gate: make(chan struct{})}
			handler := handlerOf(source)
			for range 50 {
				go func() {
					if got := ask(handler, "GET", path, ""); got.Code != 200 {
						t.Errorf("%s: %d %s", path, got.Code, got.Body)
					}
				}()
			}
			synctest.Wait()
			gone, leave := context.WithCancel(t.Context())
			go handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil).WithContext(gone))
			synctest.Wait()
			leave()
			if source.entered != maxViews {
				t.Errorf("%s: %d responses made at once", path, source.entered)
			}
			for _, cheap := range []string{"/healthz", "/api/v1/status", "/assets/live.js"} {
				if got := ask(Handler(source.alive(), prometheus.NewRegistry()), "GET", cheap, ""); got.Code != 200 {
					t.Errorf("%s meanwhile: %d", cheap, got.Code)
				}
			}
			synctest.Wait()
			close(source.gate)
			synctest.Wait()
			if source.entered != 50 {
				t.Errorf("%s: %d of 50 responses made", path, source.entered)
			}
		})
	}
}

// living is a scene that is alive.
func (g *gated) alive() Source { return living{g} }

type living struct{ Source }

func (living) Alive() error { return nil }

func TestSyncRequestsAreRateLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scenes()["idle"]
		handler := handlerOf(s)
		post := func() *httptest.ResponseRecorder { return ask(handler, "POST", "/api/v1/sync", "") }
		for range 10_000 {
			post()
		}
		got := post()
		if got.Code != 429 || got.Header().Get("Retry-After") != "10" || len(s.wanted) != syncBurst {
			t.Errorf("%d %v, %d syncs requested", got.Code, got.Header(), len(s.wanted))
		}
		if got := ask(handler, "POST", "/api/v1/sync", "nonsense"); got.Code != 400 {
			t.Errorf("body that is not JSON: %d", got.Code)
		}
		time.Sleep(syncEvery)
		if got := post(); got.Code != 202 {
			t.Errorf("after the limit's interval: %d", got.Code)
		}
	})
}

// statusCounter is a Source that counts the calls of Status, which reads the disk.
type statusCounter struct {
	Source
	calls atomic.Int64
}

func (c *statusCounter) Status() (report.Status, error) {
	c.calls.Add(1)
	return c.Source.Status()
}

func TestPostsOverTheRateLimitReadNoStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &statusCounter{Source: scenes()["idle"]}
		handler := Handler(s, prometheus.NewRegistry())
		for range 10_000 {
			ask(handler, "POST", "/api/v1/sync", "")
		}
		if calls := s.calls.Load(); calls != syncBurst {
			t.Errorf("status was read %d times, want %d", calls, syncBurst)
		}
	})
}

// counting is a listener that counts its open connections.
type counting struct {
	net.Listener

	mu         sync.Mutex
	open, most int
}

func (c *counting) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
	c.most = max(c.most, c.open)
}

func (c *counting) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.add(1)
		return &counted{Conn: conn, of: c}, nil
	}
	return nil, err
}

type counted struct {
	net.Conn
	of   *counting
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.of.add(-1) })
	return c.Conn.Close()
}

func TestConnectionsLeaveDescriptorsForASync(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	listener := &counting{Listener: inner}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, listener, http.NotFoundHandler(), "", slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		cancel()
		must(t, <-done)
	})
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", inner.Addr().String())
		must(t, err)
		t.Cleanup(func() { conn.Close() })
		must(t, conn.SetDeadline(time.Now().Add(patience)))
		_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		must(t, err)
		return conn
	}
	answered := func(conn net.Conn) {
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || !strings.Contains(line, " 404 ") {
			t.Fatalf("%q, %v", line, err)
		}
	}
	var idle, waiting []net.Conn
	for range maxConnections {
		idle = append(idle, dial())
		answered(idle[len(idle)-1])
	}
	for range 20 {
		waiting = append(waiting, dial())
	}
	for i, conn := range waiting {
		idle[i].Close()
		answered(conn)
	}
	listener.mu.Lock()
	defer listener.mu.Unlock()
	if listener.most != maxConnections {
		t.Errorf("%d connections were open at once", listener.most)
	}
}
