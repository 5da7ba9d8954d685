package accounts

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnIdentityWaitsForOneRequestOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns()
		work := func(ctx context.Context, who Identity) error {
			end, err := turns.Take(ctx, who)
			if err == nil {
				time.Sleep(time.Second)
				end()
			}
			return err
		}
		gone, cause := errors.New("gone"), make(chan error, 1)
		ctx, cancel := context.WithCancelCause(t.Context())
		for i := range 500 {
			go func() {
				if i < 250 {
					_ = work(t.Context(), OfID("evil"))
				} else if err := work(ctx, OfID("evil")); !errors.Is(err, gone) {
					cause <- err
				}
			}()
			synctest.Wait()
		}
		began := time.Now()
		if err := work(t.Context(), OfID("good")); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("behind 500 requests of another one, it took %s, %v", time.Since(began), err)
		}
		cancel(gone)
		end, err := turns.Take(t.Context(), OfID("good"))
		if err != nil {
			t.Fatal(err)
		}
		if err := work(ctx, OfID("other")); !errors.Is(err, gone) {
			t.Error(err)
		}
		end()
		time.Sleep(time.Hour)
		select {
		case err := <-cause:
			t.Errorf("a client that is gone had its turn: %v", err)
		default:
		}
		turns.mu.Lock()
		defer turns.mu.Unlock()
		if len(turns.lines) > 0 || len(turns.all) > 0 {
			t.Errorf("%d lines are left", len(turns.lines))
		}
	})
}
