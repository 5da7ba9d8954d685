package engine

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"syncd/internal/report"
)

func TestASyncThatDoesNotMoveIsSeen(t *testing.T) {
	w := start(t, "one")
	synctest.Test(t, func(t *testing.T) {
		w.cfg.Source.Retry.MaxElapsed = 15 * time.Minute
		e := w.open()
		defer e.Close()
		must(t, e.Alive())
		defer e.progress.Begin(t.Context(), "schedule", time.Now(), []string{"one"})()
		e.progress.SetPhase("one", report.PhaseDownloading)
		time.Sleep(time.Hour) // nothing is asked of the provider
		must(t, e.Alive())
		d := e.progress.StartDownload("one", "one.dat", 10)
		defer d.Finish()
		d.Move(0, 0)
		other := e.progress.StartDownload("other", "other.dat", 10)
		defer other.Finish()
		time.Sleep(5 * time.Minute)
		must(t, e.Alive())
		since := time.Now().Add(-5 * time.Minute)
		time.Sleep(time.Second)
		other.Move(1, 1) // it hides nothing
		if err := e.Alive(); err == nil || !strings.Contains(err.Error(), "sync of one has not moved for 5m1s") {
			t.Errorf("alive: %v", err)
		}
		status, err := e.Status()
		must(t, err)
		if text := status.Manifests[0].Explanation; !strings.Contains(text, "stuck since") {
			t.Errorf("explanation %q", text)
		}
		if got := gauge(t, w, "syncd_sync_last_progress_timestamp_seconds"); got != float64(since.Unix()) {
			t.Errorf("last progress at %v, want %v", got, since.Unix())
		}
		other.Finish()
		d.Move(0, 0) // a retry
		must(t, e.Alive())

		time.Sleep(time.Minute)
		e.silence.CoolDown("https://h", time.Now().Add(10*time.Minute)) // a Retry-After
		time.Sleep(14 * time.Minute)
		must(t, e.Alive())
		time.Sleep(2 * time.Minute)
		if e.Alive() == nil {
			t.Error("alive long after the wait that the provider asked for")
		}
		d.Finish()

		time.Sleep(time.Hour)
		answered := e.progress.Ask("one")
		defer answered()
		time.Sleep(36 * time.Minute) // an attempt may begin at the end of the retry budget
		must(t, e.Alive())
		time.Sleep(time.Second)
		if e.Alive() == nil {
			t.Error("alive after a question without an answer")
		}
	})
}

// gauge is the value of a metric without labels.
func gauge(t *testing.T, w *world, name string) float64 {
	t.Helper()
	families, err := w.registry.Gather()
	must(t, err)
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}
