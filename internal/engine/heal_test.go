//go:build linux

package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"syncd/internal/config"
	"syncd/internal/engine/operation"
	"syncd/internal/manifest/layout"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// exporting is a world whose manifest is exported as hard links.
func exporting(t *testing.T) (w *world, folder string) {
	w = start(t, "one")
	w.publish("one", "2026.09", strings.Repeat("content ", 1000))
	folder = filepath.Join(t.TempDir(), "refdata")
	w.cfg.Views = []config.View{{Name: "refdata", Manifests: []string{"one"}, Layout: layout.Flat, Export: folder}}
	return w, folder
}

func (w *world) demanded(e *Engine) report.Sync {
	w.Helper()
	result, err := operation.Sync.Do(w.Context(), e.Operations(), request.Sync{Demand: true})
	must(w.T, err)
	if !result.OK() {
		w.Fatalf("%+v", result)
	}
	return result
}

func (w *world) scrub(e *Engine) {
	w.Helper()
	must(w.T, e.Scrub.Begin(w.Context()))
	for ended := false; !ended; {
		var err error
		ended, err = e.Scrub.Slice(w.Context())
		must(w.T, err)
	}
}

// rot damages a file as a disk does: its time stays.
func rot(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	must(t, os.Chmod(path, 0o644))
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt([]byte{0}, 1000)
	must(t, err)
	must(t, f.Close())
	must(t, os.Chmod(path, 0o444))
	must(t, os.Chtimes(path, time.Time{}, info.ModTime()))
}

// isOne fails the test unless the exported file is the served one, with its content.
func isOne(t *testing.T, what, exported, served string) {
	t.Helper()
	a, err := os.Stat(exported)
	must(t, err)
	b, err := os.Stat(served)
	must(t, err)
	text, err := os.ReadFile(exported)
	must(t, err)
	if !os.SameFile(a, b) || strings.Contains(string(text), "\x00") {
		t.Errorf("%s: the exported file is damaged or another one", what)
	}
}

// A scrub that heals an object heals the hard links of an exported folder, too. The event
// names them, and the program that has the file open.
func TestAScrubHealsTheFilesOfAnExportedFolder(t *testing.T) {
	w, folder := exporting(t)
	e := w.open()
	defer e.Close()
	w.demanded(e)
	exported, served := filepath.Join(folder, "one.dat"), filepath.Join(w.cfg.DataDir, "current/refdata/one.dat")
	isOne(t, "at first", exported, served)
	reader := exec.Command("sleep", "600")
	var err error
	reader.Stdin, err = os.Open(exported)
	must(t, err)
	must(t, reader.Start())
	defer reader.Wait()
	defer reader.Process.Kill()
	rot(t, exported)
	w.scrub(e)
	isOne(t, "after the scrub", exported, served)
	for _, text := range []string{"exported as " + exported, "sleep (", `"repaired":true`} {
		if w.logged(text) == 0 {
			t.Errorf("the log has no %q:\n%s", text, &w.log)
		}
	}
	if left := e.Scrub.Progress().Left; len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
	if result := w.demanded(e); result.Changed || result.Exports[0].Result != report.Unchanged {
		t.Errorf("the next sync: %+v", result)
	}
}

// A crash between the repair of an object and that of the exported folder leaves a hard
// link to the damaged file. The next sync finds it.
func TestASyncMendsAnExportedFolderThatARepairLeft(t *testing.T) {
	w, folder := exporting(t)
	e := w.open()
	w.demanded(e)
	exported, served := filepath.Join(folder, "one.dat"), filepath.Join(w.cfg.DataDir, "current/refdata/one.dat")
	id := e.mirror.Current().Records["one"].Files[0].Object
	whole, err := os.ReadFile(exported)
	must(t, err)
	object := e.mirror.Objects.Path(id)
	rot(t, object)
	must(t, os.Remove(object))
	must(t, os.WriteFile(object, whole, 0o444))
	must(t, e.mirror.Relink(id))
	must(t, e.Close())
	e = w.open()
	defer e.Close()
	if _, err := operation.Sync.Do(t.Context(), e.Operations(), request.Sync{}); err != nil {
		t.Fatal(err)
	}
	isOne(t, "after a poll", exported, served)
}

// A repair of one manifest by name mends its exported folder, too.
func TestARepairOfAManifestMendsTheExportedFolder(t *testing.T) {
	w, folder := exporting(t)
	e := w.open()
	defer e.Close()
	w.demanded(e)
	exported, served := filepath.Join(folder, "one.dat"), filepath.Join(w.cfg.DataDir, "current/refdata/one.dat")
	must(t, os.Chmod(exported, 0o644))
	must(t, os.WriteFile(exported, []byte("damaged\x00"), 0o644))
	result, err := operation.Repair.Do(t.Context(), e.Operations(), request.Verify{Manifests: []string{"one"}})
	if err != nil || !result.OK() || len(result.Damage) == 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	isOne(t, "after verify --repair of the manifest", exported, served)
	if damage := result.Damage[0]; !damage.Repaired || !strings.Contains(damage.Error, "exported as "+exported) {
		t.Errorf("%+v", damage)
	}
}
