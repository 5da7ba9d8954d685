package web

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
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
			if source.entered != 1 {
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

// stalled is a client that takes nothing until it is released.
type stalled struct {
	*httptest.ResponseRecorder
	release chan struct{}
}

func (s stalled) Write(b []byte) (int, error) {
	<-s.release
	return s.ResponseRecorder.Write(b)
}

func TestSlowClientsOfLongHistoriesHoldLittleMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := *scenes()["idle"]
		entry := source.history.Entries[0]
		entry.Manifests = slices.Clone(entry.Manifests)
		entry.Manifests[0].Error = strings.Repeat("x", maxUnsent/4)
		source.history.Entries = []report.HistoryView{entry}
		handler := handlerOf(&source)
		release := make(chan struct{})
		codes := make(chan int, 20)
		for range cap(codes) {
			go func() {
				client := stalled{httptest.NewRecorder(), release}
				handler.ServeHTTP(client, httptest.NewRequest("GET", "/api/v1/history", nil))
				codes <- client.Code
			}()
		}
		synctest.Wait()
		close(release)
		count := map[int]int{}
		for range cap(codes) {
			count[<-codes]++
		}
		if count[200] != 3 || count[503] != 17 {
			t.Errorf("responses %v", count)
		}
		if got := ask(handler, "GET", "/api/v1/history", ""); got.Code != 200 {
			t.Errorf("afterwards: %d", got.Code)
		}
	})
}

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
	go func() {
		done <- Serve(ctx, listener, http.NotFoundHandler(), Options{Log: slog.New(slog.DiscardHandler)})
	}()
	t.Cleanup(func() {
		cancel()
		must(t, <-done)
	})
	for range maxConnections + 100 { // each stays open after its response
		conn, err := net.Dial("tcp", inner.Addr().String())
		must(t, err)
		t.Cleanup(func() { conn.Close() })
		must(t, conn.SetDeadline(time.Now().Add(patience)))
		_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		must(t, err)
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || !strings.Contains(line, " 404 ") {
			t.Fatalf("%q, %v", line, err)
		}
	}
	listener.mu.Lock()
	defer listener.mu.Unlock()
	if listener.most > maxConnections+1 { // one is accepted before another is closed for it
		t.Errorf("%d connections were open at once", listener.most)
	}
}

func TestIdleConnectionsDoNotKeepHealthzFromAnswering(t *testing.T) {
	certificate := certificateFile(t)
	for name, config := range map[string]string{
		"plain":             "",
		"TLS":               "tls_server_config: {cert_file: " + certificate + ", key_file: " + certificate + "}\n",
		"TLS and passwords": "tls_server_config: {cert_file: " + certificate + ", key_file: " + certificate + "}\n" + basicAuth,
	} {
		for bytes, sent := range map[string]string{"nothing": "", "half a request": "GET / HTTP/1.1\r\n", "a request without a password": "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"} {
			t.Run(name+" "+bytes, func(t *testing.T) {
				base := strings.TrimPrefix(serve(t, open(t), webConfigFile(t, config)), "http://")
				secure := config != ""
				for range maxConnections + 150 {
					conn, err := net.Dial("tcp", base)
					must(t, err)
					t.Cleanup(func() { conn.Close() })
					_, err = io.WriteString(conn, sent)
					must(t, err)
				}
				scheme := "http://"
				if secure {
					scheme = "https://"
				}
				client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
				req, err := http.NewRequest("GET", scheme+base+"/healthz", nil)
				must(t, err)
				req.SetBasicAuth("alice", "secret")
				res, err := client.Do(req)
				must(t, err)
				res.Body.Close()
				if res.StatusCode != 200 {
					t.Errorf("status %d", res.StatusCode)
				}
			})
		}
	}
}

func TestRequestsThatNeverEndLeaveRoomForHealthz(t *testing.T) {
	wait := make(chan struct{})
	handler := bounded(2, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			<-wait
		}
	}))
	var requests sync.WaitGroup
	codes := make(chan int, 5)
	for range 5 {
		requests.Go(func() { codes <- ask(handler, "GET", "/", "").Code })
	}
	for range 3 {
		if code := <-codes; code != http.StatusServiceUnavailable {
			t.Errorf("status %d above the limit", code)
		}
	}
	if got := ask(handler, "GET", "/healthz", ""); got.Code != 200 {
		t.Errorf("healthz: %d", got.Code)
	}
	close(wait)
	requests.Wait()
}

// room is a bound on connections that come from nowhere.
type room struct {
	connections
	ours []*connection
}

func newRoom(t *testing.T, most, perAddress, clients int) *room {
	t.Helper()
	r := &room{connections: connections{most: most, perAddress: perAddress}}
	for range clients {
		conn, _ := net.Pipe()
		r.ours = append(r.ours, &connection{Conn: conn, of: &r.connections})
	}
	return r
}

// enter lets a connection in and names the one that it replaces, -1 for none.
func (r *room) enter(i int) (replaced int, ok bool) {
	conn, ok := r.add(r.ours[i])
	return slices.Index(r.ours, conn), ok
}

func TestABusyConnectionIsNotReplaced(t *testing.T) {
	r := newRoom(t, 2, 0, 4)
	r.enter(0)
	r.enter(1)
	r.ours[0].begin()
	if replaced, ok := r.enter(2); !ok || replaced != 1 {
		t.Errorf("replaced %d instead of the idle one", replaced)
	}
	r.ours[2].begin()
	if _, ok := r.enter(3); ok {
		t.Error("a busy one was replaced")
	}
	r.ours[0].end()
	if replaced, ok := r.enter(3); !ok || replaced != 0 {
		t.Errorf("replaced %d instead of the one whose request ended", replaced)
	}
	for _, conn := range r.ours {
		conn.Close()
	}
	if r.open != 0 || r.waiting.Len() != 0 || len(r.hosts) != 0 {
		t.Errorf("%d open after all were closed", r.open)
	}
}

func TestAnAddressReplacesOnlyItsOwnConnections(t *testing.T) {
	r := newRoom(t, 4, 2, 5)
	r.ours[0].host = hostOf(&net.TCPAddr{IP: net.ParseIP("10.0.0.1")})
	for i := range r.ours[1:] {
		r.ours[i+1].host = hostOf(&net.TCPAddr{IP: net.ParseIP(fmt.Sprintf("2001:db8::%d", i))})
	}
	for i, want := range []int{-1, -1, -1, 1, 2} {
		if replaced, ok := r.enter(i); !ok || replaced != want {
			t.Errorf("connection %d replaced %d, want %d", i, replaced, want)
		}
	}
}
