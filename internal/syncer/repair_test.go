package syncer_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/report/status"
)

func (w *world) repair() report.Verification {
	w.Helper()
	w.provider.ResetRequests()
	result, err := w.syncer.Repair(context.Background(), request.Verify{})
	must(w, err)
	return result
}

// replace puts other bytes at a served file's path, beside its object.
func (w *world) replace(path string) {
	w.Helper()
	path, err := filepath.EvalSymlinks(filepath.Join(w.dir, "current", path))
	must(w, err)
	must(w, os.Remove(path))
	must(w, os.WriteFile(path, []byte("damaged"), 0o444))
}

// corrupt changes bytes in place, in the object and all of its links.
func (w *world) corrupt(path string) {
	w.Helper()
	path = filepath.Join(w.dir, "current", path)
	must(w, os.Chmod(path, 0o644))
	must(w, os.WriteFile(path, []byte("damaged"), 0o644))
	must(w, os.Chmod(path, 0o444))
}

func TestRepairOfNothingDamagedReadsEverything(t *testing.T) {
	w := served(t)
	result := w.repair()
	record := w.cfg.Mirror.Current().Records["data"]
	equal(t, "report", result, report.Verification{Files: 4, Bytes: record.Bytes, Damage: []report.DamagedFile{}})
	equal(t, "requests", len(w.asked("/")), 0)
}

func TestRepairUsesTheObjectWhenItIsWhole(t *testing.T) {
	w := served(t)
	w.replace("data/a.dat")
	must(t, os.Remove(filepath.Join(w.dir, "current", "data", "c.txt")))
	result := w.repair()
	if len(result.Damage) != 2 || !result.OK() || result.Damage[0].Path != "a.dat" || result.Damage[1].Path != "c.txt" {
		t.Errorf("report %+v", result)
	}
	equal(t, "requests", len(w.asked("/")), 0)
	w.serves("data", september())
	equal(t, "verify failures", w.metric("syncd_verify_failures_total", "manifest=data"), 2.0)
}

func TestRepairFetchesAProvenCopyForEveryRevisionThatSharesTheFile(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.poll()
	w.corrupt("data/a.dat") // september's too
	if result := w.repair(); len(result.Damage) != 1 || !result.OK() {
		t.Errorf("report %+v", result)
	}
	equal(t, "downloads", w.downloads(), []string{"a.dat"})
	w.serves("data", october())
	w.rollback(request.Rollback{})
	w.serves("data", september())
	equal(t, "damage left", len(w.repair().Damage), 0)
}

func TestRepairRefusesAReplacedFile(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.09", files{"a.dat": "another a", "b.dat": "b", "c.txt": "c", "d.lic": "d"})
	w.corrupt("data/a.dat")
	result := w.repair()
	if result.OK() || !strings.Contains(result.Damage[0].Error, "not repaired") {
		t.Errorf("report %+v", result)
	}
	equal(t, "served", w.tree("data")["a.dat"], "damaged")
	w.publish("data", "2026.09", september())
	if result := w.repair(); !result.OK() {
		t.Errorf("report %+v", result)
	}
}

func TestVerifyOfAManifestThatIsNotServedSaysSo(t *testing.T) {
	w := served(t)
	_, _, err := status.Verify(context.Background(), w.cfg.Mirror, request.Verify{Manifests: []string{"nosuch"}})
	if err == nil || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("error %v", err)
	}
}
