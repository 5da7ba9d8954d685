package status

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/manifest/forecast"
	"syncd/internal/mirror"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/store"
)

func TestTheHistoryTellsWhenReleasesArrived(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC) }
	var history []json.RawMessage
	add := func(day int, name, release string, result report.Result, bytes int64) {
		raw, err := json.Marshal(report.HistoryEntry{Time: at(day), Sync: report.Sync{Manifests: []report.ManifestResult{{Name: name, Release: release, Result: result, BytesDownloaded: bytes}}}})
		if err != nil {
			t.Fatal(err)
		}
		history = append([]json.RawMessage{raw}, history...)
	}
	add(1, "a", "2025.11", report.Updated, 1000)
	add(2, "b", "2025.10", report.Updated, 1)
	add(10, "a", "2025.12", report.Failed, 7)
	add(11, "a", "2025.12", report.Updated, 20)
	add(12, "a", "2025.11", report.Updated, 0) // a rollback
	add(20, "a", "2025.12", report.Updated, 3) // republished
	add(21, "a", "2026.01", report.Updated, 30)
	past := PastOf(append(history, json.RawMessage("damaged")), "a")
	want := []forecast.Arrival{{Release: "2025.12", At: at(11), Bytes: 23}, {Release: "2026.01", At: at(21), Bytes: 30}}
	if len(past.Arrivals) != 2 || past.Arrivals[0] != want[0] || past.Arrivals[1] != want[1] {
		t.Errorf("got %+v, want %+v", past.Arrivals, want)
	}
	if past := PastOf(history, "none"); len(past.Arrivals) != 0 {
		t.Errorf("%+v", past)
	}
}

func TestExplainSaysWhenAReleaseIsLate(t *testing.T) {
	record := mirror.Record{Manifest: "m", Release: "2026.07", PublishedAt: time.Date(2026, 7, 10, 0, 0, 0, 0, time.UTC)}
	for _, row := range []struct {
		name    string
		wanted  manifest.Release
		arrived time.Time
		late    bool
	}{
		{"late", manifest.Latest, time.Now().AddDate(0, 0, -40), true},
		{"in time", manifest.Latest, time.Now().AddDate(0, 0, -29), false},
		{"not yet", manifest.Latest, time.Now().AddDate(0, 0, -5), false},
		{"pinned", "2026.07", time.Now().AddDate(0, 0, -40), false},
	} {
		past := &forecast.Past{Months: 1, Arrivals: []forecast.Arrival{
			{Release: "2026.06", At: row.arrived.AddDate(0, 0, -30)}, {Release: "2026.07", At: row.arrived},
		}}
		m := manifestStatus(Configured{Name: "m", Release: row.wanted}, record, store.Manifest{Newest: "2026.07", Past: past}, staging.Revision{}, nil)
		status := report.Status{Manifests: []report.ManifestStatus{m}}
		status.Explain(time.Now())
		says := strings.Contains(status.Manifests[0].Explanation, "the release after 2026.07 was expected by ")
		if m.Late != row.late || says != row.late || m.Expected == nil || !m.Expected.Equal(row.arrived.AddDate(0, 0, 30)) {
			t.Errorf("%s: %+v", row.name, status.Manifests[0])
		}
	}
}
