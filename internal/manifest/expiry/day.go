package expiry

import (
	"fmt"
	"time"
)

// Day is a UTC day, `YYYY-MM-DD`, the last on which data may be used. "" is no day: the data
// does not expire. Days compare as texts.
type Day string

// The years that a day from outside may have. A program that means "never" or "unknown" by a
// date tells the year 1, 1970 or 9999.
const (
	firstYear = 2000
	lastYear  = 2099
)

// ParseDay reads a day that came from outside.
func ParseDay(text string) (Day, error) {
	t, err := time.Parse(time.DateOnly, text)
	switch {
	case err != nil:
		return "", fmt.Errorf("%.40q is no day of the form YYYY-MM-DD", text)
	case t.Year() < firstYear || t.Year() > lastYear:
		return "", fmt.Errorf("%.40q is not between the years %d and %d", text, firstYear, lastYear)
	}
	return dayOf(t), nil
}

// dayOf is the day of a time, "" for one that has no text of this form.
func dayOf(t time.Time) Day {
	if t = t.UTC(); t.Year() < 0 || t.Year() > 9999 {
		return ""
	}
	return Day(t.Format(time.DateOnly))
}

// End is when data may be used no more: midnight after the day. It is the zero time for no
// day.
func (d Day) End() time.Time {
	t, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return time.Time{}
	}
	return t.AddDate(0, 0, 1)
}

// Before is the day so many days earlier.
func (d Day) Before(days int) Day {
	t, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return ""
	}
	return dayOf(t.AddDate(0, 0, -days))
}

// Earlier returns the earlier of two days. No day is later than any.
func Earlier(a, b Day) Day {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}
