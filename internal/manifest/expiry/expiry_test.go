package expiry

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"syncd/internal/manifest"
)

func TestTheDayOfARelease(t *testing.T) {
	for _, row := range []struct {
		name    string
		after   string
		release manifest.Release
		told    Day
		want    Day
	}{
		{"months", "3mo", "2026.08", "", "2026-11-01"},
		{"months over a year", "3mo", "2026.11", "", "2027-02-01"},
		{"days", "105d", "2026.08", "", "2026-11-14"},
		{"days over a leap day", "60d", "2028.01", "", "2028-03-01"},
		{"days over no leap day", "60d", "2026.01", "", "2026-03-02"},
		{"one day", "1d", "2026.12", "", "2026-12-02"},
		{"ten years", "120mo", "2026.08", "", "2036-08-01"},
		{"first quarter", "1mo", "2026.Q1", "", "2026-04-01"},
		{"last quarter", "3mo", "2026.Q4", "", "2027-03-01"},
		{"February and March", "1mo", "2026.B1", "", "2026-04-01"},
		{"October and November", "10d", "2026.B5", "", "2026-11-11"},
		{"December and January", "1mo", "2026.B6", "", "2027-02-01"},
		{"told earlier", "3mo", "2026.08", "2026-10-31", "2026-10-31"},
		{"told later", "3mo", "2026.08", "2026-12-31", "2026-11-01"},
		{"told alone", "", "2026.08", "2026-12-31", "2026-12-31"},
		{"told of no release", "3mo", "latest", "2026-12-31", "2026-12-31"},
		{"nothing", "", "2026.08", "", ""},
		{"a release of no form", "3mo", "x", "", ""},
		{"beyond the calendar", "1mo", "9999.12", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var rule Rule
			if row.after != "" {
				var err error
				if rule.After, err = ParseSpan(row.after); err != nil || rule.After.String() != row.after {
					t.Fatalf("%v, %v", rule.After, err)
				}
			}
			if got := rule.Day(row.release, row.told); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestSpansAndDaysThatAreRefused(t *testing.T) {
	for _, text := range []string{"", "mo", "d", "0d", "0mo", "-1d", "+1d", "01d", "1", "1m", "1 d", "1.5mo", "3661d", "121mo", "1mod", "1dmo", "99999999999999999999d", "３mo"} {
		if s, err := ParseSpan(text); err == nil {
			t.Errorf("span %q: %+v", text, s)
		}
	}
	for _, text := range []string{"", "0001-01-01", "9999-12-31", "1999-12-31", "2100-01-01", "2026-02-30", "2026-13-01", "2026-1-1", "26-12-31", "2026-12-31T00:00:00Z", "2026/12/31", "never", "2026-12-31 ", "-2026-12-31", "２026-12-31"} {
		if d, err := ParseDay(text); err == nil {
			t.Errorf("day %q: %q", text, d)
		}
	}
	for _, text := range []string{"2000-01-01", "2028-02-29", "2099-12-31"} {
		if d, err := ParseDay(text); err != nil || string(d) != text {
			t.Errorf("day %q: %q, %v", text, d, err)
		}
	}
}

func TestADayEndsAtMidnightUTC(t *testing.T) {
	if got, want := Day("2026-12-31").End(), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if end := Day("").End(); !end.IsZero() {
		t.Errorf("no day ends at %v", end)
	}
}

func TestWhatIsPast(t *testing.T) {
	const day = Day("2026-12-31")
	before, after := time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	month, none := 31*24*time.Hour, time.Time{}
	for _, row := range []struct {
		name          string
		clock, header time.Time
		age           time.Duration
		past, proven  bool
		doubt         string
	}{
		{"the last second", before, before, 0, false, false, ""},
		{"midnight", after, after, 0, true, true, ""},
		{"a clock a month ahead", before.Add(month), before, 0, false, false, "not by the Date header"},
		{"a clock a month behind", after.Add(-month), after, time.Hour, true, false, "not by this machine's clock"},
		{"no header", after, none, 0, true, false, "no Date header"},
		{"no header, in time", before, none, 0, false, false, ""},
		{"a header of 48 hours ago", after.Add(48 * time.Hour), after, 48 * time.Hour, true, true, ""},
		{"an older header", after.Add(49 * time.Hour), after, 49 * time.Hour, true, false, "no Date header"},
		{"a header from before midnight", after.Add(time.Hour), before, 2 * time.Hour, true, false, "not by the Date header"},
		{"an older header from before midnight", after.Add(72 * time.Hour), before, 72 * time.Hour, true, false, "no Date header"},
		{"a clock set back since the header", after.Add(-month), after.Add(time.Hour), -month, true, false, ""},
		{"a clock set back since a header in time", after, before.Add(-month), -month, true, false, "no Date header"},
		{"a header of the year 1", after, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), 0, true, false, "no Date header"},
		{"a header of 1970", after, time.Unix(0, 0), 0, true, false, "no Date header"},
		{"a header of the year 9999", before, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), 0, true, false, "not by this machine's clock"},
	} {
		t.Run(row.name, func(t *testing.T) {
			now := Present{Clock: row.clock, Header: row.header}
			if !row.header.IsZero() {
				now.SeenAt = row.clock.Add(-row.age)
			}
			doubt := now.Doubt(day)
			if now.IsPast(day) != row.past || now.IsProven(day) != row.proven {
				t.Errorf("past %t, proven %t; want %t, %t", now.IsPast(day), now.IsProven(day), row.past, row.proven)
			}
			if (doubt == "") != (row.doubt == "") || !strings.Contains(doubt, row.doubt) {
				t.Errorf("doubt %q, want %q", doubt, row.doubt)
			}
			if now.IsPast("") || now.IsProven("") {
				t.Error("no day is past")
			}
		})
	}
	carried := func(clock, issued time.Time) Present { return Present{Clock: clock}.Carry(issued).Look(clock) }
	for name, row := range map[string]struct {
		now          Present
		past, proven bool
		doubt        string
	}{
		"a bundle from before":                          {carried(after, before), true, false, "no bundle that was issued after it"},
		"a bundle from after":                           {carried(after.Add(month), after), true, true, ""},
		"a bundle from the future":                      {carried(before, after.Add(month)), false, false, ""},
		"a bundle from after, and a clock set back":     {carried(after.Add(month), after).Look(before), true, false, ""},
		"a bundle for a clock from before this program": {carried(time.Unix(1e9, 0), after), false, false, ""},
	} {
		if past, proven, doubt := row.now.IsPast(day), row.now.IsProven(day), row.now.Doubt(day); past != row.past || proven != row.proven || (doubt == "") != (row.doubt == "") || !strings.Contains(doubt, row.doubt) {
			t.Errorf("%s: past %t, proven %t, doubt %q", name, past, proven, doubt)
		}
	}
	if old := (Present{Clock: time.Unix(1e9, 0)}); old.IsPast("2000-01-01") {
		t.Error("a clock that is older than the program decided")
	}
}

func TestExpiringBeginsBeforeTheDay(t *testing.T) {
	at := func(day int) Present { return Present{Clock: time.Date(2026, 12, day, 12, 0, 0, 0, time.UTC)} }
	for _, row := range []struct {
		warn, day int
		want      bool
	}{{0, 17, false}, {0, 18, true}, {0, 31, true}, {1, 30, false}, {1, 31, true}, {30, 2, true}, {30, 1, false}} {
		if got := (Rule{Warn: row.warn}).IsExpiring("2026-12-31", at(row.day)); got != row.want {
			t.Errorf("%d days before, on the %d.: %t", row.warn, row.day, got)
		}
	}
}

// read returns what a gate tells by an output, and the rest.
func read(t *testing.T, output string, size int) (day Day, rest string, err error) {
	t.Helper()
	var to bytes.Buffer
	r := &Reader{To: &to}
	for text := output; text != ""; {
		n := min(size, len(text))
		if written, err := r.Write([]byte(text[:n])); written != n || err != nil {
			t.Fatalf("%d, %v", written, err)
		}
		text = text[n:]
	}
	day, err = r.Close()
	return day, to.String(), err
}

func TestTheLineOfAGate(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, row := range []struct {
		name, output string
		day          Day
		rest, fails  string
	}{
		{"one", "syncd-expires: 2026-12-31\n", "2026-12-31", "", ""},
		{"without an end", "a\nsyncd-expires: 2026-12-31", "2026-12-31", "a\n", ""},
		{"of Windows", "syncd-expires: 2026-12-31\r\nb\r\n", "2026-12-31", "b\r\n", ""},
		{"without a blank", "syncd-expires:2026-12-31\n", "2026-12-31", "", ""},
		{"the earlier of two", "syncd-expires: 2026-12-31\nb\nsyncd-expires: 2026-11-30\n", "2026-11-30", "b\n", ""},
		{"none", "a\n\nb", "", "a\n\nb", ""},
		{"indented", " syncd-expires: 2026-12-31\n", "", " syncd-expires: 2026-12-31\n", ""},
		{"within a line", "x syncd-expires: 2026-12-31\n", "", "x syncd-expires: 2026-12-31\n", ""},
		{"another case", "Syncd-Expires: 2026-12-31\n", "", "Syncd-Expires: 2026-12-31\n", ""},
		{"cut off", "syncd-exp", "", "syncd-exp", ""},
		{"cut off, then a line", "syncd-exp\nb\n", "", "syncd-exp\nb\n", ""},
		{"empty", "syncd-expires:\n", "", "", "no day"},
		{"never", "syncd-expires: never\n", "", "", "no day"},
		{"30 February", "syncd-expires: 2026-02-30\n", "", "", "no day"},
		{"the year 1", "syncd-expires: 0001-01-01\n", "", "", "between the years"},
		{"the year 9999", "syncd-expires: 9999-12-31\n", "", "", "between the years"},
		{"one of two is broken", "syncd-expires: x\nsyncd-expires: 2026-12-31\n", "", "", "no day"},
		{"more behind it", "syncd-expires: 2026-12-31 or so\n", "", "", "no day"},
		{"a zero byte", "syncd-expires: 2026-12-31\x00\n", "", "", "no day"},
		{"a long line", "syncd-expires: 2026-12-31" + strings.Repeat(" ", 1<<20) + "\n", "", "", "longer"},
		{"a long other line", long + "\nsyncd-expires: 2026-12-31\n", "2026-12-31", long + "\n", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, size := range []int{1, 7, 1 << 30} {
				if size == 1 && len(row.output) > 1<<20 {
					continue
				}
				day, rest, err := read(t, row.output, size)
				if day != row.day || rest != row.rest || (err == nil) != (row.fails == "") || err != nil && !strings.Contains(err.Error(), row.fails) {
					t.Errorf("in parts of %d bytes: %q, %d bytes, %v", size, day, len(rest), err)
				}
			}
		})
	}
}

func FuzzReader(f *testing.F) {
	for _, text := range []string{"a\nsyncd-expires: 2026-12-31\n", "syncd-expires: 9999-01-01", "syncd-\nsyncd-expires:\r\n\n", "\x00\xff"} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, output string, size int) {
		day, rest, err := read(t, output, max(size, 1))
		again, whole, errAgain := read(t, output, len(output))
		if day != again || rest != whole || (err == nil) != (errAgain == nil) {
			t.Errorf("parts of %d bytes: %q %q %v; at once: %q %q %v", size, day, rest, err, again, whole, errAgain)
		}
		var want strings.Builder
		for line := range strings.Lines(output) {
			if !strings.HasPrefix(line, prefix) {
				want.WriteString(line)
			}
		}
		if rest != want.String() {
			t.Errorf("passed on %q, want %q", rest, want.String())
		}
		if _, parseErr := ParseDay(string(day)); day != "" && (parseErr != nil || err != nil) {
			t.Errorf("told %q, %v", day, parseErr)
		}
	})
}

func FuzzDay(f *testing.F) {
	for _, text := range []string{"2026-12-31", "2026-02-30", "0001-01-01", "9999-12-31"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		day, err := ParseDay(text)
		if err != nil {
			if day != "" {
				t.Errorf("%q with %v", day, err)
			}
			return
		}
		if string(day) != text || day.End().IsZero() || day.Before(1).End().AddDate(0, 0, 1) != day.End() {
			t.Errorf("%q is %q, which ends at %v", text, day, day.End())
		}
	})
}

func FuzzSpan(f *testing.F) {
	f.Add("3mo", "2026.08")
	f.Add("105d", "2026.B6")
	f.Add("1mo", "9999.12")
	f.Fuzz(func(t *testing.T, text, release string) {
		span, err := ParseSpan(text)
		if err == nil && span.String() != text {
			t.Errorf("%q is %+v", text, span)
		}
		day := Rule{After: span}.Day(manifest.Release(release), "")
		if day != "" && day.End().IsZero() {
			t.Errorf("%q after %q is %q", text, release, day)
		}
	})
}
