package daemon

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"syncd/internal/config"
)

// timetable holds the time of each manifest's next scheduled sync. The loop changes
// it; due may be called at any time.
type timetable struct {
	jitter float64 // this host's share of every jitter
	next   atomic.Pointer[map[string]time.Time]
}

func newTimetable(jitter float64) *timetable {
	t := &timetable{jitter: jitter}
	t.next.Store(&map[string]time.Time{})
	return t
}

// due returns when a manifest is due next, if it is planned.
func (t *timetable) due(manifest string) (at time.Time, planned bool) {
	at, planned = (*t.next.Load())[manifest]
	return at, planned
}

// untilNext is how long it takes until a manifest is due, very long when none is planned.
func (t *timetable) untilNext() time.Duration {
	const never = time.Duration(1<<63 - 1)
	left := never
	for _, at := range *t.next.Load() {
		left = min(left, time.Until(at))
	}
	return max(left, 0)
}

// plan computes when each manifest is due next. A manifest whose schedule is the
// same in before keeps its time, so that frequent reloads do not put a sync off
// for ever. before is nil when there is no earlier configuration.
func (t *timetable) plan(cfg *config.Config, now time.Time, before *config.Config) {
	planned := *t.next.Load()
	next := make(map[string]time.Time, len(cfg.Manifests))
	for _, m := range cfg.Manifests {
		at, known := planned[m.Name]
		if !known || before == nil || !sameSchedule(before, m) {
			at = t.first(cfg, m.Schedule, now)
		}
		next[m.Name] = at
	}
	t.next.Store(&next)
}

func sameSchedule(before *config.Config, m config.Manifest) bool {
	return slices.ContainsFunc(before.Manifests, func(old config.Manifest) bool {
		return old.Name == m.Name && old.Schedule.Equal(m.Schedule)
	})
}

// first is the first time of a schedule. Hosts that start together would also run
// an interval together, so the jitter shifts its first run, and with it all others.
func (t *timetable) first(cfg *config.Config, schedule config.Schedule, now time.Time) time.Time {
	most := min(schedule.Interval(), cfg.Jitter)
	return t.after(cfg, schedule, now).Add(time.Duration(t.jitter * float64(most)))
}

// after is the first time of a schedule after now, shifted by this host's jitter.
// It has no monotonic reading: the monotonic clock stands still while a machine is
// suspended.
func (t *timetable) after(cfg *config.Config, schedule config.Schedule, now time.Time) time.Time {
	shift := time.Duration(t.jitter * float64(cfg.Jitter))
	return schedule.Next(now.Round(0).Add(-shift)).Add(shift)
}

// collectDue moves the manifests that are due into the queue. When the clock was
// set back since the last call, it plans anew: the planned times are far ahead.
func (t *timetable) collectDue(cfg *config.Config, q *queue, now, last time.Time) {
	if now.Before(last.Round(0).Add(-time.Minute)) {
		t.plan(cfg, now, nil)
		return
	}
	next := maps.Clone(*t.next.Load())
	for _, m := range cfg.Manifests {
		if at := next[m.Name]; !at.After(now) {
			q.due[m.Name] = true
			next[m.Name] = t.after(cfg, m.Schedule, now)
		}
	}
	t.next.Store(&next)
}
