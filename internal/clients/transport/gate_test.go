package transport

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"syncd/internal/emulator"
)

func TestRetryAfterAsSecondsAndAsDate(t *testing.T) {
	now := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"":                                 0,
		"0":                                0,
		"7":                                7 * time.Second,
		"86400":                            24 * time.Hour,
		"86401":                            24 * time.Hour,
		"99999999999999999999999":          24 * time.Hour,
		"-5":                               0,
		"-99999999999999999999999":         0,
		"soon":                             0,
		"1.5":                              0,
		"Thu, 01 Oct 2026 12:00:30 GMT":    30 * time.Second,
		"Thu, 01 Oct 2026 11:00:00 GMT":    0,
		"Sun, 01 Oct 2056 12:00:00 GMT":    24 * time.Hour,
		"Thursday, 01-Oct-26 12:01:00 GMT": time.Minute,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, text := range []string{"", "7", "-5", "86401", "1.5", "Thu, 01 Oct 2026 12:00:30 GMT", "Thursday, 01-Oct-26 12:01:00 GMT"} {
		f.Add(text)
	}
	now := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		got := retryAfter(http.Header{"Retry-After": {text}}, now)
		if got < 0 || got > maxCoolDown {
			t.Errorf("%q: %v", text, got)
		}
		date := now.Add(got).Format(http.TimeFormat)
		if again := retryAfter(http.Header{"Retry-After": {date}}, now); again != got {
			t.Errorf("%q: %v, as a date %v", text, got, again)
		}
		seconds := fmt.Sprint(int64(got / time.Second))
		if again := retryAfter(http.Header{"Retry-After": {seconds}}, now); again != got {
			t.Errorf("%q: %v, in seconds %v", text, got, again)
		}
	})
}

func TestGateDelaysAllCallersUntilTheCoolDownEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		saved := map[string]time.Time{}
		g := NewGate(nil, func(origin string, until time.Time) { saved[origin] = until })
		begin := time.Now()
		g.Hold("a", 10*time.Second)
		g.Hold("a", 5*time.Second) // a shorter cool-down changes nothing
		var waiting sync.WaitGroup
		for range 10 {
			waiting.Go(func() {
				if err := g.wait(t.Context(), "a", time.Minute); err != nil || time.Since(begin) != 12*time.Second {
					t.Errorf("passed after %v, %v", time.Since(begin), err)
				}
			})
		}
		if err := g.wait(t.Context(), "b", 0); err != nil || time.Since(begin) != 0 {
			t.Errorf("another origin had to wait: %v", err)
		}
		time.Sleep(time.Second)
		g.Hold("a", 11*time.Second) // while the callers wait
		waiting.Wait()
		if want := begin.Add(12 * time.Second); !saved["a"].Equal(want) || len(saved) != 1 {
			t.Errorf("saved %v, want %v", saved, want)
		}
		if !g.Until("a").IsZero() || !g.Until("b").IsZero() {
			t.Error("still held")
		}
	})
}

// A server redirected each request to another address, which asked to wait: the process kept
// each of them until its end.
func TestTheOriginsOfAGateAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		saved := 0
		g := NewGate(nil, func(string, time.Time) { saved++ })
		for n := range 3 * maxOrigins {
			g.Hold(fmt.Sprint("https://", n), time.Hour)
		}
		if len(g.until) != maxOrigins || saved != maxOrigins {
			t.Errorf("%d origins, %d saved", len(g.until), saved)
		}
		g.Hold("https://1", 2*time.Hour)
		time.Sleep(time.Hour)
		g.Hold("https://new", time.Minute)
		if g.Until("https://1").IsZero() || g.Until("https://new").IsZero() || len(g.until) != 2 {
			t.Errorf("%v", g.until)
		}
	})
}

func TestGateReturnsCoolingDownBeyondThePatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(nil, nil)
		g.Hold("a", time.Hour)
		begin := time.Now()
		var cooling *CoolingDown
		if err := g.wait(t.Context(), "a", time.Hour-1); !errors.As(err, &cooling) || cooling.Origin != "a" || !cooling.Until.Equal(begin.Add(time.Hour)) {
			t.Errorf("got %v", err)
		}
		if time.Since(begin) != 0 {
			t.Errorf("it took %v to say so", time.Since(begin))
		}
		if err := g.wait(t.Context(), "a", time.Hour); err != nil || time.Since(begin) != time.Hour {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

func TestContextEndsTheWaitAtAGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, cause := NewGate(nil, nil), errors.New("stop")
		g.Hold("a", time.Hour)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(cause) })
		begin := time.Now()
		if err := g.wait(ctx, "a", 2*time.Hour); err != cause || time.Since(begin) != time.Minute {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

func TestNoCoolDownLastsLongerThanADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		day := time.Now().Add(24 * time.Hour)
		g := NewGate(map[string]time.Time{"old": day.AddDate(10, 0, 0), "past": day.AddDate(-1, 0, 0), "hour": day.Add(-time.Hour)}, nil)
		g.Hold("new", 1000*time.Hour)
		for origin, want := range map[string]time.Time{"old": day, "new": day, "hour": day.Add(-time.Hour), "past": {}} {
			if got := g.Until(origin); !got.Equal(want) {
				t.Errorf("%s: until %v, want %v", origin, got, want)
			}
		}
	})
}

// A test cannot set the clock. Instead it checks that the time has a monotonic reading,
// which its text shows: such times ignore the clock.
func TestASavedCoolDownIgnoresClockChanges(t *testing.T) {
	now := time.Now().Round(0) // without a monotonic reading, as loaded from the state
	g := NewGate(map[string]time.Time{"hour": now.Add(time.Hour), "year": now.AddDate(1, 0, 0)}, nil)
	g.Hold("new", time.Hour)
	for _, origin := range []string{"hour", "year", "new"} {
		if until := g.Until(origin); !strings.Contains(until.String(), " m=") {
			t.Errorf("%s: %v is a time of the wall clock", origin, until)
		}
	}
}

func TestASavedCoolDownThatIsTooLongIsSavedShorter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		day := time.Now().Add(24 * time.Hour)
		state := map[string]time.Time{"ahead": day.AddDate(1, 0, 0), "day": day, "past": day.AddDate(-1, 0, 0)}
		saved := 0
		start := func() *Gate {
			return NewGate(maps.Clone(state), func(origin string, until time.Time) { state[origin], saved = until, saved+1 })
		}
		start()
		if !state["ahead"].Equal(day) || saved != 1 {
			t.Errorf("%d saved: %v", saved, state)
		}
		time.Sleep(23 * time.Hour)
		if until := start().Until("ahead"); !until.Equal(day) || saved != 1 {
			t.Errorf("after a restart it lasts until %v", until)
		}
	})
}

func TestTheLastSavedCoolDownIsTheLongest(t *testing.T) {
	for range 50 {
		var mu sync.Mutex
		saved := map[string]time.Time{}
		g := NewGate(nil, func(origin string, until time.Time) {
			time.Sleep(time.Duration(rand.IntN(20)) * time.Microsecond)
			mu.Lock()
			saved[origin] = until
			mu.Unlock()
		})
		var holding sync.WaitGroup
		for i := range 20 {
			holding.Go(func() { g.Hold("a", time.Duration(i+1)*time.Hour) })
		}
		holding.Wait()
		if !saved["a"].Equal(g.Until("a")) {
			t.Fatalf("saved %v, held until %v", saved["a"], g.Until("a"))
		}
	}
}

func TestNoRequestIsSentDuringALongCoolDown(t *testing.T) {
	date := time.Now().Add(2 * time.Hour).UTC().Format(http.TimeFormat)
	for _, after := range []string{"3600", date, "999999999999999999999"} {
		for _, status := range []int{408, 425, 429, 500, 503} {
			t.Run(fmt.Sprint(status, " ", after), func(t *testing.T) {
				e := startEmulator(t)
				e.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: status, RetryAfter: after})
				var mu sync.Mutex
				saved := map[string]time.Time{}
				gate := NewGate(nil, func(origin string, until time.Time) {
					mu.Lock()
					defer mu.Unlock()
					saved[origin] = until
				})
				slow := func(cfg *Config) { // long enough to notice a retry
					cfg.Gate, cfg.Retry = gate, Retry{InitialInterval: time.Minute, MaxInterval: time.Minute, MaxElapsed: 30 * time.Minute}
				}
				c := newClient(t, e.URL(), slow)
				want := func(c *Client) {
					t.Helper()
					_, _, err := c.Do(t.Context(), list)
					if cooling, ok := errors.AsType[*CoolingDown](err); !ok || cooling.Origin != c.base.origin || !cooling.Until.Equal(gate.Until(c.base.origin)) {
						t.Errorf("got %v", err)
					}
					if n := len(e.Requests()); n != 1 {
						t.Errorf("%d requests", n)
					}
				}
				want(c)
				var asking sync.WaitGroup
				for range 4 {
					asking.Go(func() { want(c) })
				}
				asking.Wait()
				want(newClient(t, e.URL(), slow)) // another client with the same Gate
				if until := saved[c.base.origin]; time.Until(until) > 24*time.Hour || time.Until(until) < 30*time.Minute {
					t.Errorf("saved %v", saved)
				}
				e.ClearFaults() // the service works again, but gets no request
				gate = NewGate(saved, nil)
				want(newClient(t, e.URL(), slow)) // after a restart
				if _, err := c.Open(t.Context(), list); !strings.Contains(fmt.Sprint(err), "asked to wait until") {
					t.Errorf("Open: %v", err)
				}
			})
		}
	}
}

func TestAShortCoolDownDelaysTheRetry(t *testing.T) {
	e := startEmulator(t)
	e.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 429, RetryAfter: "1", Times: 1})
	c := newClient(t, e.URL())
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			if _, body, err := c.Do(t.Context(), list); err != nil || string(body) != listBody {
				t.Errorf("%q, %v", body, err)
			}
		})
	}
	asking.Wait()
	var refused time.Time
	for _, r := range e.Requests() {
		if r.Status == 429 {
			refused = r.Time
		}
	}
	_, _, err := c.Do(t.Context(), list)
	must(t, err)
	repeated := e.Requests()[4]
	if repeated.Time.Before(refused.Add(time.Second)) {
		t.Errorf("asked again %v after the refusal", repeated.Time.Sub(refused))
	}
}

func TestFinalStatusesStartNoCoolDown(t *testing.T) {
	e := startEmulator(t)
	e.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, RetryAfter: "3600", Times: 1})
	gate := NewGate(nil, func(origin string, _ time.Time) { t.Errorf("%s is held", origin) })
	c := newClient(t, e.URL(), func(cfg *Config) { cfg.Gate = gate })
	var failed *Error
	if _, _, err := c.Do(t.Context(), list); !errors.As(err, &failed) || failed.Kind != NotFound {
		t.Errorf("got %v", err)
	}
	if _, _, err := c.Do(t.Context(), list); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestCoolDownsAreKeptPerOrigin(t *testing.T) {
	e := startEmulator(t)
	e.AddFault(emulator.Fault{Kind: emulator.KindStatus, Host: emulator.HostDownload, Status: 503, RetryAfter: "3600"})
	c := newClient(t, e.URL(), func(cfg *Config) { cfg.Retry = quick })
	download := Request{Endpoint: "Download", Segments: []string{"Download", "Data", "2026.10", "a.dat"}, Limit: 100}
	var cooling *CoolingDown
	if _, _, err := c.Do(t.Context(), download); !errors.As(err, &cooling) || cooling.Origin != e.DownloadURL() {
		t.Errorf("got %v", err)
	}
	if _, _, err := c.Do(t.Context(), list); err != nil {
		t.Errorf("the release host is held too: %v", err)
	}
	if _, _, err := c.Do(t.Context(), download); !errors.As(err, &cooling) {
		t.Errorf("got %v", err)
	}
	count := 0
	for _, r := range e.Requests() {
		if r.Host == emulator.HostDownload {
			count++
		}
	}
	if count != 1 {
		t.Errorf("the download host was asked %d times", count)
	}
}
