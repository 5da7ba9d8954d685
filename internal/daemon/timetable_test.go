package daemon

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/config"
	"syncd/internal/request"
)

func schedule(t *testing.T, text string) config.Schedule {
	t.Helper()
	s, err := config.ParseSchedule(text)
	must(t, err)
	return s
}

// configuration has a jitter of 10 minutes and manifests with the given schedules.
func configuration(t *testing.T, schedules map[string]string) *config.Config {
	cfg := config.Default()
	cfg.Jitter = 10 * time.Minute
	for name, text := range schedules {
		cfg.Manifests = append(cfg.Manifests, config.Manifest{Name: name, Schedule: schedule(t, text)})
	}
	return cfg
}

func TestEachScheduleIsShiftedByTheJitter(t *testing.T) {
	cfg, tt := configuration(t, map[string]string{"hourly": "CRON_TZ=UTC 0 * * * *", "nightly": "CRON_TZ=UTC 0 3 * * *", "every": "@every 1h"}), newTimetable(0.5)
	now := time.Date(2026, 10, 3, 2, 4, 0, 0, time.UTC)
	tt.plan(cfg, now, nil)
	at := func(hour, minute int) time.Time { return time.Date(2026, 10, 3, hour, minute, 0, 0, time.UTC) }
	want := map[string]time.Time{"hourly": at(2, 5), "nightly": at(3, 5), "every": at(3, 9)}
	if diff := cmp.Diff(want, *tt.next.Load()); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}

	q := &queue{due: map[string]bool{}, trigger: "schedule"}
	tt.collectDue(cfg, q, at(2, 4), now)
	if req, any := q.next(); any {
		t.Errorf("due before its time: %+v", req)
	}
	tt.collectDue(cfg, q, at(3, 9), now) // one is due, and two are late
	req, _ := q.next()
	if diff := cmp.Diff(request.Sync{Manifests: []string{"every", "hourly", "nightly"}, Trigger: "schedule", Queued: true}, req); diff != "" {
		t.Errorf("due together is one sync (-want +got):\n%s", diff)
	}
	tt.collectDue(cfg, q, at(3, 9), now)
	if req, any := q.next(); any {
		t.Errorf("due twice: %+v", req)
	}
	want = map[string]time.Time{"hourly": at(4, 5), "nightly": at(3, 5).AddDate(0, 0, 1), "every": at(4, 9)}
	if diff := cmp.Diff(want, *tt.next.Load()); diff != "" {
		t.Errorf("planned next (-want +got):\n%s", diff)
	}
}

func TestClockSetBackDelaysNoSchedule(t *testing.T) {
	cfg, tt := configuration(t, map[string]string{"every": "@every 1h"}), newTimetable(0.5)
	now := time.Date(2026, 10, 3, 2, 0, 0, 0, time.UTC)
	tt.plan(cfg, now, nil)
	back := now.AddDate(-1, 0, 0)
	q := &queue{due: map[string]bool{}}
	tt.collectDue(cfg, q, back, now)
	if next := (*tt.next.Load())["every"]; !next.Equal(back.Add(time.Hour+5*time.Minute)) || len(q.due) > 0 {
		t.Errorf("next at %v after the clock went back to %v, due %v", next, back, q.due)
	}
}

func TestPlannedTimesHaveNoMonotonicReading(t *testing.T) {
	cfg, tt := configuration(t, map[string]string{"every": "@every 1h"}), newTimetable(0.5)
	tt.plan(cfg, time.Now(), nil)
	if next := (*tt.next.Load())["every"]; next != next.Round(0) {
		t.Errorf("%v has a monotonic reading, which stands still while a machine sleeps", next)
	}
}

func TestReloadKeepsPlannedTimes(t *testing.T) {
	cfg, tt := configuration(t, map[string]string{"same": "@every 1h", "other": "@every 1h"}), newTimetable(0.5)
	now := time.Date(2026, 10, 3, 2, 0, 0, 0, time.UTC)
	tt.plan(cfg, now, nil)
	after := *cfg
	after.Manifests = slices.Clone(cfg.Manifests)
	for i := range after.Manifests {
		if after.Manifests[i].Name == "other" {
			after.Manifests[i].Schedule = schedule(t, "@every 2h")
		}
	}
	after.Manifests = append(after.Manifests, config.Manifest{Name: "new", Schedule: schedule(t, "@every 3h")})
	now = now.Add(30 * time.Minute)
	tt.plan(&after, now, cfg)
	want := map[string]time.Time{"same": now.Add(35 * time.Minute), "other": now.Add(2*time.Hour + 5*time.Minute), "new": now.Add(3*time.Hour + 5*time.Minute)}
	if diff := cmp.Diff(want, *tt.next.Load()); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
}
