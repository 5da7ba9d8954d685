package catalogue

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// month is a release of the form YYYY.MM, counted in months.
type month int

func monthOf(year, m int) month { return month(year*12 + m - 1) }

// parseMonth reads YYYY, sep, MM.
func parseMonth(s, sep string) (month, bool) {
	y, m, ok := strings.Cut(s, sep)
	if !ok || len(y) != 4 || len(m) != 2 {
		return 0, false
	}
	year, err1 := strconv.ParseUint(y, 10, 16)
	number, err2 := strconv.ParseUint(m, 10, 8)
	if err1 != nil || err2 != nil || number < 1 || number > 12 {
		return 0, false
	}
	return monthOf(int(year), int(number)), true
}

// String returns the release's name.
func (m month) String() string { return fmt.Sprintf("%04d.%02d", int(m)/12, int(m)%12+1) }

// IsMonth returns whether a release has the form YYYY.MM.
func IsMonth(release string) bool {
	_, ok := parseMonth(release, ".")
	return ok
}

// CompareReleases orders months by time, and puts other names before them.
func CompareReleases(a, b string) int {
	x, xOK := parseMonth(a, ".")
	y, yOK := parseMonth(b, ".")
	switch {
	case xOK && yOK:
		return cmp.Compare(x, y)
	case xOK:
		return 1
	case yOK:
		return -1
	}
	return strings.Compare(a, b)
}

// ResolveRelease finds a release by its name or by an alias: latest, YYYY-MM,
// YYYY.Qn or YYYY.Bn. The available releases are sorted, the newest last. See
// docs/wire/releases.md, "Releases".
func ResolveRelease(available []string, asked string) (string, bool) {
	for _, r := range available {
		if strings.EqualFold(r, asked) {
			return r, true
		}
	}
	if strings.EqualFold(asked, "latest") && len(available) > 0 {
		return available[len(available)-1], true
	}
	first, last, ok := period(asked)
	if !ok {
		return "", false
	}
	for i := len(available) - 1; i >= 0; i-- {
		if m, ok := parseMonth(available[i], "."); ok && first <= m && m <= last {
			return available[i], true
		}
	}
	return "", false
}

// period reads an alias for months: YYYY-MM, YYYY.Qn or YYYY.Bn. The provider does
// not say whose B6 a January belongs to; here it belongs to the year before.
func period(alias string) (first, last month, ok bool) {
	if m, ok := parseMonth(alias, "-"); ok {
		return m, m, true
	}
	if len(alias) != 7 || alias[4] != '.' {
		return 0, 0, false
	}
	year, err := strconv.ParseUint(alias[:4], 10, 16)
	n := int(alias[6] - '0')
	if err != nil || n < 1 {
		return 0, 0, false
	}
	switch kind := alias[5] | 0x20; {
	case kind == 'q' && n <= 4:
		first = monthOf(int(year), 3*n-2)
		return first, first + 2, true
	case kind == 'b' && n <= 6:
		first = monthOf(int(year), 2*n)
		return first, first + 1, true
	}
	return 0, 0, false
}
