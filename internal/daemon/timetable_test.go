package daemon

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/config"
	"syncd/internal/config/schedule"
	"syncd/internal/host/clock"
	"syncd/internal/report/request"
)

func scheduled(t *testing.T, text string) schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(text)
	must(t, err)
	return s
}

// configuration has a jitter of 10 minutes and manifests with the given schedules.
func configuration(t *testing.T, schedules map[string]string) *config.Config {
	cfg := config.Default()
	cfg.Jitter = 10 * time.Minute
	for name, text := range schedules {
		cfg.Manifests = append(cfg.Manifests, config.Manifest{Name: name, Schedule: scheduled(t, text)})
	}
	return cfg
}

// instant is a moment at which both clocks agree.
func instant(wall time.Time) clock.Instant {
	return clock.Instant{Wall: wall, Monotonic: wall.Sub(time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC))}
}

// planned are the planned times on the wall clock.
func (t *timetable) planned() map[string]time.Time {
	planned := map[string]time.Time{}
	for name, at := range *t.next.Load() {
		planned[name] = at.Wall()
	}
	return planned
}

func TestEachScheduleIsShiftedByTheJitter(t *testing.T) {
	cfg, tt := configuration(t, map[string]string{"hourly": "CRON_TZ=UTC 0 * * * *", "nightly": "CRON_TZ=UTC 0 3 * * *", "every": "@every 1h"}), newTimetable(0.5)
	at := func(hour, minute int) time.Time { return time.Date(2026, 10, 3, hour, minute, 0, 0, time.UTC) }
	tt.plan(cfg, instant(at(2, 4)), nil)
	want := map[string]time.Time{"hourly": at(2, 5), "nightly": at(3, 5), "every": at(3, 9)}
	if diff := cmp.Diff(want, tt.planned()); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}

	q := newQueue(nil)
	tt.collectDue(cfg, q, instant(at(2, 4)))
	if req, any := q.next(allFree); any {
		t.Errorf("due before its time: %+v", req)
	}
	tt.collectDue(cfg, q, instant(at(3, 9))) // one is due, and two are late
	req, _ := q.next(allFree)
	if diff := cmp.Diff(request.Sync{Manifests: []string{"every", "hourly", "nightly"}, Trigger: "schedule", SkipUnknown: true}, req); diff != "" {
		t.Errorf("due together is one sync (-want +got):\n%s", diff)
	}
	tt.collectDue(cfg, q, instant(at(3, 9)))
	if req, any := q.next(allFree); any {
		t.Errorf("due twice: %+v", req)
	}
	want = map[string]time.Time{"hourly": at(4, 5), "nightly": at(3, 5).AddDate(0, 0, 1), "every": at(4, 9)}
	if diff := cmp.Diff(want, tt.planned()); diff != "" {
		t.Errorf("planned next (-want +got):\n%s", diff)
	}
}

func TestClockSetBackDelaysNoSchedule(t *testing.T) {
	cfg, tt := configuration(t, map[string]string{"every": "@every 1h"}), newTimetable(0.5)
	now := instant(time.Date(2026, 10, 3, 2, 0, 0, 0, time.UTC))
	tt.plan(cfg, now, nil)
	now.Wall = now.Wall.AddDate(-1, 0, 0)
	q := newQueue(nil)
	tt.collectDue(cfg, q, now)
	if next, _ := tt.due("every", now); !next.Equal(now.Wall.Add(time.Hour+5*time.Minute)) || len(q.waiting) > 0 {
		t.Errorf("next at %v after the clock went back to %v, due %v", next, now.Wall, q.waiting)
	}
}

func TestClockSetBackAgainAndAgainDelaysNoSchedule(t *testing.T) {
	for text, want := range map[string]int{"@every 1h": 24, "CRON_TZ=UTC 0 * * * *": 24, "CRON_TZ=UTC 0 3 * * *": 1} {
		cfg, tt := configuration(t, map[string]string{"one": text}), newTimetable(0)
		now := instant(time.Date(2026, 10, 3, 0, 0, 0, 0, time.UTC))
		tt.plan(cfg, now, nil)
		q, runs := newQueue(nil), 0
		for range 24 * 60 { // a day in which the clock is set back by 50 s every minute
			now.Monotonic += time.Minute
			now.Wall = now.Wall.Add(10 * time.Second)
			tt.collectDue(cfg, q, now)
			if _, due := q.next(allFree); due {
				runs++
			}
		}
		if runs < want {
			t.Errorf("%s: %d runs in a day, want %d", text, runs, want)
		}
	}
}

func TestRunThatASmallStepMadeEarlyIsNotRepeated(t *testing.T) {
	cfg, tt := configuration(t, map[string]string{"one": "CRON_TZ=UTC 0 3 * * *"}), newTimetable(0)
	now := instant(time.Date(2026, 10, 3, 2, 0, 0, 0, time.UTC))
	tt.plan(cfg, now, nil)
	now.Monotonic += time.Hour
	now.Wall = now.Wall.Add(time.Hour - time.Second)
	q := newQueue(nil)
	tt.collectDue(cfg, q, now)
	if next, _ := tt.due("one", now); len(q.waiting) != 1 || !next.Equal(time.Date(2026, 10, 4, 3, 0, 0, 0, time.UTC)) {
		t.Errorf("due %v, next at %v", q.waiting, next)
	}
}

func TestReloadKeepsPlannedTimes(t *testing.T) {
	cfg, tt := configuration(t, map[string]string{"same": "@every 1h", "other": "@every 1h"}), newTimetable(0.5)
	now := time.Date(2026, 10, 3, 2, 0, 0, 0, time.UTC)
	tt.plan(cfg, instant(now), nil)
	after := *cfg
	after.Manifests = slices.Clone(cfg.Manifests)
	for i := range after.Manifests {
		if after.Manifests[i].Name == "other" {
			after.Manifests[i].Schedule = scheduled(t, "@every 2h")
		}
	}
	after.Manifests = append(after.Manifests, config.Manifest{Name: "new", Schedule: scheduled(t, "@every 3h")})
	now = now.Add(30 * time.Minute)
	tt.plan(&after, instant(now), cfg)
	want := map[string]time.Time{"same": now.Add(35 * time.Minute), "other": now.Add(2*time.Hour + 5*time.Minute), "new": now.Add(3*time.Hour + 5*time.Minute)}
	if diff := cmp.Diff(want, tt.planned()); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
}
