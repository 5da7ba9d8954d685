package expiry

import (
	"fmt"
	"time"
)

// Present is what two witnesses say about the present time: this machine's clock, and the
// last Date header of the provider or the upstream.
type Present struct {
	Clock  time.Time
	Header time.Time // the Date header; zero if none was ever seen
	SeenAt time.Time // by this machine's clock
}

// HeaderCounts is how long a Date header says what the time is.
const HeaderCounts = 48 * time.Hour

// slack is by how much a clock may be set back without a doubt about the header.
const slack = 5 * time.Minute

// sound is a time before which no clock is right: this line is younger.
var sound = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// age is how long ago the header was seen.
func (p Present) age() time.Duration { return max(p.Clock.Sub(p.SeenAt), 0) }

// HasHeader is true if the last header says what the time is now.
func (p Present) HasHeader() bool {
	age := p.Clock.Sub(p.SeenAt)
	return !p.Header.Before(sound) && age >= -slack && age <= HeaderCounts
}

// IsPast is true if data with that last day must not go live any more. The header decides,
// because it tells a wrong clock; without one, the clock does. Time never runs back, so that
// a day that a header saw the end of is past, however old the header is.
func (p Present) IsPast(day Day) bool {
	switch end := day.End(); {
	case end.IsZero():
		return false
	case !p.Header.Before(end) && !p.Header.Before(sound):
		return true
	case p.HasHeader():
		return !p.Header.Add(p.age()).Before(end)
	default:
		return !p.Clock.Before(end) && !p.Clock.Before(sound)
	}
}

// IsProven is true if data with that last day may be withdrawn: the day is past by the clock
// and by a header that counts. A wrong clock must not withdraw everything.
func (p Present) IsProven(day Day) bool {
	end := day.End()
	return !end.IsZero() && p.HasHeader() && !p.Header.Before(end) && !p.Clock.Before(end)
}

// Doubt says why a day that is past by one witness is not proven to be past. It is "" for a
// day that is past by both, or by none.
func (p Present) Doubt(day Day) string {
	end := day.End()
	if end.IsZero() || p.IsProven(day) {
		return ""
	}
	switch byClock, byHeader := !p.Clock.Before(end), !p.Header.Before(end); {
	case byClock && !p.HasHeader():
		return "it is past by this machine's clock, and no Date header of the provider from the last 48 hours confirms the clock"
	case byClock:
		return fmt.Sprintf("it is past by this machine's clock, and not by the Date header of the provider, %s: set the clock that is wrong", p.Header.UTC().Format(time.RFC3339))
	case byHeader && p.HasHeader():
		return fmt.Sprintf("it is past by the Date header of the provider, %s, and not by this machine's clock: set the clock that is wrong", p.Header.UTC().Format(time.RFC3339))
	}
	return ""
}
