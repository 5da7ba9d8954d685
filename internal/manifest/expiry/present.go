package expiry

import (
	"fmt"
	"time"
)

// Present is what two witnesses say about the present time: this machine's clock, and the
// last Date header of the provider or the upstream. Bundles bring no header. With them, the
// second witness is the last one that was taken, and the time that syncd itself saw pass.
type Present struct {
	Clock  time.Time
	Header time.Time // the Date header; zero if none was ever seen
	SeenAt time.Time // by this machine's clock

	Issued   time.Time // when the newest bundle was, at the latest when it was taken; zero for none
	Steady   time.Time // the clock without its steps ahead, see Look; zero if headers are the witness
	LookedAt time.Time // by this machine's clock, for Steady
}

// HeaderCounts is how long a Date header says what the time is. Without headers, it is the
// longest step ahead of the clock that counts.
const HeaderCounts = 48 * time.Hour

// slack is by how much two clocks differ, or one may be set back, without a doubt.
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

// Heed takes a Date header that was sent just now. It is a better witness than a bundle.
func (p Present) Heed(header time.Time) Present {
	p.Header, p.SeenAt, p.Steady, p.LookedAt = header, p.Clock, time.Time{}, time.Time{}
	return p
}

// Carry takes the time at which a bundle was issued: it cannot be earlier now. A time in the
// future proves nothing, because somebody's clock is wrong by more than clocks differ.
func (p Present) Carry(issued time.Time) Present {
	p = p.Begin()
	if p.IsCarried() && !issued.Add(-slack).After(p.Clock) {
		if issued.After(p.Clock) {
			issued = p.Clock
		}
		p.Issued, p.Steady = later(p.Issued, issued), later(p.Steady, issued)
	}
	return p
}

// Begin makes the time that syncd sees pass the second witness.
func (p Present) Begin() Present {
	if !p.IsCarried() && !p.Clock.Before(sound) {
		p.Steady, p.LookedAt = p.Clock, p.Clock
	}
	return p
}

// IsCarried is true if no header is the second witness, but bundles and the time that passed.
func (p Present) IsCarried() bool { return !p.Steady.IsZero() }

// Look is p when the clock says now. Steady goes on with the clock, by HeaderCounts at most
// since the last look: a clock that was set ahead, while syncd ran or did not, is not believed,
// and a machine that was off loses what was longer than that until a newer bundle is taken.
func (p Present) Look(now time.Time) Present {
	p.Clock = now
	if !p.IsCarried() || now.Before(sound) {
		return p
	}
	if ahead := now.Sub(p.LookedAt); now.Before(p.Steady.Add(-HeaderCounts)) {
		p.Steady = now // it was wrong before, or is now
	} else if next := p.Steady.Add(min(max(ahead, 0), HeaderCounts)); next.After(now) {
		p.Steady = later(p.Steady, now)
	} else {
		p.Steady = next
	}
	p.LookedAt = now
	return p
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// HasCome is true if a time has come by the clock and by the second witness. Data may go that
// is not served.
func (p Present) HasCome(at time.Time) bool {
	isProven := p.HasHeader() && !p.Header.Before(at) || p.IsCarried() && !p.Steady.Before(at)
	return isProven && !p.Clock.Before(at)
}

// IsPast is true if data with that last day must not go live any more. The header decides,
// because it tells a wrong clock; without one, the clock does. Time never runs back, so that
// a day that a header or a bundle saw the end of is past, however old that is.
func (p Present) IsPast(day Day) bool {
	switch end := day.End(); {
	case end.IsZero():
		return false
	case !later(p.Header, p.Issued).Before(end) && !later(p.Header, p.Issued).Before(sound):
		return true
	case p.HasHeader():
		return !p.Header.Add(p.age()).Before(end)
	default:
		return !p.Clock.Before(end) && !p.Clock.Before(sound)
	}
}

// IsProven is true if data with that last day may be withdrawn: the day is past by the clock
// and by a header that counts, or a bundle was issued after it. A wrong clock must not withdraw
// everything, and Steady may have begun with one.
func (p Present) IsProven(day Day) bool {
	end := day.End()
	isProven := p.HasHeader() && !p.Header.Before(end) || !p.Issued.Before(end)
	return !end.IsZero() && isProven && !p.Clock.Before(end)
}

// Doubt says why a day that is past by one witness is not proven to be past. It is "" for a
// day that is past by both, or by none.
func (p Present) Doubt(day Day) string {
	end := day.End()
	if end.IsZero() || p.IsProven(day) {
		return ""
	}
	switch byClock, byHeader := !p.Clock.Before(end), !p.Header.Before(end); {
	case byClock && p.IsCarried():
		return "it is past by this machine's clock, and no bundle that was issued after it confirms the clock: import a newer one"
	case byClock && !p.HasHeader():
		return "it is past by this machine's clock, and no Date header of the provider from the last 48 hours confirms the clock"
	case byClock:
		return fmt.Sprintf("it is past by this machine's clock, and not by the Date header of the provider, %s: set the clock that is wrong", p.Header.UTC().Format(time.RFC3339))
	case byHeader && p.HasHeader():
		return fmt.Sprintf("it is past by the Date header of the provider, %s, and not by this machine's clock: set the clock that is wrong", p.Header.UTC().Format(time.RFC3339))
	}
	return ""
}
