package hooks

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.uber.org/goleak"

	"syncd/internal/disk/fsops"
	"syncd/internal/hooks/event"
	"syncd/internal/host/command"
	"syncd/internal/store"
)

const patience = time.Minute

func TestMain(m *testing.M) {
	if command.IsSupervisor() {
		os.Exit(command.Supervise())
	}
	goleak.VerifyTestMain(m)
}

// counts counts results.
type counts struct {
	mu   sync.Mutex
	seen map[string]int
}

func (c *counts) HookResult(hook, result string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[string]int{}
	}
	c.seen[hook+" "+result]++
}

func (c *counts) of(hook, result string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[hook+" "+result]
}

// world is an outbox with its file.
type world struct {
	*testing.T
	store  *store.Store
	counts counts
	log    strings.Builder
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := fsops.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	s, note, err := store.Open(dir, "syncd.db", patience)
	if err != nil || note != "" {
		t.Fatal(note, err)
	}
	t.Cleanup(func() { s.Close() })
	return &world{T: t, store: s}
}

func (w *world) runner() *Runner {
	r := New(Config{
		Store: w.store, Metrics: &w.counts, Log: zerolog.New(&w.log),
		Sender: Sender{
			UserAgent: "syncd/test", Environ: os.Environ, Clean: func(text string) string { return text },
			Roots: func() *x509.CertPool { return nil },
		},
	})
	w.Cleanup(r.Close)
	return r
}

// add adds an event for hooks.
func (w *world) add(r *Runner, e event.Event, hooks ...string) {
	w.Helper()
	body, err := e.Body()
	if err != nil {
		w.Fatal(err)
	}
	err = w.store.Update(func(box *store.Outbox) (err error) {
		for _, hook := range hooks {
			_, failed := box.Append(store.Delivery{Hook: hook, ID: e.ID, Event: string(e.Kind), Manifest: e.Data.Manifest, Body: body, At: e.At, Since: e.At})
			err = errors.Join(err, failed)
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	r.Added(hooks)
}

func activated(release string) event.Event {
	return event.New(event.Activated, time.Now(), event.Data{Manifest: "m", Release: release, Revision: "abc", Previous: "def", Path: "/data/m"})
}

func (w *world) drain(r *Runner) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r.Drain(ctx)
	if ctx.Err() != nil {
		w.Error("the hooks do not come to rest")
	}
}

func (w *world) deliveries() []store.Delivery {
	w.Helper()
	all, err := w.store.Deliveries()
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// receiver is a real web server that verifies signatures with the reference library.
type receiver struct {
	*httptest.Server
	secret string
	status func() int

	mu   sync.Mutex
	got  []string // IDs
	text [][]byte
	bad  []error
}

const testSecret = "whsec_MfKQ9r8GKYqTwUPD8I7BmWXMaoOT3v0N"

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{secret: testSecret, status: func() int { return http.StatusNoContent }}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	hook, _ := standardwebhooks.NewWebhook(r.secret)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err = errors.Join(err, hook.Verify(body, req.Header)); err != nil || req.Method != http.MethodPost {
		r.bad = append(r.bad, fmt.Errorf("%s: %w", req.Method, err))
	}
	status := r.status()
	if status < 300 {
		r.got, r.text = append(r.got, req.Header.Get("webhook-id")), append(r.text, body)
	}
	if status == http.StatusFound {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(status)
}

func (r *receiver) hook(t *testing.T, id string) Hook {
	t.Helper()
	u, err := url.Parse(r.URL + "/path?token=s3cret")
	signer, failed := standardwebhooks.NewWebhook(testSecret)
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	return Hook{ID: id, Timeout: patience, URL: u, Signer: signer}
}

func (r *receiver) ids() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func TestAWebhookGetsEachEventInOrderWithASignature(t *testing.T) {
	w, server := newWorld(t), newReceiver(t)
	r := w.runner()
	var want []string
	for _, release := range []string{"2026.08", "2026.09"} { // before the start
		e := activated(release)
		w.add(r, e, "hook")
		want = append(want, e.ID)
	}
	r.Configure([]Hook{server.hook(t, "hook")})
	e := activated("2026.10")
	w.add(r, e, "hook")
	want = append(want, e.ID)
	w.drain(r)
	if got := server.ids(); !slices.Equal(got, want) || len(server.bad) > 0 {
		t.Errorf("got %v, want %v; bad %v", got, want, server.bad)
	}
	if body, _ := e.Body(); string(server.text[2]) != string(body) {
		t.Errorf("body %s", server.text[2])
	}
	if left := w.deliveries(); len(left) > 0 || w.counts.of("hook", Delivered) != 3 {
		t.Errorf("left %+v, counted %d", left, w.counts.of("hook", Delivered))
	}
}

func TestOnlyStatuses2xxAreTaken(t *testing.T) {
	for status, says := range map[int]string{302: "redirects are not followed", 400: "status 400", 500: "status 500", 200: "", 202: ""} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			w, server := newWorld(t), newReceiver(t)
			server.status = func() int { return status }
			r := w.runner()
			r.Configure([]Hook{server.hook(t, "hook")})
			w.add(r, activated("2026.10"), "hook")
			w.drain(r)
			left := w.deliveries()
			if says == "" {
				if len(left) > 0 {
					t.Errorf("left %+v", left)
				}
				return
			}
			if len(left) != 1 || left[0].Attempts == 0 || !strings.Contains(left[0].Error, says) || strings.Contains(left[0].Error, "s3cret") {
				t.Errorf("left %+v", left)
			}
		})
	}
}

// The body of a 101 is the bare connection, which no context closes.
func TestABodyThatNeverEndsHoldsUpNothing(t *testing.T) {
	for answer, isTaken := range map[string]bool{
		"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n": false,
		"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n":                                       true,
	} {
		t.Run(strings.Fields(answer)[1], func(t *testing.T) {
			w, done := newWorld(t), make(chan struct{})
			r := w.runner()
			server := httptest.NewServer(http.HandlerFunc(func(res http.ResponseWriter, _ *http.Request) {
				conn, _, err := http.NewResponseController(res).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				_, _ = io.WriteString(conn, answer)
				<-done
			}))
			t.Cleanup(server.Close)
			t.Cleanup(func() { close(done) })
			address, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			r.Configure([]Hook{{ID: "hook", URL: address, Timeout: patience}})
			w.add(r, activated("2026.10"), "hook")
			w.drain(r)
			if left := w.deliveries(); len(left) == 0 != isTaken || !isTaken && !strings.Contains(left[0].Error, "status 101") {
				t.Errorf("left %+v", left)
			}
		})
	}
}

func TestA410DisablesAWebhookUntilAReload(t *testing.T) {
	w, server := newWorld(t), newReceiver(t)
	status := http.StatusGone
	server.status = func() int { return status }
	r := w.runner()
	hook := server.hook(t, "hook")
	r.Configure([]Hook{hook})
	w.add(r, activated("2026.10"), "hook")
	w.drain(r)
	w.add(r, activated("2026.11"), "hook")
	w.drain(r)
	if state := r.States()["hook"]; !state.Disabled || w.counts.of("hook", Failed) != 1 {
		t.Errorf("state %+v after %d attempts", state, w.counts.of("hook", Failed))
	}
	if log := w.log.String(); strings.Contains(log, "tried again") || !strings.Contains(log, "the hook is off until the configuration is loaded again") {
		t.Errorf("the log says\n%s", log)
	}
	server.mu.Lock()
	status = http.StatusOK
	server.mu.Unlock()
	r.Configure([]Hook{hook})
	w.drain(r)
	if got := server.ids(); len(got) != 2 || r.States()["hook"].Disabled {
		t.Errorf("after the reload %v, %+v", got, r.States())
	}
}

func TestErrorsShowNoPartOfTheURLThatMayBeSecret(t *testing.T) {
	w, server := newWorld(t), newReceiver(t)
	hook := server.hook(t, "hook")
	hook.URL.User = url.UserPassword("u", "s3cret")
	server.Close()
	r := w.runner()
	r.Configure([]Hook{hook})
	w.add(r, activated("2026.10"), "hook")
	w.drain(r)
	left := w.deliveries()
	if len(left) != 1 || left[0].Error == "" || strings.Contains(left[0].Error+w.log.String()+hook.Receiver(), "s3cret") {
		t.Errorf("left %+v, log %s", left, w.log.String())
	}
}

func TestErrorsShowNoTextOfAProxy(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(res http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(res).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 407 wrong password s3cret\r\nContent-Length: 0\r\n\r\n")
	}))
	defer proxy.Close()
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	carrier := Sender{Roots: func() *x509.CertPool { return nil }}.carrier()
	carrier.Proxy = http.ProxyURL(address)
	req := httptest.NewRequest(http.MethodPost, "https://hook.example.net/", nil)
	res, err := carrier.RoundTrip(req)
	if err == nil {
		res.Body.Close()
	}
	if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "407") {
		t.Errorf("got %v", err)
	}
}

func TestACommandGetsTheEventOnStdinAndInItsEnvironment(t *testing.T) {
	w, dir := newWorld(t), t.TempDir()
	r := w.runner()
	script := `cat >"$0/body"; env | grep ^SYNCD_ | sort >"$0/env"`
	r.Configure([]Hook{{ID: "hook", Timeout: patience, Command: []string{"/bin/sh", "-c", script, dir}}})
	e := activated("2026.10")
	w.add(r, e, "hook")
	w.drain(r)
	body, _ := e.Body()
	got, _ := os.ReadFile(filepath.Join(dir, "body"))
	env, _ := os.ReadFile(filepath.Join(dir, "env"))
	want := "SYNCD_EVENT=activated\nSYNCD_EVENT_ID=" + e.ID + "\nSYNCD_MANIFEST=m\nSYNCD_PATH=/data/m\nSYNCD_PREVIOUS=def\nSYNCD_RELEASE=2026.10\nSYNCD_REVISION=abc\n"
	if string(got) != string(body) || string(env) != want || !json.Valid(got) {
		t.Errorf("body %s, environment %s; %+v", got, env, w.deliveries())
	}
}

func TestTheLastLinesOfAFailedCommandAreKept(t *testing.T) {
	w := newWorld(t)
	r := w.runner()
	r.Configure([]Hook{{ID: "hook", Timeout: patience, Command: []string{"/bin/sh", "-c", "seq 1 100000; echo the cause >&2; exit 3"}}})
	w.add(r, activated("2026.10"), "hook")
	w.drain(r)
	left := w.deliveries()
	if len(left) != 1 || !strings.Contains(left[0].Error, "exit status 3") || !strings.Contains(left[0].Error, "the cause") || len(left[0].Error) > 8<<10 {
		t.Errorf("left %+v", left)
	}
}

func TestACommandThatTakesTooLongIsKilledAndTriedAgain(t *testing.T) {
	w := newWorld(t)
	r := w.runner()
	r.Configure([]Hook{{ID: "hook", Timeout: 100 * time.Millisecond, Command: []string{"/bin/sleep", "1000"}}})
	w.add(r, activated("2026.10"), "hook")
	w.drain(r)
	if left := w.deliveries(); len(left) != 1 || left[0].Attempts == 0 || !strings.Contains(left[0].Error, "timeout") {
		t.Errorf("left %+v", left)
	}
}

func TestASlowHookHoldsUpNoOther(t *testing.T) {
	w, server := newWorld(t), newReceiver(t)
	r := w.runner()
	r.Configure([]Hook{{ID: "slow", Timeout: patience, Command: []string{"/bin/sleep", "1000"}}, server.hook(t, "fast")})
	for range 3 {
		w.add(r, activated("2026.10"), "slow", "fast")
	}
	for deadline := time.Now().Add(patience); len(w.deliveries()) > 3; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("got %v", server.ids())
		}
	}
	r.Close() // ends the slow command
	if left := w.deliveries(); len(left) != 3 || left[0].Attempts != 0 {
		t.Errorf("left %+v", left)
	}
}

func TestAHookThatLeavesKeepsItsDeliveries(t *testing.T) {
	w, server := newWorld(t), newReceiver(t)
	r := w.runner()
	r.Configure([]Hook{{ID: "hook", Timeout: patience, Command: []string{"/bin/sleep", "1000"}}})
	w.add(r, activated("2026.10"), "hook")
	r.Configure(nil)
	r.Configure([]Hook{server.hook(t, "hook")})
	w.drain(r)
	if got := server.ids(); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

// In this bubble, time passes when everything waits.
func TestAHookThatFailsForAWeekGivesUpAndSaysSo(t *testing.T) {
	w := newWorld(t)
	synctest.Test(t, func(*testing.T) {
		r := w.runner()
		var attempts []time.Time
		r.send = func(context.Context, Hook, store.Delivery) error {
			attempts = append(attempts, time.Now())
			return errors.New("no route to host")
		}
		r.Configure([]Hook{{ID: "hook", Timeout: patience, Command: []string{"x"}}})
		began := time.Now()
		w.add(r, activated("2026.10"), "hook")
		time.Sleep(Patience + 2*time.Hour)
		r.Close()
		if first := attempts[1].Sub(attempts[0]); first < 900*time.Millisecond || first > 1100*time.Millisecond {
			t.Errorf("first pause %s", first)
		}
		for i := 2; i < 10; i++ {
			if pause, before := attempts[i].Sub(attempts[i-1]), attempts[i-1].Sub(attempts[i-2]); pause < before*3/2 {
				t.Errorf("pause %d is %s after %s", i, pause, before)
			}
		}
		last := attempts[len(attempts)-1]
		left := w.deliveries()
		if last.Before(began.Add(Patience)) || len(left) != 1 || left[0].GaveUp.IsZero() || left[0].Attempts != len(attempts) {
			t.Errorf("last attempt after %s, left %+v", last.Sub(began), left)
		}
		if w.counts.of("hook", GaveUp) != 1 || !strings.Contains(w.log.String(), "delivery given up") {
			t.Errorf("log %s", w.log.String())
		}
	})
}

// The clock may have been set forward, or no daemon may have run for a week.
func TestAnOldDeliveryIsTriedSeveralTimes(t *testing.T) {
	w := newWorld(t)
	synctest.Test(t, func(*testing.T) {
		r, attempts := w.runner(), 0
		r.send = func(context.Context, Hook, store.Delivery) error {
			if attempts++; attempts < 5 {
				return errors.New("no route to host")
			}
			return nil
		}
		old := activated("2026.10")
		old.At = time.Now().Add(-2 * Patience)
		w.add(r, old, "hook")
		r.Configure([]Hook{{ID: "hook", Timeout: patience, Command: []string{"x"}}})
		time.Sleep(time.Hour)
		r.Close()
		if left := w.deliveries(); len(left) != 0 || attempts != 5 {
			t.Errorf("after %d attempts left %+v", attempts, left)
		}
	})
}

func TestATryNowEndsAPause(t *testing.T) {
	w := newWorld(t)
	synctest.Test(t, func(*testing.T) {
		r := w.runner()
		attempts := 0
		r.send = func(context.Context, Hook, store.Delivery) error {
			attempts++
			return errors.New("down")
		}
		r.Configure([]Hook{{ID: "hook", Timeout: patience, Command: []string{"x"}}})
		w.add(r, activated("2026.10"), "hook")
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		before := attempts
		w.add(r, activated("2026.11"), "hook") // a new delivery waits like the others
		synctest.Wait()
		if attempts != before {
			t.Error("a new delivery ended the pause")
		}
		r.TryNow([]string{"hook"})
		synctest.Wait()
		if attempts != before+1 {
			t.Errorf("%d attempts after %d", attempts, before)
		}
		r.Close()
	})
}
