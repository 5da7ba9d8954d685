package source

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"

	"syncd/internal/report/progress"
)

func TestSlowQuestionsHoldUpNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		q := &questions{slots: semaphore.NewWeighted(maxRequests), progress: &progress.Tracker{}}
		for range maxRequests {
			go func() {
				_ = q.ask(ctx, "slow", func(ctx context.Context) error { <-ctx.Done(); return nil }) // never answered
			}()
		}
		synctest.Wait()
		asked := time.Now()
		if err := q.ask(ctx, "other", func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(asked); waited > slowAfter {
			t.Errorf("the question of another manifest waited for %v", waited)
		}
	})
}
