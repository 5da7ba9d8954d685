package schedule

import (
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

func TestScheduleNext(t *testing.T) {
	from := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name, text string
		want       time.Time
	}{
		{"every", "@every 90m", from.Add(90 * time.Minute)},
		{"zone", "CRON_TZ=America/Los_Angeles 0 3 * * *", time.Date(2026, 10, 2, 10, 0, 0, 0, time.UTC)},
		{"local time", "0 3 * * *", time.Date(2026, 10, 2, 3, 0, 0, 0, time.Local)},
		{"leap day", "CRON_TZ=UTC 0 0 29 2 *", time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Parse(" " + tt.text + " ")
			must(t, err)
			if got := s.Next(from); !got.Equal(tt.want) || s.String() != tt.text {
				t.Errorf("%q runs at %v, want %v", s, got, tt.want)
			}
		})
	}
	if !(Schedule{}).Next(from).IsZero() {
		t.Error("the zero schedule runs")
	}
}

func TestSchedulesAreComparedByText(t *testing.T) {
	parse := func(text string) Schedule {
		s, err := Parse(text)
		must(t, err)
		return s
	}
	if a, b, c := parse("@every 1h"), parse("@every  1h"), parse("@every 2h"); !a.Equal(b) || a.Equal(c) {
		t.Error("not compared by text")
	}
	if _, err := Parse("CRON_TZ=UTC"); err == nil || err.Error() != `has a time zone and nothing else; add cron's five fields, such as "CRON_TZ=UTC 0 3 * * *"` {
		t.Error(err)
	}
}

func TestSchedulesKeepDaylightSaving(t *testing.T) {
	tests := []struct {
		name, text, from string
		want             []string
	}{
		{"skipped hour in Los Angeles", "CRON_TZ=America/Los_Angeles 30 2 * * *", "2026-03-07T03:00:00-08:00",
			[]string{"2026-03-08T03:00:00-07:00", "2026-03-09T02:30:00-07:00"}},
		{"skipped hour in Berlin", "CRON_TZ=Europe/Berlin 30 2 * * *", "2026-03-28T03:00:00+01:00",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"}},
		{"skipped, once a month", "CRON_TZ=Europe/Berlin 15 2 29 * *", "2026-02-28T12:00:00+01:00",
			[]string{"2026-03-29T03:00:00+02:00", "2026-04-29T02:15:00+02:00"}},
		{"several times in the skipped hour run once", "CRON_TZ=Europe/Berlin */20 2,3 * * *", "2026-03-28T23:00:00+01:00",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-29T03:20:00+02:00"}},
		{"skipped midnight in Beirut", "CRON_TZ=Asia/Beirut 0 0 * * *", "2026-03-28T12:00:00+02:00",
			[]string{"2026-03-29T01:00:00+03:00", "2026-03-30T00:00:00+03:00"}},
		{"half an hour on Lord Howe Island", "CRON_TZ=Australia/Lord_Howe 15 2 * * *", "2026-10-03T12:00:00+10:30",
			[]string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"}},
		{"start in the hour before the skip", "CRON_TZ=America/Los_Angeles 30 2 * * *", "2026-03-08T01:59:59-08:00",
			[]string{"2026-03-08T03:00:00-07:00"}},
		{"start at the end of the skip", "CRON_TZ=America/Los_Angeles 30 2 * * *", "2026-03-08T03:00:00-07:00",
			[]string{"2026-03-09T02:30:00-07:00"}},
		{"hour that occurs twice in Los Angeles", "CRON_TZ=America/Los_Angeles 30 1 * * *", "2026-10-31T12:00:00-07:00",
			[]string{"2026-11-01T01:30:00-07:00", "2026-11-02T01:30:00-08:00"}},
		{"hour that occurs twice in Berlin", "CRON_TZ=Europe/Berlin 30 2 * * *", "2026-10-24T12:00:00+02:00",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
		{"start in the second pass", "CRON_TZ=Europe/Berlin 30 2 * * *", "2026-10-25T02:10:00+01:00",
			[]string{"2026-10-26T02:30:00+01:00"}},
		{"every hour runs at even intervals", "CRON_TZ=Europe/Berlin 30 * * * *", "2026-10-25T02:10:00+02:00",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00"}},
		{"every hour over the skip", "CRON_TZ=Europe/Berlin 30 * * * *", "2026-03-29T01:10:00+01:00",
			[]string{"2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Parse(tt.text)
			must(t, err)
			at, err := time.Parse(time.RFC3339, tt.from)
			must(t, err)
			for _, want := range tt.want {
				expected, err := time.Parse(time.RFC3339, want)
				must(t, err)
				if at = s.Next(at); !at.Equal(expected) {
					t.Fatalf("runs at %v, want %v", at, expected)
				}
			}
		})
	}
}

func TestSchedulesAgreeWithCronAwayFromDaylightSaving(t *testing.T) {
	for _, text := range []string{"0 3 * * *", "15 1,13 * * 1-5", "0 0 1 */2 *", "59 23 31 12 *"} {
		ours, err := Parse("CRON_TZ=Asia/Tokyo " + text)
		must(t, err)
		library, err := cron.ParseStandard("CRON_TZ=Asia/Tokyo " + text)
		must(t, err)
		at := time.Date(2026, 1, 1, 0, 0, 0, 1, time.UTC)
		for range 500 {
			want := library.Next(at)
			if got := ours.Next(at); !got.Equal(want) {
				t.Fatalf("%s runs at %v, want %v", text, got, want)
			}
			at = want
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
