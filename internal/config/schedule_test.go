package config

import (
	"testing"
	"time"
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
			s, err := ParseSchedule(" " + tt.text + " ")
			if err != nil {
				t.Fatal(err)
			}
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
		s, err := ParseSchedule(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if a, b, c := parse("@every 1h"), parse("@every  1h"), parse("@every 2h"); !a.Equal(b) || a.Equal(c) {
		t.Error("not compared by text")
	}
	if _, err := ParseSchedule("CRON_TZ=UTC"); err == nil || err.Error() != `has a time zone and nothing else; add cron's five fields, such as "CRON_TZ=UTC 0 3 * * *"` {
		t.Error(err)
	}
}
