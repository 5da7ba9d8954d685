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

// atOnce is how many small requests syncd runs in parallel. So many can still arrive
// after the provider asked to wait.
const atOnce = 16

// quota is a provider whose quota is used up. It answers every request with 429 and
// counts the requests that ignore Retry-After.
type quota struct {
	wait time.Duration // of its Retry-After

	mu       sync.Mutex
	answers  int
	windows  int
	until    time.Time // latest end of a wait in an answer
	last     time.Time // of the last request
	within   int       // requests since the last allowed one
	restarts int       // in this window, when an answer may have been lost
	excess   int       // requests that ignored Retry-After
}

// ServeHTTP counts requests before the end of the wait. One burst is allowed, because
// it was sent before the first answer, and one more after each restart that lost an
// answer. All others are in excess.
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
	if q.windows%8 == 0 { // the form with a number of seconds
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

// restarted notes that syncd was killed. A sync that has logged its end has saved
// every Retry-After; only a later one may have lost some.
func (q *quota) restarted(logged time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.last.After(logged) {
		q.restarts++
	}
}

// outOfQuota is a host whose provider has no quota left, with enough manifests to fill
// a burst.
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
