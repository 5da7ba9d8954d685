package web

import (
	"context"
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
	"syncd/internal/report/request"
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

func (g *gated) Fleet(request.Fleet) (report.FleetPage, error) {
	_, err := g.History(0)
	return report.FleetPage{}, err
}

// Polls of followers wait while a fleet is gathered, and 100 clients that did not read one of
// 1,000 hosts held 570 MiB.
func TestFleetsAreGatheredOneAtATimeForFewClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &gated{scene: scenes()["idle"], gate: make(chan struct{})}
		handler := handlerOf(source)
		release := make(chan struct{})
		codes := make(chan int, 50)
		for range cap(codes) {
			go func() {
				client := stalled{httptest.NewRecorder(), release}
				handler.ServeHTTP(client, httptest.NewRequest("GET", "/api/v1/fleet", nil))
				codes <- client.Code
			}()
		}
		synctest.Wait()
		if source.entered != 1 {
			t.Errorf("%d pages gathered at once", source.entered)
		}
		close(source.gate)
		synctest.Wait()
		if got := ask(handler, "GET", "/", ""); got.Code != 200 {
			t.Errorf("the page meanwhile: %d", got.Code)
		}
		close(release)
		count := map[int]int{}
		for range cap(codes) {
			count[<-codes]++
		}
		if count[200] != maxFleets || count[503] != cap(codes)-maxFleets {
			t.Errorf("responses %v", count)
		}
		if got := ask(handler, "GET", "/api/v1/fleet", ""); got.Code != 200 {
			t.Errorf("afterwards: %d", got.Code)
		}
	})
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
		source.history.Entries = []report.HistoryRow{entry}
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
