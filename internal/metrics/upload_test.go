package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The alert tells of publications and of collections: the earliest failure counts, and each
// ends by itself.
func TestFailingSinceIsThatOfPublicationsAndCollections(t *testing.T) {
	m, reg := used(t)
	place := m.UploadTarget("")
	m.UploadsTo([]*UploadTarget{place})
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	for i, step := range []struct {
		do   func()
		want int
	}{
		{func() { place.CollectionEnded(true, at(10)) }, 10},
		{func() { place.UploadEnded("failed", 0, at(20)) }, 10},
		{func() { place.CollectionEnded(true, at(30)) }, 10},
		{func() { place.CollectionEnded(false, at(40)) }, 20},
		{func() { place.UploadEnded("published", 3, at(50)) }, 0},
		{func() { place.Before(3, time.Time{}, at(7)) }, 7},
		{func() { place.UploadEnded("unchanged", 3, at(60)) }, 7},
		{func() { m.UploadsTo(nil) }, 0},
	} {
		step.do()
		if line := fmt.Sprintf("\nsyncd_publish_failing_since_timestamp_seconds %d\n", step.want); !strings.Contains(scrape(reg), line) {
			t.Errorf("step %d: not%s", i, line)
		}
	}
}

// Each of several places has its own series; those without a label tell the worst.
func TestEachPlaceHasItsSeries(t *testing.T) {
	m, reg := used(t)
	near, far := m.UploadTarget("near"), m.UploadTarget("far")
	m.UploadsTo([]*UploadTarget{near, far})
	near.UploadEnded("published", 5, time.Unix(50, 0))
	far.UploadEnded("failed", 0, time.Unix(60, 0))
	near.Leads(true)
	for _, line := range []string{
		`publish_target_failing_since_timestamp_seconds{target="far"} 60`, `publish_target_failing_since_timestamp_seconds{target="near"} 0`,
		`publish_target_generation{target="near"} 5`, `publish_target_runs_total{result="failed",target="far"} 1`, `publish_runs_total{result="failed"} 1`,
		`publish_failing_since_timestamp_seconds 60`, `publish_generation 5`, `publish_last_success_timestamp_seconds 0`, `publish_leader 0`,
	} {
		if !strings.Contains(scrape(reg), "\nsyncd_"+line+"\n") {
			t.Errorf("not %s in\n%s", line, scrape(reg))
		}
	}
	m.UploadsTo([]*UploadTarget{near})
	if strings.Contains(scrape(reg), `target="far"`) {
		t.Error("the series of a place that left the configuration stay")
	}
}
