package clock

import (
	"testing"
	"time"
)

func TestDeadlinePassesByEitherClock(t *testing.T) {
	start := Instant{Wall: time.Date(2026, 10, 3, 2, 0, 0, 0, time.UTC), Monotonic: 100 * time.Hour}
	deadline := start.Until(start.Wall.Add(time.Hour))
	for name, test := range map[string]struct {
		wall, monotonic time.Duration // since start
		want            time.Duration
	}{
		"at once":                            {0, 0, time.Hour},
		"in time":                            {time.Hour, time.Hour, 0},
		"set back a year":                    {-8760 * time.Hour, time.Minute, 59 * time.Minute},
		"set back a year, an hour later":     {-8759 * time.Hour, time.Hour, 0},
		"set back by 50 s every minute":      {10 * time.Minute, time.Hour, 0},
		"set ahead":                          {2 * time.Hour, time.Minute, -time.Hour},
		"suspended for two hours":            {2 * time.Hour, 0, -time.Hour},
		"suspended, and then set back a day": {-22 * time.Hour, 0, time.Hour},
	} {
		now := Instant{Wall: start.Wall.Add(test.wall), Monotonic: start.Monotonic + test.monotonic}
		if left := deadline.Left(now); left != test.want || deadline.Passed(now) != (test.want <= 0) {
			t.Errorf("%s: %v left, want %v", name, left, test.want)
		}
	}
}

func TestNowHasNoMonotonicReadingInItsWallTime(t *testing.T) {
	if now := Now(); now.Wall != now.Wall.Round(0) {
		t.Errorf("%v has a monotonic reading, which stands still while a machine sleeps", now.Wall)
	}
	if !(Deadline{}).Passed(Now()) {
		t.Error("the zero deadline has not passed")
	}
}

func TestSavedTimeIsNotPostponedBySmallSteps(t *testing.T) {
	now := Instant{Wall: time.Date(2026, 10, 3, 2, 0, 0, 0, time.UTC)}
	var deadlines Deadlines
	retry := now.Wall.Add(time.Hour)
	for minute := range 60 {
		if deadlines.Passed("retry", retry, now) {
			t.Fatalf("passed after %d minutes", minute)
		}
		now.Monotonic += time.Minute
		now.Wall = now.Wall.Add(10 * time.Second) // and set back by 50 s
	}
	if !deadlines.Passed("retry", retry, now) {
		t.Error("not passed after an hour")
	}
	if deadlines.Passed("retry", retry.Add(2*time.Hour), now) {
		t.Error("the time of another failure has passed")
	}
}
