package rate

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// took returns how long a call lasts.
func took(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began).Round(time.Millisecond)
}

func wait(t *testing.T, b *Budget, n int) {
	t.Helper()
	if err := b.Wait(t.Context(), n); err != nil {
		t.Error(err)
	}
}

func TestAllTransfersShareTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(Always(1000))
		got := took(func() {
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() { wait(t, b, 2500) })
			}
			all.Wait()
		})
		if got != 9*time.Second { // the burst is what one second brings
			t.Errorf("took %s", got)
		}
		if b.Most() != 1000 || NewBudget(Always(1<<40)).Most() != maxBurst {
			t.Errorf("at once %d", b.Most())
		}
	})
}

func TestAChangeWakesTransfersThatWait(t *testing.T) {
	for name, row := range map[string]struct {
		next Timetable
		want time.Duration
	}{
		"no limit":      {Timetable{}, time.Minute},
		"a higher rate": {Always(10), time.Minute + 38*time.Second}, // 390 bytes are left, and 10 of them pass at once
		"the same rate": {Always(1), 450 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := NewBudget(Always(1))
				wait(t, b, 1)
				time.AfterFunc(time.Minute, func() { b.Set(row.next) })
				if got := took(func() { wait(t, b, 450) }); got != row.want {
					t.Errorf("took %s, want %s", got, row.want)
				}
			})
		})
	}
}

// The clock of a synctest bubble begins at midnight UTC, 2000-01-01.
func TestTheTimetableActsOnTransfersUnderWay(t *testing.T) {
	time.Local = time.UTC
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(mustParse(t, "00:00,1B 00:10,off 00:20,100B"))
		if got := took(func() { wait(t, b, 1<<20) }); got != 10*time.Minute {
			t.Errorf("took %s", got)
		}
		if b.Rate() != 0 {
			t.Errorf("rate %d", b.Rate())
		}
		time.Sleep(10 * time.Minute)
		if got := took(func() { wait(t, b, 200) }); got != time.Second || b.Rate() != 100 {
			t.Errorf("took %s at rate %d", got, b.Rate())
		}
	})
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		b := NewBudget(Always(1))
		if err := b.Wait(ctx, 1000); !errors.Is(err, stop) {
			t.Errorf("error %v", err)
		}
		b.Set(Timetable{})
		if err := b.Wait(ctx, 1); !errors.Is(err, stop) {
			t.Errorf("without a limit: %v", err)
		}
	})
}
