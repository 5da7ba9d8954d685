package forecast

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/manifest"
)

func day(text string) time.Time {
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return at
}

func arrivals(pairs ...string) (all []Arrival) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, Arrival{Release: manifest.Release(pairs[i]), At: day(pairs[i+1])})
	}
	return all
}

func TestTheNextReleaseIsDueByTheHabitsOfThePast(t *testing.T) {
	for _, row := range []struct {
		name   string
		past   Past
		newest string
		due    string // "" for unknown
	}{
		{"nothing known", Past{}, "2026.10", ""},
		{"no month", Past{Months: 1}, "2026.Q4", ""},
		{"a list only", Past{Months: 1}, "2026.10", "2026-12-01"},
		{"a list of quarters", Past{Months: 3}, "2026.10", "2027-02-01"},
		{"one arrival", Past{Months: 1, Arrivals: arrivals("2026.10", "2026-10-12")}, "2026.10", "2026-12-01"},
		{"two arrivals", Past{Arrivals: arrivals("2026.09", "2026-09-12", "2026.10", "2026-10-12")}, "2026.10", "2026-11-11"},
		{"the usual distance", Past{Months: 1, Arrivals: arrivals("2026.06", "2026-06-10", "2026.07", "2026-07-10", "2026.08", "2026-08-20", "2026.09", "2026-09-10", "2026.10", "2026-10-10")}, "2026.10", "2026-11-09"},
		{"a release was missed", Past{Months: 1, Arrivals: arrivals("2026.06", "2026-06-10", "2026.08", "2026-08-10", "2026.10", "2026-10-10")}, "2026.10", "2026-11-09"},
		{"quarters", Past{Months: 3, Arrivals: arrivals("2026.04", "2026-04-15", "2026.07", "2026-07-15", "2026.10", "2026-10-15")}, "2026.10", "2027-01-14"},
		{"a clock that was set back", Past{Months: 1, Arrivals: arrivals("2026.09", "2026-10-12", "2026.10", "2026-09-12")}, "2026.10", "2026-12-01"},
		{"the last month that there is", Past{Months: 1}, "9999.12", ""},
		{"releases of an endless distance", Past{Arrivals: arrivals("2026.10", "2026-10-12", "9999.12", "2026-10-13")}, "2026.10", ""},
		{"lists of an endless distance", Past{Months: 95700}, "2026.10", ""},
		{"the newest did not arrive here", Past{Months: 1, Arrivals: arrivals("2026.08", "2026-08-12", "2026.09", "2026-09-12")}, "2026.10", "2026-12-01"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := ""
			if due := row.past.Due(manifest.Release(row.newest)); !due.IsZero() {
				got = due.Format(time.DateOnly)
			}
			if got != row.due {
				t.Errorf("due %q, want %q", got, row.due)
			}
		})
	}
}

// A demo, a test or a provider that catches up publishes months within minutes.
func TestReleasesInLessThanADayTellNothingOfTheNextOne(t *testing.T) {
	start := day("2026-10-12")
	every := func(interval time.Duration, releases ...manifest.Release) (all []Arrival) {
		for i, r := range releases {
			all = append(all, Arrival{Release: r, At: start.Add(time.Duration(i) * interval)})
		}
		return all
	}
	for _, row := range []struct {
		name   string
		past   Past
		newest manifest.Release
		late   bool // half a year later
	}{
		{"a minute", Past{Months: 1, Arrivals: every(time.Minute, "2026.08", "2026.09", "2026.10")}, "2026.10", false},
		{"23 hours", Past{Months: 1, Arrivals: every(23*time.Hour, "2026.08", "2026.09", "2026.10")}, "2026.10", false},
		{"a newer one is not there yet", Past{Months: 1, Arrivals: every(time.Minute, "2026.08", "2026.09")}, "2026.10", false},
		{"a day", Past{Months: 1, Arrivals: every(24*time.Hour, "2026.08", "2026.09", "2026.10")}, "2026.10", true},
		{"a quarter each day, by three months", Past{Months: 3, Arrivals: every(24*time.Hour, "2026.04", "2026.07", "2026.10")}, "2026.10", true},
		{"one day of catching up in a usual year", Past{Months: 1, Arrivals: append(arrivals("2026.05", "2026-05-12", "2026.06", "2026-06-12", "2026.07", "2026-07-12"), every(time.Hour, "2026.09", "2026.10")...)}, "2026.10", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			if late := row.past.IsLate(row.newest, start.AddDate(0, 6, 0)); late != row.late {
				t.Errorf("late %v, due %v", late, row.past.Due(row.newest))
			}
		})
	}
}

func TestTheListTellsTheDistanceOfReleases(t *testing.T) {
	for name, row := range map[string]struct {
		ids  []string
		want int
	}{
		"none":           {nil, 0},
		"one":            {[]string{"2026.10"}, 0},
		"months":         {[]string{"2026.10", "2026.08", "2026.09", "2026.09", "latest"}, 1},
		"quarters":       {[]string{"2026.01", "2026.04", "2026.07", "2026.10"}, 3},
		"a gap":          {[]string{"2026.06", "2026.07", "2026.09", "2026.10"}, 1},
		"of the new age": {[]string{"2000.01", "2026.09", "2026.10", "2026.11"}, 1},
	} {
		var p Past
		if p.List(row.ids, day("2026-11-23")); p.Months != row.want {
			t.Errorf("%s: %d months, want %d", name, p.Months, row.want)
		}
	}
}

func TestArrivalsAreKeptForAYear(t *testing.T) {
	var p Past
	for year := 2020; year < 2022; year++ {
		for month := time.January; month <= time.December; month++ {
			at := time.Date(year, month, 10, 0, 0, 0, 0, time.UTC)
			p.Arrive(manifest.Release(at.Format("2006.01")), at)
			p.Arrive(manifest.Release(at.Format("2006.01")), at.Add(time.Hour)) // again
			p.Arrive("2019.12", at)                                             // older
			p.Arrive("2021.Q4", at)
		}
	}
	if len(p.Arrivals) != 12 || p.Arrivals[0].Release != "2021.01" || p.Arrivals[11].Release != "2021.12" || p.Arrivals[11].At != day("2021-12-10") {
		t.Errorf("%+v", p.Arrivals)
	}
}

func TestTheNextReleasesTakeAsMuchAsTheLargestRecentOne(t *testing.T) {
	p := Past{Arrivals: arrivals("2026.06", "2026-06-10", "2026.07", "2026-07-10", "2026.08", "2026-08-10", "2026.09", "2026-09-10")}
	if p.Growth(0, 2) != 0 {
		t.Error("something is known of unknown sizes")
	}
	for release, bytes := range map[manifest.Release]int64{"2026.06": 1000, "2026.07": 10, "2026.08": 15, "2026.09": 5, "2026.10": 7777} {
		p.Download(release, bytes)
	}
	p.Download("2026.08", 5)
	for _, row := range []struct {
		kept, retain int
		want         int64
	}{{0, 0, 20}, {1, 0, 20}, {2, 2, 20}, {1, 2, 40}, {0, 2, 60}, {0, 50, 60}} {
		if got := p.Growth(row.kept, row.retain); got != row.want {
			t.Errorf("%d kept of %d: %d, want %d", row.kept, row.retain, got, row.want)
		}
	}
}

func TestReleaseThatCannotExistYetIsNotNoted(t *testing.T) {
	past := Past{Arrivals: arrivals("2026.10", "2026-10-12", "9999.12", "2026-11-20")} // as earlier versions noted it
	past.Arrive("9999.11", day("2026-11-23"))
	past.Arrive("2026.11", day("2026-11-24"))
	if diff := cmp.Diff(arrivals("2026.10", "2026-10-12", "2026.11", "2026-11-24"), past.Arrivals); diff != "" {
		t.Error(diff)
	}
	past.List([]string{"2026.09", "2026.10", "2026.11", "9999.10", "9999.11", "9999.12"}, day("2026-11-24"))
	if past.Months != 1 || past.Due("2026.11").Year() > 2027 {
		t.Errorf("a release each %d months, the next one at %v", past.Months, past.Due("2026.11"))
	}
}
