package daemon

import (
	"testing"
	"time"

	"syncd/internal/store"
)

func TestTheNextScrubFollowsAClockThatIsSetBack(t *testing.T) {
	daily := scheduled(t, "@every 24h")
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	ahead := store.Scrub{StartedAt: now.AddDate(10, 0, 0), FinishedAt: now.AddDate(10, 0, 1)}
	running := &scrubPlan{}
	running.follow(daily, ahead, ahead.FinishedAt)
	for name, plan := range map[string]*scrubPlan{"after a restart": {}, "of a running daemon": running} {
		t.Run(name, func(t *testing.T) {
			plan.follow(daily, ahead, now)
			plan.follow(daily, ahead, now.Add(time.Hour))
			if next := plan.next(); next.After(now.Add(25*time.Hour)) || next.Before(now.Add(24*time.Hour)) {
				t.Errorf("the next scrub is at %s", next)
			}
		})
	}
}
