package expiry

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"syncd/internal/manifest"
)

// Span is a number of months or of days. The zero value is none.
type Span struct {
	Months int
	Days   int
}

// The longest spans.
const (
	maxMonths = 120
	maxDays   = 3660
)

// ParseSpan reads `Nmo`, a number of months from 1 to 120, or `Nd`, a number of days from 1
// to 3660.
func ParseSpan(text string) (s Span, err error) {
	switch number, isMonths := strings.CutSuffix(text, "mo"); {
	case isMonths:
		s.Months, err = parseNumber(number, maxMonths)
	default:
		s.Days, err = ParseDays(text)
	}
	if err != nil {
		return Span{}, fmt.Errorf("%.20q is neither a number of months from 1mo to %dmo nor of days from 1d to %dd", text, maxMonths, maxDays)
	}
	return s, nil
}

// ParseDays reads `Nd`, a number of days from 1 to 3660.
func ParseDays(text string) (int, error) {
	number, isDays := strings.CutSuffix(text, "d")
	n, err := parseNumber(number, maxDays)
	if !isDays || err != nil {
		return 0, fmt.Errorf("%.20q is not a number of days from 1d to %dd", text, maxDays)
	}
	return n, nil
}

// parseNumber reads decimal digits without a sign or a leading zero.
func parseNumber(text string, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most || strconv.Itoa(n) != text {
		return 0, strconv.ErrRange
	}
	return n, nil
}

// String is the span as ParseSpan reads it.
func (s Span) String() string {
	if s.Months > 0 {
		return strconv.Itoa(s.Months) + "mo"
	}
	return strconv.Itoa(s.Days) + "d"
}

// DefaultWarn is how many days before its last day data counts as expiring.
const DefaultWarn = 14

// Rule says how long the data of a manifest may be used, and what follows. The zero value
// knows only the days that gates tell.
type Rule struct {
	After    Span // from the first day of the release's month; none if only a gate tells the day
	Warn     int  // days
	Withdraw bool // expired data leaves `current`
}

// Day is the last day on which a release may be used. told is what a gate said, "" for
// nothing. The earlier day counts.
func (r Rule) Day(release manifest.Release, told Day) Day {
	first, known := firstDay(release)
	if !known || r.After == (Span{}) {
		return told
	}
	return Earlier(dayOf(first.AddDate(0, r.After.Months, r.After.Days)), told)
}

// IsExpiring is true in the last days before the end of a day, and after it.
func (r Rule) IsExpiring(day Day, now Present) bool {
	if day == "" {
		return false
	}
	warn := r.Warn
	if warn == 0 {
		warn = DefaultWarn
	}
	return now.IsPast(day.Before(warn))
}

// firstDay is the day from which the time of a release counts: the first of its month, for
// quarters and two-month periods that of the last month. The last two-month period ends in
// the January after its year.
func firstDay(release manifest.Release) (time.Time, bool) {
	text := string(release)
	if release.IsMonth() {
		t, err := time.Parse("2006.01", text)
		return t, err == nil
	}
	parsed, err := manifest.ParseRelease(text)
	if err != nil || parsed == manifest.Latest {
		return time.Time{}, false
	}
	year, err := strconv.Atoi(text[:4])
	n := int(text[6] - '0')
	month := 3 * n // of a quarter
	if text[5] == 'B' {
		month = 2*n + 1
	}
	return time.Date(year, time.Month(month), 1, 0, 0, 0, 0, time.UTC), err == nil
}
