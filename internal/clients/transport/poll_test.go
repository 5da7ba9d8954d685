package transport

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// told collects what a client tells.
type told struct {
	mu  sync.Mutex
	all []Trouble
}

func (s *told) tell(_ string, t Trouble) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, t)
}

func (s *told) so() []Trouble {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// blackHole takes connections and says nothing, so that TLS never connects.
func blackHole(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

func TestEveryRetryIsToldUntilAnAnswerComes(t *testing.T) {
	fails := 3
	server := serve(t, httptest.NewServer, func(w http.ResponseWriter, _ *http.Request) {
		if fails--; fails >= 0 {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	var heard told
	c := newClient(t, server.URL, func(cfg *Config) { cfg.Retry, cfg.Tell = patient, heard.tell })
	ctx, end := WithPoll(t.Context())
	defer end()
	if _, _, err := c.Do(About(ctx, "data"), Request{Endpoint: "E", Limit: 1}); err != nil {
		t.Fatal(err)
	}
	all := heard.so()
	if len(all) != 4 {
		t.Fatalf("told %+v, want three failures and their end", all)
	}
	for i, got := range all[:3] {
		if got.Attempt != i+1 || got.Since.IsZero() || got.Next.IsZero() || !strings.Contains(got.Err.Error(), "502") {
			t.Errorf("attempt %d: %+v", i+1, got)
		}
	}
	if last := all[3]; last.Err != nil || !last.Answers {
		t.Errorf("the end %+v", last)
	}
}

func TestAnAttemptWithoutAnAnswerIsToldBeforeItEnds(t *testing.T) {
	base, ended := "https://"+blackHole(t), make(chan error, 1)
	heard := make(chan Trouble, 10)
	c := newClient(t, base, func(cfg *Config) {
		cfg.StallTimeout, cfg.Retry = time.Minute, Retry{MaxElapsed: time.Millisecond}
		cfg.Tell = func(_ string, t Trouble) { heard <- t }
	})
	go func() {
		_, _, err := c.Do(t.Context(), Request{Endpoint: "E", Limit: 1})
		ended <- err
	}()
	if got := <-heard; got.Attempt != 1 || !got.Next.IsZero() || !strings.Contains(got.Err.Error(), "no TLS handshake with "+base) {
		t.Errorf("told %+v", got)
	}
	if err := <-ended; !errors.Is(err, errNoTimeLeft) {
		t.Errorf("the budget ended, but %v", err)
	}
}

func TestTheBudgetEndsAnAttemptThatIsRepeated(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	go func() { // resets the first connection, and says nothing on the others
		if conn, err := listener.Accept(); err == nil {
			conn.Close()
		}
	}()
	c := newClient(t, "http://"+listener.Addr().String(), func(cfg *Config) {
		cfg.StallTimeout, cfg.Retry = time.Minute, Retry{InitialInterval: 50 * time.Millisecond, MaxElapsed: 100 * time.Millisecond}
	})
	_, _, err = c.Do(t.Context(), Request{Endpoint: "E", Limit: 1})
	if err == nil || errors.Is(err, errStalled) || errors.Is(err, errNoTimeLeft) { // the first error says more
		t.Error(err)
	}
}

// The budget counts from the last answer to any request of the poll, not for each in turn.
func TestRequestsOfAPollShareTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, "http://127.0.0.1:1", func(cfg *Config) {
			cfg.Retry = Retry{InitialInterval: time.Second, MaxInterval: 10 * time.Second, MaxElapsed: time.Minute}
		})
		broken := &Error{Kind: Transient, Endpoint: "E", Err: errors.New("broken")}
		ctx, end := WithPoll(t.Context())
		defer end()
		began := time.Now()
		for range 3 {
			if err := c.Retry(ctx, "E", func(func()) error { return broken }); !errors.Is(err, broken) {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("three requests took %s of a budget of one minute", took)
		}
		must(t, c.Retry(ctx, "E", func(func()) error { return nil }))
		began = time.Now()
		if err := c.Retry(ctx, "E", func(func()) error { return broken }); !errors.Is(err, broken) || time.Since(began) != time.Minute {
			t.Errorf("after an answer, a request is given up after %s: %v", time.Since(began), err)
		}
	})
}
