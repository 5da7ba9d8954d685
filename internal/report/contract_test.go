package report

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

func TestSyncJSONMatchesTheContract(t *testing.T) {
	wantJSON(t, Sync{Generation: 8, Changed: true, Manifests: []ManifestResult{{
		Name: "dq_addr_data", Release: "2026.10", Revision: "0123456789ab", Result: Refused, FilesTotal: 5, FilesDownloaded: 1,
		FilesReused: 4, BytesDownloaded: 10, BytesReused: 40, DurationSeconds: 1.5, Reason: "shrink", Error: "too few",
	}}}, `{"generation":8,"changed":true,"manifests":[{"name":"dq_addr_data","release":"2026.10","revision":"0123456789ab",`+
		`"result":"refused","files_total":5,"files_downloaded":1,"files_reused":4,"bytes_downloaded":10,"bytes_reused":40,`+
		`"duration_seconds":1.5,"reason":"shrink","error":"too few"}]}`)
	wantJSON(t, Sync{Manifests: []ManifestResult{}}, `{"generation":0,"changed":false,"manifests":[]}`)
}

func TestStatusJSONMatchesTheContract(t *testing.T) {
	at := time.Date(2026, 10, 3, 4, 5, 6, 0, time.UTC)
	wantJSON(t, Status{DataDir: "/var/lib/syncd", Generation: 8, Daemon: true, Manifests: []ManifestStatus{{
		Name: "dq_addr_data", Release: "2026.10", Revision: "0123456789ab", Files: 5, Bytes: 50, State: StateHeld,
		CheckedAt: &at, SyncedAt: &at, HeldFrom: "2026.11", Error: "no", Wanted: "latest", Newest: "2026.11",
		ActiveSince: &at, Explanation: "held",
	}}}, `{"data_dir":"/var/lib/syncd","generation":8,"daemon":true,"manifests":[{"name":"dq_addr_data","release":"2026.10",`+
		`"revision":"0123456789ab","files":5,"bytes":50,"state":"held","checked_at":"2026-10-03T04:05:06Z","synced_at":"2026-10-03T04:05:06Z",`+
		`"next_sync":null,"held_from":"2026.11","error":"no","expires":"","staged":null,"quarantined":null,"probe":null,"opens_at":null,"pin":"","hold_until":null,"skips":null,"wanted":"latest","expected":null,"late":false,"newest":"2026.11","active_since":"2026-10-03T04:05:06Z",`+
		`"failing":"","reason":"","retry_at":null,"cooling_until":null,"progress":null,"explanation":"held"}]}`)
}

func TestResultsAndStatesMatchTheContract(t *testing.T) {
	if got, want := Results(), []Result{"updated", "unchanged", "failed", "refused"}; !slices.Equal(got, want) {
		t.Errorf("results %q, want %q", got, want)
	}
	got := []State{StateInSync, StateSyncing, StateFailed, StateRefused, StateHeld, StatePending}
	if want := []State{"in_sync", "syncing", "failed", "refused", "held", "pending"}; !slices.Equal(got, want) {
		t.Errorf("states %q, want %q", got, want)
	}
}

func wantJSON(t *testing.T, value any, want string) {
	t.Helper()
	got, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("JSON:\ngot  %s\nwant %s", got, want)
	}
}
