package rate

import (
	"math"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

const mib = 1 << 20

func mustParse(t *testing.T, text string) Timetable {
	t.Helper()
	table, err := Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return table
}

func TestTheRateFollowsTheTimetable(t *testing.T) {
	const daily, weekly = "08:00,20MiB 18:00,off", "Mon-08:00,20MiB Fri-18:00,off"
	for _, row := range []struct {
		name, table, now string
		rate             int64
		from, until      string
	}{
		{"before the first entry", daily, "2026-11-23 07:59:59", 0, "2026-11-22 18:00:00", "2026-11-23 08:00:00"},
		{"at an entry", daily, "2026-11-23 08:00:00", 20 * mib, "2026-11-23 08:00:00", "2026-11-23 18:00:00"},
		{"at the end of a year", daily, "2026-12-31 23:59:59", 0, "2026-12-31 18:00:00", "2027-01-01 08:00:00"},
		{"in the week", weekly, "2026-11-25 23:00:00", 20 * mib, "2026-11-23 08:00:00", "2026-11-27 18:00:00"},
		{"at the weekend", weekly, "2026-11-23 07:00:00", 0, "2026-11-20 18:00:00", "2026-11-23 08:00:00"},
		{"one entry a week", "Sunday-00:00,1MiB", "2026-11-28 23:59:00", mib, "2026-11-22 00:00:00", "2026-11-29 00:00:00"},
		{"a letter of rclone", "08:00,512k 18:00,0", "2026-11-23 08:00:00", 512 << 10, "2026-11-23 08:00:00", "2026-11-23 18:00:00"},
		{"entries in another order", "18:00,off  08:00,20MiB", "2026-11-23 12:00:00", 20 * mib, "2026-11-23 08:00:00", "2026-11-23 18:00:00"},
		{"a day before every day", "08:00,1MiB Mon-08:00,2MiB", "2026-11-23 12:00:00", 2 * mib, "2026-11-23 08:00:00", "2026-11-24 08:00:00"},
	} {
		t.Run(row.name, func(t *testing.T) {
			at := func(text string) time.Time {
				moment, err := time.ParseInLocation(time.DateTime, text, time.UTC)
				if err != nil {
					t.Fatal(err)
				}
				return moment
			}
			got := mustParse(t, row.table).At(at(row.now))
			if want := (Phase{row.rate, at(row.from), at(row.until)}); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestDaylightSavingNeitherDropsNorRepeatsAnEntry(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	table := mustParse(t, "01:15,1MiB 01:45,2MiB 02:30,3MiB 12:00,off")
	for _, row := range []struct {
		name, utc string
		rate      int64
		until     string
	}{
		{"before the skipped hour", "2026-03-08 06:59:59", 2 * mib, "2026-03-08 07:00:00"},
		{"the skipped entry begins at the skip", "2026-03-08 07:00:00", 3 * mib, "2026-03-08 16:00:00"},
		{"the hour shows the first time", "2026-11-01 05:15:00", mib, "2026-11-01 05:45:00"},
		{"its second entry", "2026-11-01 05:45:00", 2 * mib, "2026-11-01 07:30:00"},
		{"the hour shows again", "2026-11-01 06:20:00", 2 * mib, "2026-11-01 07:30:00"},
		{"after the hour", "2026-11-01 07:30:00", 3 * mib, "2026-11-01 17:00:00"},
	} {
		now, err := time.Parse(time.DateTime, row.utc)
		if err != nil {
			t.Fatal(err)
		}
		got := table.At(now.In(zone))
		if got.Rate != row.rate || got.Until.UTC().Format(time.DateTime) != row.until {
			t.Errorf("%s: %d until %s", row.name, got.Rate, got.Until.UTC())
		}
	}
}

func TestOneRateAppliesAlways(t *testing.T) {
	for text, want := range map[string]int64{"": 0, " ": 0, "0": 0, "off": 0, "OFF": 0, "512": 512, "50MiB": 50 * mib, "50MiB/s": 50 * mib, "1 kB": 1000} {
		if got := mustParse(t, text).At(time.Now()); got != (Phase{Rate: want}) {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestTextsThatAreNoTimetable(t *testing.T) {
	for text, want := range map[string]string{
		"fast": "is not a size", "15EiB": "is too large", "0.1B": "is less than one byte per second", "-5MiB": "is not a size",
		"08:00,512": "has no unit", "08:00,512/s": "has no unit", "Mon-08:00,1MiB Fri-18:00,1.5": "has no unit",
		"8:00,1MiB": "is not HH:MM", "24:00,1MiB": "is not HH:MM", "08:60,1MiB": "is not HH:MM", "0800,1MiB": "is not HH:MM", "+8:00,1MiB": "is not HH:MM",
		"Mo-08:00,1MiB": "whose day is not", "-08:00,1MiB": "whose day is not", "Mon-,1MiB": "is not HH:MM", "Mon-Tue-08:00,1MiB": "is not HH:MM",
		"08:00,": "is not TIME,RATE", ",": "is not TIME,RATE", "08:00,1MiB 09:00": "is not TIME,RATE", "08:00, 1MiB": "is not TIME,RATE",
		"08:00,1MiB:2MiB": "is not a size", "08:00,1MiB 08:00,off": "two entries for the same time", "Mon-08:00,1MiB monday-08:00,off": "two entries",
	} {
		if table, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %q", text, table, err, want)
		}
	}
}

// FuzzParse checks that a table that is accepted has a phase for every moment.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "50MiB", "off", "08:00,20MiB 18:00,off", "Mon-08:00,20MiB Fri-18:00,off", "00:00,1B", "23:59,9EiB", "sunday-02:30,0", ",", "08:00,1MiB 08:00,2MiB"} {
		f.Add(text, int64(1_793_000_000))
	}
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		table, err := Parse(text)
		if err != nil {
			if !table.Equal(Timetable{}) || len(text) > 3 && strings.Contains(err.Error(), text) {
				t.Fatalf("%v, %v", table, err)
			}
			return
		}
		now := time.Unix(unix%math.MaxUint32, 0).In(zone)
		phase := table.At(now)
		switch {
		case phase.Rate < 0:
			t.Fatalf("rate %d", phase.Rate)
		case len(table.entries) == 0:
			if phase != table.At(now.Add(time.Hour)) {
				t.Fatalf("%v changes", phase)
			}
		case phase.From.After(now) || !phase.Until.After(now) || phase.Until.Sub(phase.From) > 8*24*time.Hour:
			t.Fatalf("%s is not in %v", now, phase)
		case table.At(phase.Until).From != phase.Until:
			t.Fatalf("%v does not end at its end", phase)
		}
	})
}
