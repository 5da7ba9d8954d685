package syncer_test

import (
	"strings"
	"testing"

	"syncd/internal/manifest/forecast"
	"syncd/internal/report"
)

func (w *world) past(name string) forecast.Past {
	w.Helper()
	states, err := w.cfg.Store.Manifests()
	must(w, err)
	if states[name].Past == nil {
		w.Fatal("nothing is known of the past")
	}
	return *states[name].Past
}

func TestPollsLearnWhenReleasesArriveAndHowLargeTheyAre(t *testing.T) {
	w := start(t, "data")
	w.publish("data", "2026.08", files{"a.dat": "a"})
	w.publish("data", "2026.09", files{"a.dat": "a"})
	w.expect(w.poll(), "data", report.Updated)
	if past := w.past("data"); past.Months != 1 || len(past.Arrivals) != 0 { // the first release was there before
		t.Errorf("after the first sync %+v", past)
	}
	w.publish("data", "2026.10", files{"a.dat": "a", "b.dat": strings.Repeat("b", 996), "c.dat": "cccc"})
	w.expect(w.poll(), "data", report.Updated)
	w.expect(w.poll(), "data", report.Unchanged)
	past := w.past("data")
	if len(past.Arrivals) != 1 || past.Arrivals[0].Release != "2026.10" || past.Arrivals[0].Bytes != 1000 || past.Arrivals[0].At.IsZero() {
		t.Errorf("after the next release %+v", past)
	}
	w.publish("data", "2026.11", files{"a.dat": "other"})
	w.refuses("shrink")
	w.expect(w.poll(), "data", report.Refused)
	if past := w.past("data"); len(past.Arrivals) != 2 || past.Arrivals[1].Bytes != 0 {
		t.Errorf("after a refused release %+v", past)
	}
	w.expect(w.force(), "data", report.Updated)
	if past := w.past("data"); len(past.Arrivals) != 2 || past.Arrivals[1].Bytes != 5 {
		t.Errorf("after it was forced %+v", past)
	}
}
