package rate

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"syncd/internal/host/clock"
)

// Timetable says which rate is allowed when. The zero value allows any rate always.
type Timetable struct {
	always  int64 // for a timetable without entries
	entries []entry
}

// entry begins a rate at a time of day.
type entry struct {
	day    int // of the week, from Sunday; everyDay for all
	hour   int
	minute int
	rate   int64 // bytes per second, 0 for no limit
}

const everyDay = -1

// maxEntries bounds a timetable: one entry for each half hour of a week.
const maxEntries = 336

var (
	errEntry   = errors.New("has an entry that is not TIME,RATE or DAY-TIME,RATE")
	errDay     = errors.New("has an entry whose day is not one of Mon, Tue, Wed, Thu, Fri, Sat and Sun")
	errTime    = errors.New("has an entry whose time is not HH:MM")
	errUnit    = errors.New("has an entry whose rate has no unit, where rclone means KiB")
	errTwice   = errors.New("has two entries for the same time")
	errEntries = errors.New("has too many entries")
)

// Always returns a timetable with one rate; 0 for no limit.
func Always(rate int64) Timetable { return Timetable{always: rate} }

// Parse parses one rate, as ParseRate, or a timetable in rclone's form: entries such as
// 08:00,20MiB or Mon-08:00,20MiB, separated by spaces.
func Parse(text string) (Timetable, error) {
	if !strings.Contains(text, ",") {
		rate, err := ParseRate(text)
		return Always(rate), err
	}
	var t Timetable
	for field := range strings.FieldsSeq(text) {
		e, err := parseEntry(field)
		switch {
		case err != nil:
			return Timetable{}, err
		case slices.ContainsFunc(t.entries, e.clashes):
			return Timetable{}, errTwice
		case len(t.entries) == maxEntries:
			return Timetable{}, errEntries
		}
		t.entries = append(t.entries, e)
	}
	return t, nil
}

func parseEntry(text string) (entry, error) {
	when, rate, found := strings.Cut(text, ",")
	if !found || rate == "" {
		return entry{}, errEntry
	}
	e := entry{day: everyDay}
	if name, timeOfDay, hasDay := strings.Cut(when, "-"); hasDay {
		e.day = slices.IndexFunc(days[:], func(day string) bool {
			return strings.EqualFold(name, day) || strings.EqualFold(name, day[:3])
		})
		if e.day < 0 {
			return entry{}, errDay
		}
		when = timeOfDay
	}
	at, err := time.Parse("15:04", when)
	if err != nil || len(when) != len("15:04") {
		return entry{}, errTime
	}
	e.hour, e.minute = at.Hour(), at.Minute()
	e.rate, err = parseEntryRate(rate)
	return e, err
}

// parseEntryRate parses a rate with the units of rclone: a single letter counts in 1024s. A
// number without a unit would be a thousand times less than in rclone, so it is refused.
func parseEntryRate(text string) (int64, error) {
	if bare, ok := strings.CutSuffix(strings.ToLower(text), "/s"); ok && bare != "" {
		text = bare
	}
	switch last := text[len(text)-1]; {
	case strings.ContainsRune("kKmMgGtTpP", rune(last)):
		text += "iB"
	case '0' <= last && last <= '9' || last == '.':
		if rate, err := ParseRate(text); err != nil || rate != 0 {
			return 0, cmp.Or(err, errUnit)
		}
	}
	return ParseRate(text)
}

var days = [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}

// clashes is true when both begin at the same time of the same day. An entry for one day
// and one for every day may do so: the one for the day has priority.
func (e entry) clashes(other entry) bool {
	return e.day == other.day && e.hour == other.hour && e.minute == other.minute
}

// Equal is true for timetables with the same entries.
func (t Timetable) Equal(other Timetable) bool {
	return t.always == other.always && slices.Equal(t.entries, other.entries)
}

// Phase is a time in which the rate stays the same.
type Phase struct {
	Rate        int64     // bytes per second, 0 for no limit
	From, Until time.Time // zero for always
}

// At returns the phase of a moment. Times of day are in now's time zone. An entry
// whose time the clocks skip begins at the skip. One whose time they show twice begins the
// first time only.
func (t Timetable) At(now time.Time) Phase {
	if len(t.entries) == 0 {
		return Phase{Rate: t.always}
	}
	var phase Phase
	for _, b := range t.beginnings(now) {
		if b.at.After(now) {
			phase.Until = b.at
			break
		}
		phase.Rate, phase.From = b.rate, b.at
	}
	return phase
}

// beginning is when an entry begins on one day.
type beginning struct {
	at    time.Time
	shown time.Time // as the clocks show it
	entry
}

// beginnings lists when entries begin in the two weeks around a moment, in order.
func (t Timetable) beginnings(now time.Time) []beginning {
	var all []beginning
	for days := -8; days <= 8; days++ {
		date := time.Date(now.Year(), now.Month(), now.Day()+days, 0, 0, 0, 0, time.UTC)
		for _, e := range t.entries {
			if e.day == everyDay || e.day == int(date.Weekday()) {
				shown := date.Add(time.Duration(e.hour)*time.Hour + time.Duration(e.minute)*time.Minute)
				all = append(all, beginning{clock.FirstShowing(shown, now.Location()), shown, e})
			}
		}
	}
	slices.SortFunc(all, func(a, b beginning) int {
		return cmp.Or(a.at.Compare(b.at), a.shown.Compare(b.shown), cmp.Compare(a.day, b.day))
	})
	return all
}
