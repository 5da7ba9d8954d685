package sync_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"syncd/internal/e2e"
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
func outOfQuota(t *testing.T, wait time.Duration) (*e2e.Host, *quota) {
	t.Helper()
	q := &quota{wait: wait}
	server := httptest.NewServer(q)
	t.Cleanup(server.Close)
	h := e2e.NewHost(t, "m00")
	for i := 1; i < atOnce; i++ {
		h.Settings.Manifests = append(h.Settings.Manifests, fmt.Sprintf("m%02d", i))
	}
	h.Settings.URL, h.Settings.Elapsed = server.URL, "3s"
	h.ConfigureWith(`schedule: "@every 1s"`)
	return h, q
}

func TestRestartLoopHonoursRetryAfter(t *testing.T) {
	t.Parallel()
	h, q := outOfQuota(t, time.Second)
	wanted, restarts := e2e.Times(150, 10_000), e2e.Times(5, 50)
	p := h.Daemon()
	for n := 1; n <= restarts; n++ {
		h.Eventually("answers", func() bool { answers, _, _ := q.account(); return answers >= n*wanted/restarts })
		p.LoggedTimes("sync", len(p.Events("sync"))+1)
		logged := time.Now()
		h.Must(p.Cmd.Process.Kill())
		p.Wait()
		q.restarted(logged)
		p = h.Daemon()
	}
	p.Terminate()
	answers, windows, excess := q.account()
	if excess > 0 {
		t.Errorf("%d of %d requests in %d windows came although the provider had asked to wait", excess, answers, windows)
	}
	did := fmt.Sprintf("429 answered to a daemon that was killed %d times, in %d windows of Retry-After", restarts, windows)
	e2e.Reliability(t, "quota", did, answers)
}

func TestRestartsDuringALongRetryAfterSendNoRequest(t *testing.T) {
	t.Parallel()
	h, q := outOfQuota(t, time.Hour)
	p := h.SyncedDaemon()
	spent, _, _ := q.account()
	restarts := e2e.Times(5, 50)
	for n := range restarts {
		if n%2 == 0 {
			h.Must(p.Cmd.Process.Kill())
			p.Wait()
		} else {
			p.Signal(syscall.SIGTERM)
			e2e.Same(h, "exit code", 0, p.Wait())
		}
		h.Contains("a sync on demand", h.Expect(1, "sync").Stderr, "asked to wait until")
		p = h.SyncedDaemon()
	}
	p.Terminate()
	answers, _, _ := q.account()
	if spent == 0 || spent > atOnce || answers != spent {
		t.Errorf("%d requests, and %d after %d restarts", spent, answers, restarts)
	}
	e2e.Reliability(t, "a long Retry-After", "restarted within an hour of waiting, at the cost of no request", restarts)
}
