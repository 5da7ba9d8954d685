package manifest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Release is the version of a manifest or of a file: a month `YYYY.MM`, or an
// alias that only the service resolves (`YYYY.Qn`, `YYYY.Bn`, `latest`).
type Release string

// Latest asks for the newest month that the service lists.
const Latest Release = "latest"

var (
	monthForm = regexp.MustCompile(`^[0-9]{4}\.(0[1-9]|1[0-2])$`)
	aliasForm = regexp.MustCompile(`^[0-9]{4}\.(Q[1-4]|B[1-6])$`)
)

// ParseRelease reads `YYYY.MM`, its synonym `YYYY-MM`, `YYYY.Qn`, `YYYY.Bn`, or
// `latest` in any case.
func ParseRelease(s string) (Release, error) {
	if strings.EqualFold(s, string(Latest)) {
		return Latest, nil
	}
	canonical := strings.ToUpper(s)
	if len(canonical) == len("YYYY-MM") && canonical[4] == '-' {
		canonical = canonical[:4] + "." + canonical[5:]
	}
	if monthForm.MatchString(canonical) || aliasForm.MatchString(canonical) {
		return Release(canonical), nil
	}
	return "", fmt.Errorf("release %.32q is not of the form YYYY.MM, YYYY.Qn, YYYY.Bn or latest", s)
}

// IsMonth is true for `YYYY.MM`, the only form that can be compared.
func (r Release) IsMonth() bool { return monthForm.MatchString(string(r)) }

// Newer is true when r and other are months and r is the later one.
func (r Release) Newer(other Release) bool {
	return r.IsMonth() && other.IsMonth() && r > other // fixed width: text order is time order
}

// MonthsTo is the number of months from r to the later release other; 0 when it is
// not later, or when one of them is not a month.
func (r Release) MonthsTo(other Release) int {
	if !other.Newer(r) {
		return 0
	}
	return other.months() - r.months()
}

// maxAhead is how many months before its time a provider may publish a release.
const maxAhead = 2

// sound is a time before which no clock is right: this line is younger.
var sound = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// TooFarAhead is true when r is a month more than two months ahead of the clock. No
// release is too far ahead for a clock that is older than the program, because that
// clock is wrong. built is when the program was built, zero when that is not known.
func (r Release) TooFarAhead(now, built time.Time) bool {
	if now.Before(built) || now.Before(sound) {
		return false
	}
	return Release(now.UTC().Format("2006.01")).MonthsTo(r) > maxAhead
}

// months is the number of months since the year 0. r must be a month.
func (r Release) months() int {
	year, _ := strconv.Atoi(string(r[:4]))
	month, _ := strconv.Atoi(string(r[5:]))
	return 12*year + month
}

// Newest returns the latest month of ids, which may be unsorted and repeated; "" for
// none. ignored are the ids that are not months.
func Newest(ids []string) (newest Release, ignored []string) {
	for _, id := range ids {
		r, err := ParseRelease(id)
		if err != nil || !r.IsMonth() {
			ignored = append(ignored, id)
			continue
		}
		newest = max(newest, r)
	}
	return newest, ignored
}

// Aliases are the quarter and the two-month periods that a month may belong to. The
// provider alone knows to whose B6 a January belongs.
func (r Release) Aliases() []Release {
	if !r.IsMonth() {
		return nil
	}
	year, _ := strconv.Atoi(string(r[:4]))
	month, _ := strconv.Atoi(string(r[5:]))
	alias := func(year int, kind string, n int) Release { return Release(fmt.Sprintf("%04d.%s%d", year, kind, n)) }
	quarter := alias(year, "Q", (month+2)/3)
	if month == 1 {
		return []Release{quarter, alias(year-1, "B", 6), alias(year, "B", 6)}
	}
	return []Release{quarter, alias(year, "B", month/2)}
}
