package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"syncd/internal/emulator"
)

func TestStatusAndHistoryWorkBeforeTheFirstSync(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	s := h.status()
	same(h, "status", []any{0, false, "dq_addr_data", "pending"}, []any{s.Generation, s.Daemon, s.Manifests[0].Name, s.Manifests[0].State})
	h.contains("status", h.expect(0, "status").stdout, "none yet: run `syncd sync`", "not running", "pending")
	h.contains("history", h.expect(0, "history").stdout, "no syncs yet")
	same(h, "history", []string{"history: list"}, shapeOf(t, h.expect(0, "history", "--json").stdout))
	h.contains("verify", h.expect(1, "verify").stderr, "nothing is served")
	h.expect(1, "rollback")
	if _, err := os.Stat(filepath.Join(h.data, "current")); err == nil {
		t.Error("there is a current without a sync")
	}
}

func TestStatusNeedsNoCustomerIDAndCreatesNothing(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.must(os.Remove(h.path("id")))
	h.expect(0, "status")
	h.expect(0, "history")
	h.expect(1, "verify")
	if _, err := os.Stat(h.data); err == nil {
		t.Error("looking created the data directory")
	}
	h.contains("stderr", h.expect(2, "sync").stderr, "customer_id_file", "cannot be read")
}

func TestStatusJSONHasTheContractsFieldsWithAndWithoutADaemon(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	fields := func(checked, next string) []string {
		return []string{
			"daemon: bool", "data_dir: string", "generation: number", "manifests: list",
			"manifests[].active_since: " + checked, "manifests[].bytes: number", "manifests[].checked_at: " + checked,
			"manifests[].cooling_until: null", "manifests[].error: string", "manifests[].expected: " + checked, "manifests[].explanation: string",
			"manifests[].failing: string", "manifests[].files: number", "manifests[].held_from: string", "manifests[].hold_until: null",
			"manifests[].late: bool", "manifests[].name: string", "manifests[].newest: string", "manifests[].next_sync: " + next,
			"manifests[].opens_at: null", "manifests[].pin: string", "manifests[].progress: null", "manifests[].quarantined: null",
			"manifests[].reason: string", "manifests[].release: string",
			"manifests[].retry_at: null", "manifests[].revision: string", "manifests[].skips: list", "manifests[].staged: null", "manifests[].state: string",
			"manifests[].synced_at: " + checked, "manifests[].wanted: string",
		}
	}
	same(h, "before", fields("null", "null"), shapeOf(t, h.expect(0, "status", "--json").stdout))
	h.sync(0)
	same(h, "after a sync", fields("string", "null"), shapeOf(t, h.expect(0, "status", "--json").stdout))

	p := h.daemon()
	p.logged("sync")
	own := h.expect(0, "status", "--json").stdout
	same(h, "beside a daemon", fields("string", "string"), shapeOf(t, own))
	code, api := p.get("/api/v1/status")
	same(h, "status code", 200, code)
	same(h, "the API's fields", shapeOf(t, own), shapeOf(t, api))
	s := h.status()
	same(h, "status", []any{1, true, "in_sync", 5}, []any{s.Generation, s.Daemon, s.Manifests[0].State, s.Manifests[0].Files})
	if next := s.Manifests[0].NextSync; next == nil || time.Until(*next) > time.Hour {
		t.Errorf("next sync at %v, want within the hour", next)
	}
	h.contains("status", h.expect(0, "status").stdout, "running", "in_sync", "2026.10-")
	h.contains("history", h.expect(0, "history").stdout, "command", "updated")
}

func TestStatusShowsAFailureAndItsEnd(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 401, Type: "expiredLicense"})
	out := h.expect(1, "sync")
	h.contains("stderr", out.stderr, "expiredLicense")
	s := h.status().Manifests[0]
	same(h, "state", []string{"failed", "2026.10"}, []string{s.State, s.Release})
	h.contains("error", s.Error, "expiredLicense")
	h.provider.ClearFaults()
	h.sync(0)
	s = h.status().Manifests[0]
	same(h, "state", []string{"in_sync", ""}, []string{s.State, s.Error})
}

func TestDamagedStateIsRebuiltWithoutADownload(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"deleted":   os.Remove,
		"emptied":   func(path string) error { return os.Truncate(path, 0) },
		"truncated": func(path string) error { return os.Truncate(path, 5000) },
		"garbled": func(path string) error {
			data, err := os.ReadFile(path)
			for i := range data {
				data[i] ^= byte(i*7 + 1)
			}
			if err != nil {
				return err
			}
			return os.WriteFile(path, data, 0o600)
		},
		"garbled in the middle": func(path string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for i := 3 * 4096; i < len(data); i++ {
				data[i] = 0xff
			}
			return os.WriteFile(path, data, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.sync(0)
			h.provider.AdvanceSample()
			h.sync(0)
			h.must(damage(filepath.Join(h.data, "state", "syncd.db")))
			h.downloads()
			before := h.published("dq_addr_data")

			s := h.status()
			same(h, "status", []any{2, "in_sync"}, []any{s.Generation, s.Manifests[0].State})
			h.expect(0, "history")
			h.expect(0, "verify")
			r := h.sync(0)

			same(h, "result", []any{2, "unchanged"}, []any{r.Generation, r.Manifests[0].Result})
			h.wantDownloads()
			same(h, "published", before, h.published("dq_addr_data"))
			h.sync(0)
			h.expect(0, "rollback")
			h.wantDownloads()
		})
	}
}

func TestHistoryListsTheNewestFirst(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	h.provider.AdvanceSample()
	h.sync(0)
	h.expect(0, "rollback")
	var history struct {
		History []struct {
			Generation int
			Trigger    string
			OnDisk     bool `json:"on_disk"`
		}
	}
	h.must(json.Unmarshal([]byte(h.expect(0, "history", "--json").stdout), &history))
	var got []any
	for _, entry := range history.History {
		got = append(got, entry.Generation, entry.Trigger, entry.OnDisk)
	}
	same(h, "history", []any{3, "rollback", true, 2, "command", true, 1, "command", true}, got)
}
