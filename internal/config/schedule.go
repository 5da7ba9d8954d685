package config

import (
	"strings"
	"time"
	_ "time/tzdata" // a container image may have no zones, and CRON_TZ= needs them

	"github.com/robfig/cron/v3"
)

// Schedule says when a manifest is polled. Two with the same String are the
// same. The zero value never runs.
type Schedule struct {
	text string
	cron cron.Schedule
}

// ParseSchedule reads cron's five fields with or without CRON_TZ=, or @every,
// @hourly and their like. Its error does not show the text.
func ParseSchedule(text string) (Schedule, error) {
	s, f := parseSchedule(text)
	if f != nil {
		return Schedule{}, place{}.error("", *f)
	}
	return s, nil
}

// Next returns the first time after t, or the zero time if there is none.
// A schedule without CRON_TZ= follows the machine's local time.
func (s Schedule) Next(t time.Time) time.Time {
	if s.cron == nil {
		return time.Time{}
	}
	return s.cron.Next(t.Local())
}

// String returns the schedule as it is written in the file, single spaces
// between its parts.
func (s Schedule) String() string { return s.text }

// Interval is the time between runs of an `@every` schedule, 0 for one that names
// times of day.
func (s Schedule) Interval() time.Duration {
	every, _ := s.cron.(cron.ConstantDelaySchedule)
	return every.Delay
}

// Equal tells whether both run at the same times.
func (s Schedule) Equal(other Schedule) bool { return s.text == other.text }

func parseSchedule(text string) (Schedule, *fault) {
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
		return Schedule{}, &fault{"is not a schedule", `use cron's five fields such as "0 3 * * *", or "@every 1h"`}
	}
	s := Schedule{text: text, cron: parsed}
	if s.Next(time.Now()).IsZero() {
		return Schedule{}, &fault{"never runs: no such date comes", "check its day and month"}
	}
	return s, nil
}

// checkZone returns what follows the zone. The zone is looked up here because
// cron panics at one with nothing behind it, and takes an empty one for UTC.
func checkZone(text string) (string, *fault) {
	if !strings.HasPrefix(text, "CRON_TZ=") && !strings.HasPrefix(text, "TZ=") {
		return text, nil
	}
	head, when, more := strings.Cut(text, " ")
	_, zone, _ := strings.Cut(head, "=")
	if _, err := time.LoadLocation(zone); err != nil || zone == "" {
		return "", &fault{"its time zone does not exist", "use a name such as America/Los_Angeles or UTC"}
	}
	if !more {
		return "", &fault{"has a time zone and nothing else", `add cron's five fields, such as "CRON_TZ=UTC 0 3 * * *"`}
	}
	return when, nil
}

// checkEvery looks at what follows @every: cron rounds all below a second up
// to one, a negative too.
func checkEvery(text string) *fault {
	every, err := time.ParseDuration(strings.TrimSpace(text))
	switch {
	case err != nil:
		return &fault{"@every needs a duration", `use a form such as "@every 30m" or "@every 1h"`}
	case every < time.Second:
		return &fault{"@every is under one second", `use a form such as "@every 30m" or "@every 1h"`}
	}
	return nil
}
