package download

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func mustTake(t *testing.T, s *slots, limit int) *slot {
	t.Helper()
	taken, err := s.take(t.Context(), limit)
	if err != nil {
		t.Fatal(err)
	}
	return taken
}

func TestDownloadsBeyondTheLimitWaitForARelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slots
		one, _ := mustTake(t, &s, 2), mustTake(t, &s, 2)
		began := time.Now()
		time.AfterFunc(time.Second, one.release)
		mustTake(t, &s, 2)
		if time.Since(began) != time.Second {
			t.Errorf("took the slot after %v", time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.take(ctx, 2); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the wait ended with %v", err)
		}
	})
}

func TestDownloadsThatCrawlDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slots
		fast, crawling := mustTake(t, &s, 2), mustTake(t, &s, 2)
		go func() {
			for range 600 {
				fast.moved(64 << 10)
				crawling.moved(1)
				time.Sleep(time.Second)
			}
		}()
		began := time.Now()
		third := mustTake(t, &s, 2)
		if waited := time.Since(began); waited > 3*crawlWindow {
			t.Errorf("waited %v for a download that crawls", waited)
		}
		go func() {
			for range 300 {
				third.moved(64 << 10)
				time.Sleep(time.Second)
			}
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if _, err := s.take(ctx, 2); err == nil {
			t.Error("took a slot while two downloads moved")
		}
		time.Sleep(10 * time.Minute)
	})
}

// With many small files, waking all waiting downloads at each release would cost more
// than the files.
func TestAReleaseWakesTheDownloadThatWaitedLongest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slots
		held := mustTake(t, &s, 1)
		var order []int
		for i := range 5 {
			go func() {
				taken, err := s.take(t.Context(), 1)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, i)
				taken.release()
			}()
			synctest.Wait()
		}
		held.release()
		synctest.Wait()
		if !slices.Equal(order, []int{0, 1, 2, 3, 4}) {
			t.Errorf("slots were taken in the order %v", order)
		}
	})
}

func TestADownloadThatStopsWaitingPassesItsTurnOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slots
		held := mustTake(t, &s, 1)
		turn := make(chan struct{})
		_, first := s.tryTake(1, false)
		go func() {
			defer close(turn)
			if _, err := s.take(t.Context(), 1); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		held.release() // it is the first one's turn, which ends at the same moment
		s.leave(first)
		<-turn
	})
}
