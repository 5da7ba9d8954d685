package daemon_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

func TestStatusAndHistoryWorkBeforeTheFirstSync(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	s := h.Status()
	e2e.Same(h, "status", []any{0, false, "dq_addr_data", "pending"}, []any{s.Generation, s.Daemon, s.Manifests[0].Name, s.Manifests[0].State})
	h.Contains("status", h.Expect(0, "status").Stdout, "none yet: run `syncd sync`", "not running", "pending")
	h.Contains("history", h.Expect(0, "history").Stdout, "no syncs yet")
	e2e.Same(h, "history", []string{"history: list"}, e2e.ShapeOf(t, h.Expect(0, "history", "--json").Stdout))
	h.Contains("verify", h.Expect(1, "verify").Stderr, "nothing is served")
	h.Expect(1, "rollback")
	if _, err := os.Stat(filepath.Join(h.Data, "current")); err == nil {
		t.Error("there is a current without a sync")
	}
}

func TestStatusNeedsNoCustomerIDAndCreatesNothing(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Must(os.Remove(h.Path("id")))
	h.Expect(0, "status")
	h.Expect(0, "history")
	h.Expect(1, "verify")
	if _, err := os.Stat(h.Data); err == nil {
		t.Error("looking created the data directory")
	}
	h.Contains("stderr", h.Expect(2, "sync").Stderr, "customer_id_file", "cannot be read")
}

func TestStatusJSONHasTheContractsFieldsWithAndWithoutADaemon(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	fields := func(checked, next string) []string {
		return []string{
			"daemon: bool", "data_dir: string", "generation: number", "manifests: list",
			"manifests[].active_since: " + checked, "manifests[].bytes: number", "manifests[].checked_at: " + checked,
			"manifests[].cooling_until: null", "manifests[].error: string", "manifests[].expected: " + checked, "manifests[].expires: string", "manifests[].explanation: string",
			"manifests[].failing: string", "manifests[].files: number", "manifests[].held_from: string", "manifests[].hold_until: null",
			"manifests[].late: bool", "manifests[].name: string", "manifests[].newest: string", "manifests[].next_sync: " + next,
			"manifests[].opens_at: null", "manifests[].pin: string", "manifests[].probe: null", "manifests[].progress: null", "manifests[].quarantined: null",
			"manifests[].reason: string", "manifests[].release: string",
			"manifests[].retry_at: null", "manifests[].revision: string", "manifests[].skips: list", "manifests[].staged: null", "manifests[].state: string",
			"manifests[].synced_at: " + checked, "manifests[].wanted: string",
		}
	}
	e2e.Same(h, "before", fields("null", "null"), e2e.ShapeOf(t, h.Expect(0, "status", "--json").Stdout))
	h.Sync(0)
	e2e.Same(h, "after a sync", fields("string", "null"), e2e.ShapeOf(t, h.Expect(0, "status", "--json").Stdout))

	p := h.SyncedDaemon()
	own := h.Expect(0, "status", "--json").Stdout
	e2e.Same(h, "beside a daemon", fields("string", "string"), e2e.ShapeOf(t, own))
	code, api := p.Get("/api/v1/status")
	e2e.Same(h, "status code", 200, code)
	e2e.Same(h, "the API's fields", e2e.ShapeOf(t, own), e2e.ShapeOf(t, api))
	s := h.Status()
	e2e.Same(h, "status", []any{1, true, "in_sync", 5}, []any{s.Generation, s.Daemon, s.Manifests[0].State, s.Manifests[0].Files})
	if next := s.Manifests[0].NextSync; next == nil || time.Until(*next) > time.Hour {
		t.Errorf("next sync at %v, want within the hour", next)
	}
	h.Contains("status", h.Expect(0, "status").Stdout, "running", "in_sync", "2026.10-")
	h.Contains("history", h.Expect(0, "history").Stdout, "command", "updated")
}

func TestStatusShowsAFailureAndItsEnd(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 401, Type: "expiredLicense"})
	out := h.Expect(1, "sync")
	h.Contains("stderr", out.Stderr, "expiredLicense")
	s := h.Status().Manifests[0]
	e2e.Same(h, "state", []string{"failed", "2026.10"}, []string{s.State, s.Release})
	h.Contains("error", s.Error, "expiredLicense")
	h.Provider.ClearFaults()
	h.Sync(0)
	s = h.Status().Manifests[0]
	e2e.Same(h, "state", []string{"in_sync", ""}, []string{s.State, s.Error})
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
			h := e2e.NewHost(t)
			h.Sync(0)
			h.Provider.AdvanceSample()
			h.Sync(0)
			h.Must(damage(filepath.Join(h.Data, "state", "syncd.db")))
			h.Downloads()
			before := h.Published("dq_addr_data")

			s := h.Status()
			e2e.Same(h, "status", []any{2, "in_sync"}, []any{s.Generation, s.Manifests[0].State})
			h.Expect(0, "history")
			h.Expect(0, "verify")
			r := h.Sync(0)

			e2e.Same(h, "result", []any{2, "unchanged"}, []any{r.Generation, r.Manifests[0].Result})
			h.WantDownloads()
			e2e.Same(h, "published", before, h.Published("dq_addr_data"))
			h.Sync(0)
			h.Expect(0, "rollback")
			h.WantDownloads()
		})
	}
}

func TestHistoryListsTheNewestFirst(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	h.Provider.AdvanceSample()
	h.Sync(0)
	h.Expect(0, "rollback")
	var history struct {
		History []struct {
			Generation int
			Trigger    string
			OnDisk     bool `json:"on_disk"`
		}
	}
	h.Must(json.Unmarshal([]byte(h.Expect(0, "history", "--json").Stdout), &history))
	var got []any
	for _, entry := range history.History {
		got = append(got, entry.Generation, entry.Trigger, entry.OnDisk)
	}
	e2e.Same(h, "history", []any{3, "rollback", true, 2, "command", true, 1, "command", true}, got)
}
