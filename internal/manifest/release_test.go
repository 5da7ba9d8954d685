package manifest

import (
	"strings"
	"testing"
	"time"
)

func TestParseRelease(t *testing.T) {
	rows := []struct {
		text string
		want Release // "" for an error
	}{
		{"2026.10", "2026.10"}, {"2026-10", "2026.10"}, {"2026.01", "2026.01"}, {"2026-12", "2026.12"},
		{"2026.Q1", "2026.Q1"}, {"2026.q4", "2026.Q4"}, {"2026.B1", "2026.B1"}, {"2026.b6", "2026.B6"},
		{"latest", Latest}, {"LATEST", Latest}, {"Latest", Latest},
		{"", ""}, {"2026", ""}, {"2026.", ""}, {"2026.1", ""}, {"2026.00", ""}, {"2026.13", ""}, {"2026.100", ""},
		{"26.10", ""}, {"12026.10", ""}, {"2026.Q0", ""}, {"2026.Q5", ""}, {"2026.B0", ""}, {"2026.B7", ""},
		{"2026_10", ""}, {"2026/10", ""}, {" 2026.10", ""}, {"2026.10\n", ""}, {"-2026.10", ""}, {"lateste", ""},
		{"２０２６.10", ""}, {"2026.10\x00", ""}, {"../2026.10", ""},
	}
	for _, row := range rows {
		got, err := ParseRelease(row.text)
		if got != row.want || (err == nil) != (row.want != "") {
			t.Errorf("%q is %q, %v; want %q", row.text, got, err, row.want)
		}
	}
}

func TestOnlyMonthsCompare(t *testing.T) {
	rows := []struct {
		a, b Release
		want bool
	}{
		{"2026.10", "2026.09", true}, {"2026.01", "2025.12", true}, {"2026.09", "2026.10", false}, {"2026.10", "2026.10", false},
		{"2026.Q4", "2026.01", false}, {"2026.10", "2025.Q1", false}, {"2026.10", "", false}, {"2026.10", Latest, false}, {Latest, "2026.10", false},
	}
	for _, row := range rows {
		if got := row.a.Newer(row.b); got != row.want {
			t.Errorf("%q newer than %q: %v", row.a, row.b, got)
		}
	}
}

func TestMonthsBetweenReleases(t *testing.T) {
	rows := []struct {
		from, to Release
		want     int
	}{
		{"2026.09", "2026.10", 1},
		{"2025.12", "2026.01", 1},
		{"2024.11", "2026.02", 15},
		{"2026.10", "2026.10", 0},
		{"2026.10", "2026.09", 0},
		{"2026.Q3", "2026.10", 0},
		{"", "2026.10", 0},
		{"2026.10", "", 0},
	}
	for _, row := range rows {
		if got := row.from.MonthsTo(row.to); got != row.want {
			t.Errorf("from %q to %q: %d months, want %d", row.from, row.to, got, row.want)
		}
	}
}

func TestReleaseMoreThanTwoMonthsAheadOfTheClock(t *testing.T) {
	november := time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC)
	rows := []struct {
		name       string
		release    Release
		now, built time.Time
		want       bool
	}{
		{"this month", "2026.11", november, time.Time{}, false},
		{"two months ahead", "2027.01", november, time.Time{}, false},
		{"three months ahead", "2027.02", november, time.Time{}, true},
		{"the month of UTC counts", "2027.02", november.Add(time.Second).In(time.FixedZone("", -3600)), time.Time{}, false},
		{"far ahead", "9999.12", november, time.Time{}, true},
		{"past", "0001.01", november, time.Time{}, false},
		{"an alias", "2099.Q4", november, time.Time{}, false},
		{"latest", Latest, november, time.Time{}, false},
		{"clock older than the program", "9999.12", november, november.Add(time.Second), false},
		{"clock as old as the program", "9999.12", november, november, true},
		{"clock without a battery", "2026.11", time.Unix(0, 0), time.Time{}, false},
	}
	for _, row := range rows {
		if got := row.release.TooFarAhead(row.now, row.built); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}

func TestNewestOfAList(t *testing.T) {
	rows := []struct {
		name    string
		ids     []string
		want    Release
		ignored []string
	}{
		{"sorted", []string{"2025.12", "2026.01"}, "2026.01", nil},
		{"unsorted and repeated", []string{"2026.09", "2026.10", "2025.12", "2026.10"}, "2026.10", nil},
		{"ids of another form", []string{"2026.99", "9999-beta", "2026.10", "2027.Q1", "latest", ""}, "2026.10", []string{"2026.99", "9999-beta", "2027.Q1", "latest", ""}},
		{"the synonym counts", []string{"2026-11", "2026.10"}, "2026.11", nil},
		{"only others", []string{"beta", "2026.B1"}, "", []string{"beta", "2026.B1"}},
		{"none", nil, "", nil},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got, ignored := Newest(row.ids)
			if got != row.want {
				t.Errorf("newest %q, want %q", got, row.want)
			}
			same(t, row.ignored, ignored)
		})
	}
}

func FuzzParseRelease(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRelease(text)
		if err != nil {
			if r != "" {
				t.Fatalf("%q with %v", r, err)
			}
			return
		}
		if CheckSegment(string(r)) != nil || len(r) > 7 || strings.Trim(string(r), "0123456789.QBlates") != "" {
			t.Fatalf("%q became %q", text, r)
		}
		if again, err := ParseRelease(string(r)); err != nil || again != r {
			t.Fatalf("%q reads as %q, %v", r, again, err)
		}
		newest, _ := Newest([]string{text, "0000.01"})
		if r.IsMonth() != (newest == r) && r != "0000.01" {
			t.Fatalf("newest of %q is %q", text, newest)
		}
	})
}
