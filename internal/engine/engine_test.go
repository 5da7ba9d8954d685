package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"syncd/internal/disk/flock"
	"syncd/internal/emulator"
	"syncd/internal/engine/operation"
	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// series is true when a metric has a series for a manifest.
func series(t *testing.T, w *world, name, manifest string) bool {
	t.Helper()
	families, err := w.registry.Gather()
	must(t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if family.GetName() == name && label.GetName() == "manifest" && label.GetValue() == manifest {
					return true
				}
			}
		}
	}
	return false
}

func TestSecondOpenNamesTheProcessThatHoldsTheLock(t *testing.T) {
	w := start(t, "one")
	first := w.open()
	_, err := Open(w.cfg, Options{Log: zerolog.Nop(), Registry: prometheus.NewRegistry(), AddSecret: func(string) {}})
	if held, ok := errors.AsType[*flock.HeldError](err); !ok || held.PID != os.Getpid() {
		t.Errorf("error %v, want held by process %d", err, os.Getpid())
	}
	must(t, first.Close())
	again := w.open()
	must(t, again.Close())
}

func TestJitterIsDrawnOnceAndKept(t *testing.T) {
	w := start(t, "one")
	first := w.open()
	must(t, first.Close())
	second := w.open()
	defer second.Close()
	if first.jitter != second.jitter || first.jitter < 0 || first.jitter >= 1 {
		t.Errorf("shares %v and %v", first.jitter, second.jitter)
	}
}

func TestSeriesOfConfiguredManifestsExistAfterOpen(t *testing.T) {
	w := start(t, "one")
	e := w.open()
	defer e.Close()
	for _, name := range []string{
		"syncd_sync_runs_total", "syncd_last_check_timestamp_seconds", "syncd_last_success_timestamp_seconds", "syncd_download_bytes_total",
		"syncd_files_downloaded_total", "syncd_verify_failures_total", "syncd_refusals_total", "syncd_mirror_bytes",
		"syncd_releases_behind", "syncd_release_pinned", "syncd_active_since_timestamp_seconds", "syncd_disk_needed_bytes",
		"syncd_resumed_bytes_total", "syncd_manifest_state",
	} {
		if !series(t, w, name, "one") {
			t.Errorf("no series of %s", name)
		}
	}
	families, err := w.registry.Gather()
	must(t, err)
	for _, family := range families {
		want := map[string]int{"syncd_sync_runs_total": len(report.Results()), "syncd_refusals_total": len(refusal.Reasons())}[family.GetName()]
		if want > 0 && len(family.GetMetric()) != want {
			t.Errorf("%s has %d series, want %d", family.GetName(), len(family.GetMetric()), want)
		}
	}
}

func TestReadyAtOnceWithDataOnDisk(t *testing.T) {
	w := start(t, "one")
	e := w.open()
	if e.Ready(0) == nil {
		t.Error("ready without data")
	}
	_, err := operation.Sync.Do(context.Background(), e.Operations(), request.Sync{Demand: true})
	must(t, err)
	must(t, e.Close())

	w.provider.ResetRequests()
	e = w.open()
	defer e.Close()
	must(t, e.Ready(0))
	must(t, e.Ready(time.Hour))
	if err := e.Ready(time.Nanosecond); err == nil || !strings.Contains(err.Error(), "one") {
		t.Errorf("fresh within a nanosecond: %v", err)
	}
	if len(w.provider.Requests()) > 0 || !series(t, w, "syncd_release_info", "one") {
		t.Errorf("requests %v", w.provider.Requests())
	}
}

func TestRetryAfterHoldsAcrossEnginesAndOnDemand(t *testing.T) {
	w := start(t, "one")
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 503, RetryAfter: "3600", Path: "/ManifestReleases/*", Times: 1})
	for i := range 3 {
		w.provider.ResetRequests()
		e := w.open()
		result, err := operation.Sync.Do(context.Background(), e.Operations(), request.Sync{Demand: true})
		must(t, err)
		if result.OK() {
			t.Errorf("sync %d: %+v", i, result)
		}
		if got := len(w.provider.Requests()); got != 0 && i > 0 {
			t.Errorf("sync %d made %d requests", i, got)
		}
		must(t, e.Close())
	}
}

func TestDamagedStateIsSetAsideWithAWarning(t *testing.T) {
	w := start(t, "one")
	e := w.open()
	_, err := operation.Sync.Do(context.Background(), e.Operations(), request.Sync{Demand: true})
	must(t, err)
	must(t, e.Close())
	must(t, os.WriteFile(w.cfg.DataDir+"/state/syncd.db", []byte(strings.Repeat("x", 40000)), 0o600))
	e = w.open()
	defer e.Close()
	if w.logged("set aside") != 1 {
		t.Errorf("the log:\n%s", &w.log)
	}
	history, err := e.History(10)
	if err != nil || len(history.Entries) != 1 || !history.Entries[0].OnDisk {
		t.Errorf("history %+v, %v", history, err)
	}
}

func TestAddSecretGetsTheCustomerID(t *testing.T) {
	w := start(t, "one")
	var secrets []string
	e, err := Open(w.cfg, Options{Log: zerolog.Nop(), Registry: prometheus.NewRegistry(), AddSecret: func(id string) { secrets = append(secrets, id) }})
	must(t, err)
	must(t, e.Close())
	if len(secrets) != 1 || secrets[0] != "customer-id" {
		t.Errorf("AddSecret got %q", secrets)
	}
}

// A crash can leave the newest list of what is served under both of its names.
func TestAStartRemovesWhatACrashLeftInTheAudit(t *testing.T) {
	w := start(t, "one")
	e := w.open()
	_, err := operation.Sync.Do(context.Background(), e.Operations(), request.Sync{Demand: true})
	must(t, errors.Join(err, e.Close()))
	left := filepath.Join(w.cfg.DataDir, "state", "audit", ".tmp-events-ABCDEFGHIJ")
	must(t, os.WriteFile(left, []byte("{}\n"), 0o600))
	again := w.open()
	must(t, again.Close())
	if _, err := os.Lstat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", left, err)
	}
}
