package config

import (
	"time"

	"github.com/robfig/cron/v3"
)

// timesOfDay is a schedule at certain hours. The cron library drops a run in the hour
// that daylight saving skips and repeats one in the hour that occurs twice. Here, the
// first runs when the skipped hour ends, and the second runs once.
type timesOfDay struct {
	clock cron.SpecSchedule // in UTC, which skips and repeats nothing
	zone  *time.Location
}

// withDaylight returns a parsed schedule whose runs daylight saving neither drops nor
// repeats. A schedule for every hour needs no change: it runs at even intervals.
func withDaylight(s cron.Schedule) cron.Schedule {
	spec, ok := s.(*cron.SpecSchedule)
	const everyHour = 1<<24 - 1
	if !ok || spec.Hour&everyHour == everyHour {
		return s
	}
	t := timesOfDay{clock: *spec, zone: spec.Location}
	t.clock.Location = time.UTC
	return t
}

// Next returns the first run after t, or the zero time if there is none.
func (s timesOfDay) Next(t time.Time) time.Time {
	t = t.In(s.zone)
	shown := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	for {
		shown = s.clock.Next(shown)
		if shown.IsZero() {
			return shown
		}
		if at := s.firstShowing(shown); at.After(t) {
			return at
		}
	}
}

// firstShowing is when the clocks of the zone first show a time; for a time that they
// skip, it is the moment of the skip.
func (s timesOfDay) firstShowing(shown time.Time) time.Time {
	_, before := shown.Add(-36 * time.Hour).In(s.zone).Zone()
	_, after := shown.Add(36 * time.Hour).In(s.zone).Zone()
	for _, offset := range []int{before, after} {
		at := shown.Add(-time.Duration(offset) * time.Second).In(s.zone)
		if _, inForce := at.Zone(); inForce == offset {
			return at
		}
	}
	skip, _ := shown.Add(-time.Duration(before) * time.Second).In(s.zone).ZoneBounds()
	return skip
}
