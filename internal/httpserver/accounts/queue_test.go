package accounts

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// steady passes a byte each millisecond, one waiter at a time.
type steady struct{ most int }

func (s steady) Most() int { return s.most }

func (s steady) Wait(ctx context.Context, n int) error {
	select {
	case <-time.After(time.Duration(n) * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// crowd has connections of an identity that take 100 bytes each, again and again.
func crowd(ctx context.Context, q *Queue, who Identity, connections int) (taken func() int) {
	var mu sync.Mutex
	bytes := 0
	for range connections {
		go func() {
			for q.Wait(ctx, who, false, 100) == nil {
				mu.Lock()
				bytes += 100
				mu.Unlock()
			}
		}()
	}
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return bytes
	}
}

func TestIdentitiesShareARateEvenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		q := NewQueue(steady{100})
		taken := []func() int{crowd(ctx, q, OfID("evil"), 1000), crowd(ctx, q, OfID("good"), 1), crowd(ctx, q, OfID("other"), 3)}
		time.Sleep(300 * time.Second)
		for i, bytes := range taken {
			if got := bytes(); got < 99_000 || got > 101_000 {
				t.Errorf("identity %d got %d of 300,000 bytes", i, got)
			}
		}
		began := time.Now()
		if err := q.Wait(ctx, OfID("new"), false, 100); err != nil || time.Since(began) > 500*time.Millisecond {
			t.Errorf("a new identity waited %s, %v", time.Since(began), err)
		}
		began = time.Now()
		if err := q.Wait(ctx, OfID("evil"), true, 100); err != nil || time.Since(began) > 500*time.Millisecond {
			t.Errorf("a list waited %s behind its downloads, %v", time.Since(began), err)
		}
		stop()
		synctest.Wait()
		if len(q.lines) > 4 || q.taken {
			t.Errorf("%d lines, taken %t", len(q.lines), q.taken)
		}
	})
}

func TestAWaiterThatGivesUpHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, gone := NewQueue(steady{100}), errors.New("gone")
		var all sync.WaitGroup
		for i := range 100 {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Duration(i)*30*time.Millisecond, func() { cancel(gone) })
			all.Go(func() {
				if err := q.Wait(ctx, OfID("a"), i%2 == 0, 100); err != nil && !errors.Is(err, gone) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		began := time.Now()
		if err := q.Wait(t.Context(), OfID("b"), false, 100); err != nil || time.Since(began) != 100*time.Millisecond {
			t.Errorf("waited %s, %v", time.Since(began), err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		if err := NewQueue(steady{math.MaxInt}).Wait(ctx, OfID("a"), false, 1); !errors.Is(err, gone) {
			t.Error(err)
		}
	})
}
