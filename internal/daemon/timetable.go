package daemon

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"syncd/internal/config"
	"syncd/internal/config/schedule"
	"syncd/internal/host/clock"
	"syncd/internal/report/request"
)

// timetable holds the time of each manifest's next scheduled sync. The loop changes
// it; due may be called at any time.
type timetable struct {
	jitter float64 // this host's share of every jitter
	next   atomic.Pointer[map[string]clock.Deadline]
}

func newTimetable(jitter float64) *timetable {
	t := &timetable{jitter: jitter}
	t.next.Store(&map[string]clock.Deadline{})
	return t
}

// due returns when a manifest is due next, if it is planned.
func (t *timetable) due(manifest string, now clock.Instant) (at time.Time, planned bool) {
	deadline, planned := (*t.next.Load())[manifest]
	return now.Wall.Add(deadline.Left(now)), planned
}

// untilNext is how long it takes until a manifest is due, very long when none is planned.
func (t *timetable) untilNext(now clock.Instant) time.Duration {
	const never = time.Duration(1<<63 - 1)
	left := never
	for _, deadline := range *t.next.Load() {
		left = min(left, deadline.Left(now))
	}
	return max(left, 0)
}

// plan computes when each manifest is due next. A manifest whose schedule is the
// same in before keeps its time, so that frequent reloads do not put a sync off
// for ever. before is nil when there is no earlier configuration.
func (t *timetable) plan(cfg *config.Config, now clock.Instant, before *config.Config) {
	planned := *t.next.Load()
	next := make(map[string]clock.Deadline, len(cfg.Manifests))
	for _, m := range cfg.Manifests {
		at, known := planned[m.Name]
		if !known || before == nil || !sameSchedule(before, m) {
			at = now.Until(t.first(cfg, m.Schedule, now.Wall))
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
func (t *timetable) first(cfg *config.Config, schedule schedule.Schedule, now time.Time) time.Time {
	most := min(schedule.Interval(), cfg.Jitter)
	return t.after(cfg, schedule, now).Add(time.Duration(t.jitter * float64(most)))
}

// after is the first time of a schedule after now, shifted by this host's jitter.
func (t *timetable) after(cfg *config.Config, schedule schedule.Schedule, now time.Time) time.Time {
	shift := time.Duration(t.jitter * float64(cfg.Jitter))
	return schedule.Next(now.Add(-shift)).Add(shift)
}

// collectDue moves the manifests that are due into the queue.
func (t *timetable) collectDue(cfg *config.Config, q *queue, now clock.Instant) {
	next := maps.Clone(*t.next.Load())
	for _, m := range cfg.Manifests {
		if at := next[m.Name]; at.Passed(now) {
			q.due([]string{m.Name}, request.TriggerSchedule)
			next[m.Name] = now.Until(t.after(cfg, m.Schedule, ran(m.Schedule, at, now)))
		}
	}
	t.next.Store(&next)
}

// retry brings the next sync of manifests forward to the ends of their backoffs.
func (t *timetable) retry(ends map[string]time.Time, now clock.Instant) {
	next := maps.Clone(*t.next.Load())
	for name, end := range ends {
		if at := now.Until(end); at.Left(now) < next[name].Left(now) {
			next[name] = at
		}
	}
	t.next.Store(&next)
}

// smallStep is the largest step back of the wall clock that does not repeat a run at a
// time of day. After a step back, the monotonic clock starts such a run early.
const smallStep = time.Minute

// ran is the time from which the next run is computed. For a run that started a little
// early it is the planned time.
func ran(schedule schedule.Schedule, planned clock.Deadline, now clock.Instant) time.Time {
	early := planned.Wall().Sub(now.Wall)
	if schedule.Interval() == 0 && early > 0 && early < smallStep {
		return planned.Wall()
	}
	return now.Wall
}
