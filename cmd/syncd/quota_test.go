package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"
)

// atOnce is how many small requests syncd has under way, and so how many a
// provider that says to wait can still get from it.
const atOnce = 16

// quota is a provider that has had enough: it answers every request with 429,
// and keeps account of what it allowed.
type quota struct {
	wait time.Duration // what it asks for

	mu       sync.Mutex
	answers  int
	windows  int
	until    time.Time // the latest that an answer named
	last     time.Time // when the last request came
	within   int       // requests since the last one that was allowed
	restarts int       // within this window, at a moment at which an answer may have been lost
	excess   int       // requests that broke the provider's wish
}

// ServeHTTP counts a request that comes before the time that was named: those of
// one burst were on their way when the first of them was answered, and those of
// another one after a restart that lost an answer; the others are in excess.
func (q *quota) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last = time.Now()
	q.answers++
	if q.last.Before(q.until) {
		if q.within++; q.within > atOnce*(1+q.restarts) {
			q.excess++
		}
	} else {
		q.windows, q.within, q.restarts = q.windows+1, 1, 0
	}
	header, until := fmt.Sprint(int(q.wait/time.Second)), q.last.Add(q.wait)
	if q.windows%8 == 0 { // the other form, of whole seconds
		until = q.last.Add(q.wait + time.Second).Truncate(time.Second)
		header = until.UTC().Format(http.TimeFormat)
	}
	if until.After(q.until) {
		q.until = until
	}
	w.Header().Set("Retry-After", header)
	w.WriteHeader(http.StatusTooManyRequests)
}

func (q *quota) account() (answers, windows, excess int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.answers, q.windows, q.excess
}

// restarted tells the account that syncd was killed. A sync whose end was logged
// before has stored every answer it got; only one that has begun since may have
// lost some.
func (q *quota) restarted(logged time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.last.After(logged) {
		q.restarts++
	}
}

// outOfQuota is a host whose provider has had enough, with as many manifests as
// fill a burst.
func outOfQuota(t *testing.T, wait time.Duration) (*host, *quota) {
	t.Helper()
	q := &quota{wait: wait}
	server := httptest.NewServer(q)
	t.Cleanup(server.Close)
	h := newHost(t, "m00")
	for i := 1; i < atOnce; i++ {
		h.settings.manifests = append(h.settings.manifests, fmt.Sprintf("m%02d", i))
	}
	h.settings.url, h.settings.elapsed = server.URL, "3s"
	h.settings.more = `schedule: "@every 1s"`
	h.configure()
	return h, q
}

func TestRestartLoopHonoursRetryAfter(t *testing.T) {
	t.Parallel()
	h, q := outOfQuota(t, time.Second)
	wanted, restarts := times(300, 10_000), times(5, 50)
	p := h.daemon()
	for n := 1; n <= restarts; n++ {
		h.eventually("answers", func() bool { answers, _, _ := q.account(); return answers >= n*wanted/restarts })
		p.loggedTimes("sync", len(p.events("sync"))+1)
		logged := time.Now()
		h.must(p.cmd.Process.Kill())
		p.wait()
		q.restarted(logged)
		p = h.daemon()
	}
	p.terminate()
	answers, windows, excess := q.account()
	if excess > 0 {
		t.Errorf("%d of %d requests in %d windows came although the provider had asked to wait", excess, answers, windows)
	}
	did := fmt.Sprintf("429 answered to a daemon that was killed %d times, in %d windows of Retry-After", restarts, windows)
	reliability(t, "quota", did, answers)
}

func TestRestartsDuringALongRetryAfterSendNoRequest(t *testing.T) {
	t.Parallel()
	h, q := outOfQuota(t, time.Hour)
	p := h.daemon()
	p.logged("sync")
	spent, _, _ := q.account()
	restarts := times(5, 50)
	for n := range restarts {
		if n%2 == 0 {
			h.must(p.cmd.Process.Kill())
			p.wait()
		} else {
			p.signal(syscall.SIGTERM)
			same(h, "exit code", 0, p.wait())
		}
		h.contains("a sync on demand", h.expect(1, "sync").stderr, "asked to wait until")
		p = h.daemon()
		p.logged("sync")
	}
	p.terminate()
	answers, _, _ := q.account()
	if spent == 0 || spent > atOnce || answers != spent {
		t.Errorf("%d requests, and %d after %d restarts", spent, answers, restarts)
	}
	reliability(t, "a long Retry-After", "restarted within an hour of waiting, at the cost of no request", restarts)
}
