package schedule

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // a container image may have no zones, and CRON_TZ= needs them

	"github.com/robfig/cron/v3"

	"syncd/internal/config/document"
	"syncd/internal/config/value"
	"syncd/internal/host/clock"
)

// Schedule says when a manifest is polled. The zero value never runs.
type Schedule struct {
	text string
	cron cron.Schedule
}

// Parse parses cron's five fields with or without CRON_TZ=, or @every, @hourly
// and the like. Its error does not quote the text.
func Parse(text string) (Schedule, error) {
	s, f := Value(text)
	if f != nil {
		return Schedule{}, document.Place{}.Error("", f.Problem, f.Suggestion)
	}
	return s, nil
}

// Next returns the first run after t, or the zero time if there is none. A schedule
// without CRON_TZ= uses local time.
func (s Schedule) Next(t time.Time) time.Time {
	if s.cron == nil {
		return time.Time{}
	}
	return s.cron.Next(t.Local())
}

// IsSet is false for the zero value.
func (s Schedule) IsSet() bool { return s.cron != nil }

// String returns the schedule as written, with single spaces between its parts.
func (s Schedule) String() string { return s.text }

// Interval returns the time between runs of an @every schedule, and 0 for others.
func (s Schedule) Interval() time.Duration {
	every, _ := s.cron.(cron.ConstantDelaySchedule)
	return every.Delay
}

// Equal is true when both schedules have the same text.
func (s Schedule) Equal(other Schedule) bool { return s.text == other.text }

// Optional is Value, but "" never runs.
func Optional(text string) (Schedule, *document.Fault) {
	if text == "" {
		return Schedule{}, nil
	}
	return Value(text)
}

// Value is Parse for a value of the configuration.
func Value(text string) (Schedule, *document.Fault) {
	text = strings.Join(strings.Fields(text), " ")
	when, f := checkZone(text)
	if f != nil {
		return Schedule{}, f
	}
	if every, ok := strings.CutPrefix(when, "@every"); ok {
		if f := checkEvery(every); f != nil {
			return Schedule{}, f
		}
	}
	parsed, err := cron.ParseStandard(text)
	if err != nil || when == "" {
		return Schedule{}, scheduleFault(when)
	}
	s := Schedule{text: text, cron: withDaylight(parsed)}
	if s.Next(time.Now()).IsZero() {
		return Schedule{}, document.Refuse("never runs: its date does not exist", "check its day and month")
	}
	return s, nil
}

// cronFields are the fields of a schedule in cron's order, each with its values.
var cronFields = []struct{ name, values string }{
	{"minute", "0 to 59"}, {"hour", "0 to 23"}, {"day of the month", "1 to 31"},
	{"month", "1 to 12, or JAN to DEC"}, {"day of the week", "0 to 6, or SUN to SAT"},
}

// scheduleFault says which field of a schedule is wrong.
func scheduleFault(when string) *document.Fault {
	const form = `use cron's five fields such as "0 3 * * *", or "@every 1h"`
	fields := strings.Fields(when)
	switch {
	case strings.HasPrefix(when, "@"):
		return document.Refuse("is not a schedule: cron has no such word after the @", "use @every with a duration, @hourly, @daily, @weekly, @monthly or @yearly")
	case len(fields) < 2:
		return document.Refuse("is not a schedule", form)
	case len(fields) != len(cronFields):
		return document.Refuse(fmt.Sprintf("is not a schedule: it has %d fields and not %d", len(fields), len(cronFields)), form)
	}
	for i, field := range fields {
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i] = field
		if _, err := cron.ParseStandard(strings.Join(alone, " ")); err != nil {
			return value.RefuseNumber(field, fmt.Sprintf("is not a schedule: its field %d, the %s, is wrong", i+1, cronFields[i].name), "use "+cronFields[i].values)
		}
	}
	return document.Refuse("is not a schedule", form)
}

// checkZone checks the time zone and returns the rest. The cron library panics on a
// zone without a schedule, and reads an empty zone as UTC.
func checkZone(text string) (string, *document.Fault) {
	if !strings.HasPrefix(text, "CRON_TZ=") && !strings.HasPrefix(text, "TZ=") {
		return text, nil
	}
	head, when, more := strings.Cut(text, " ")
	_, zone, _ := strings.Cut(head, "=")
	if _, err := time.LoadLocation(zone); err != nil || zone == "" {
		return "", document.Refuse("its time zone does not exist", "use a name such as America/Los_Angeles or UTC")
	}
	if !more {
		return "", document.Refuse("has a time zone and nothing else", `add cron's five fields, such as "CRON_TZ=UTC 0 3 * * *"`)
	}
	return when, nil
}

// checkEvery checks the duration of @every. The cron library turns every shorter or
// negative one into one second.
func checkEvery(text string) *document.Fault {
	every, err := time.ParseDuration(strings.TrimSpace(text))
	switch {
	case err != nil:
		return document.Refuse("@every needs a duration", `use a form such as "@every 30m" or "@every 1h"`)
	case every < time.Second:
		return document.Refuse("@every is shorter than one second", `use a form such as "@every 30m" or "@every 1h"`)
	}
	return nil
}

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
		if at := clock.FirstShowing(shown, s.zone); at.After(t) {
			return at
		}
	}
}
