package syncer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/emulator"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/report/status"
)

func (w *world) history() report.History {
	w.Helper()
	history, err := status.History(w.cfg.Mirror, w.cfg.Store, 100)
	must(w, err)
	return history
}

func TestAManifestGoesFromPendingToInSync(t *testing.T) {
	w := start(t, "data")
	w.publish("data", "2026.09", september())
	m := w.status().Manifests[0]
	equal(t, "before the first sync", m, report.ManifestStatus{Name: "data", Wanted: "latest", State: report.StatePending, Skips: []string{}})
	w.demand()
	m = w.status().Manifests[0]
	if m.State != report.StateInSync || m.Release != "2026.09" || m.Files != 4 || m.CheckedAt == nil || m.SyncedAt == nil {
		t.Errorf("after it %+v", m)
	}
}

func TestStateFailedEndsWithTheNextSuccess(t *testing.T) {
	w := broken(t)
	w.poll()
	m := w.status().Manifests[0]
	if m.State != report.StateFailed || m.Error == "" || m.Release != "2026.09" {
		t.Errorf("status %+v", m)
	}
	w.provider.ClearFaults()
	w.demand()
	m = w.status().Manifests[0]
	if m.State != report.StateInSync || m.Error != "" {
		t.Errorf("status %+v", m)
	}
}

func TestHistoryHoldsWhatChangedOrFailedAndNothingElse(t *testing.T) {
	w := served(t)
	w.poll()
	w.demand()
	w.publish("data", "2026.10", october())
	w.poll()
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Manifest/*"})
	w.demand()
	w.poll() // repeats the failure
	var told []string
	for _, e := range w.history().Entries {
		told = append(told, e.Trigger+" "+string(e.Manifests[0].Result))
	}
	equal(t, "history", told, []string{"command failed", "schedule updated", "command updated"})
}

func TestALostStateIsRebuiltFromDiskWithNoDownload(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"deleted":   os.Remove,
		"garbled":   func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("garbled ", 4096)), 0o600) },
		"truncated": func(path string) error { return os.Truncate(path, 5000) },
		"emptied":   func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			w := advanced(t)
			w.rollback(request.Rollback{})
			w.close()
			must(t, lose(filepath.Join(w.dir, "state", "syncd.db")))
			w.open()
			w.held("2026.11") // the hold is on disk

			var generations []int
			for _, e := range w.history().Entries {
				generations = append(generations, e.Generation)
			}
			equal(t, "history from generations", generations, []int{4, 3, 2, 1})
			w.expect(w.poll(), "data", report.Unchanged)
			equal(t, "downloads", len(w.downloads()), 0)
			w.serves("data", october())
			w.held("2026.11")
		})
	}
}

func TestStatusReadsTheDiskWhenThereIsNoState(t *testing.T) {
	w := served(t)
	status, err := status.Read(w.cfg.Mirror, nil, "", configured(w.cfg.Targets), nil, report.Progress{})
	must(t, err)
	if m := status.Manifests[0]; m.State != report.StateInSync || m.SyncedAt == nil {
		t.Errorf("status %+v", m)
	}
}
