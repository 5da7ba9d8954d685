package syncer_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/syncer"
)

func (w *world) history() syncer.History {
	w.Helper()
	history, err := syncer.HistoryOf(w.cfg.Mirror, w.cfg.Store, 100)
	must(w, err)
	return history
}

func TestAManifestGoesFromPendingToInSync(t *testing.T) {
	w := start(t, "data")
	w.publish("data", "2026.09", september())
	m := w.status().Manifests[0]
	equal(t, "before the first sync", m, syncer.ManifestStatus{Name: "data", Wanted: "latest", State: syncer.Pending})
	w.demand()
	m = w.status().Manifests[0]
	if m.State != syncer.InSync || m.Release != "2026.09" || m.Files != 4 || m.CheckedAt == nil || m.SyncedAt == nil {
		t.Errorf("after it %+v", m)
	}
}

func TestStateFailedEndsWithTheNextSuccess(t *testing.T) {
	w := broken(t)
	w.poll()
	m := w.status().Manifests[0]
	if m.State != syncer.StateFailed || m.Error == "" || m.Release != "2026.09" {
		t.Errorf("status %+v", m)
	}
	w.provider.ClearFaults()
	w.demand()
	m = w.status().Manifests[0]
	if m.State != syncer.InSync || m.Error != "" {
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
			w.rollback(syncer.RollbackRequest{})
			w.close()
			must(t, lose(filepath.Join(w.dir, "state", "syncd.db")))
			w.open()
			w.held("2026.11") // the hold is on disk

			var generations []int
			for _, e := range w.history().Entries {
				generations = append(generations, e.Generation)
			}
			equal(t, "history from generations", generations, []int{4, 3, 2, 1})
			w.expect(w.poll(), "data", syncer.Unchanged)
			equal(t, "downloads", len(w.downloads()), 0)
			w.serves("data", october())
			w.held("2026.11")
		})
	}
}

func TestStatusReadsTheDiskWhenThereIsNoState(t *testing.T) {
	w := served(t)
	status, err := syncer.StatusOf(w.cfg.Mirror, nil, "", w.cfg.Targets, syncer.Snapshot{})
	must(t, err)
	if m := status.Manifests[0]; m.State != syncer.InSync || m.SyncedAt == nil {
		t.Errorf("status %+v", m)
	}
}

func TestReportJSONIsTheContracts(t *testing.T) {
	report := syncer.Report{Generation: 8, Changed: true, Manifests: []syncer.ManifestReport{{
		Name: "dq_addr_data", Release: "2026.10", Revision: "0123456789ab", Result: syncer.Refused, FilesTotal: 5, FilesDownloaded: 1,
		FilesReused: 4, BytesDownloaded: 10, BytesReused: 40, DurationSeconds: 1.5, Reason: "shrink", Error: "too few",
	}}}
	golden(t, report, `{"generation":8,"changed":true,"manifests":[{"name":"dq_addr_data","release":"2026.10","revision":"0123456789ab",`+
		`"result":"refused","files_total":5,"files_downloaded":1,"files_reused":4,"bytes_downloaded":10,"bytes_reused":40,`+
		`"duration_seconds":1.5,"reason":"shrink","error":"too few"}]}`)
	golden(t, syncer.Report{Manifests: []syncer.ManifestReport{}}, `{"generation":0,"changed":false,"manifests":[]}`)
}

func TestStatusJSONIsTheContracts(t *testing.T) {
	at := time.Date(2026, 10, 3, 4, 5, 6, 0, time.UTC)
	status := syncer.Status{DataDir: "/var/lib/syncd", Generation: 8, Daemon: true, Manifests: []syncer.ManifestStatus{{
		Name: "dq_addr_data", Release: "2026.10", Revision: "0123456789ab", Files: 5, Bytes: 50, State: syncer.Held,
		CheckedAt: &at, SyncedAt: &at, HeldFrom: "2026.11", Error: "no", Wanted: "latest", Newest: "2026.11",
		ActiveSince: &at, Explanation: "held",
	}}}
	golden(t, status, `{"data_dir":"/var/lib/syncd","generation":8,"daemon":true,"manifests":[{"name":"dq_addr_data","release":"2026.10",`+
		`"revision":"0123456789ab","files":5,"bytes":50,"state":"held","checked_at":"2026-10-03T04:05:06Z","synced_at":"2026-10-03T04:05:06Z",`+
		`"next_sync":null,"held_from":"2026.11","error":"no","wanted":"latest","newest":"2026.11","active_since":"2026-10-03T04:05:06Z",`+
		`"failing":"","reason":"","retry_at":null,"cooling_until":null,"progress":null,"explanation":"held"}]}`)
}

func TestTheWordsOfTheContract(t *testing.T) {
	equal(t, "results", syncer.Results(), []syncer.Result{"updated", "unchanged", "failed", "refused"})
	equal(t, "states", []syncer.State{syncer.InSync, syncer.Syncing, syncer.StateFailed, syncer.StateRefused, syncer.Held, syncer.Pending},
		[]syncer.State{"in_sync", "syncing", "failed", "refused", "held", "pending"})
}

func golden(t *testing.T, value any, want string) {
	t.Helper()
	got, err := json.Marshal(value)
	must(t, err)
	equal(t, "JSON", string(got), want)
}
