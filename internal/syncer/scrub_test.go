package syncer_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"syncd/internal/golive"
	"syncd/internal/golive/gate"
	"syncd/internal/manifest"
	"syncd/internal/manifest/layout"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

var errTest = errors.New("damaged on purpose")

func idOf(content string) manifest.ObjectID { return sha256.Sum256([]byte(content)) }

// spoil changes an object in place, and with it every link to it.
func (w *world) spoil(content string) {
	w.Helper()
	path := w.objectPath(idOf(content))
	must(w, os.Chmod(path, 0o644))
	must(w, os.WriteFile(path, []byte("damaged"), 0o644))
}

func TestARepairedObjectReplacesItsFilesInRevisionsThatNoGenerationShows(t *testing.T) {
	w := start(t, "data", "other")
	w.publish("other", "2026.09", files{"a.dat": "shared"})
	for _, release := range []string{"2026.09", "2026.10", "2026.11"} {
		w.publish("data", release, files{"a.dat": "shared", "b.dat": release})
		w.expect(w.demand(), "data", report.Updated)
	}
	for _, old := range []string{"000001", "000002"} { // `retain` keeps the revisions by their records
		must(t, os.RemoveAll(filepath.Join(w.dir, "generations", old)))
	}
	w.spoil("shared")
	damaged, err := w.syncer.RepairObject(context.Background(), idOf("shared"), errTest, true)
	must(t, err)
	equal(t, "files", len(damaged), 4)
	links, err := filepath.Glob(filepath.Join(w.dir, "revisions", "*", "*", "a.dat"))
	must(t, err)
	equal(t, "links", len(links), 4)
	for _, path := range links {
		content, err := os.ReadFile(path)
		must(t, err)
		equal(t, path, string(content), "shared")
	}
}

func TestADamagedObjectOfNoRevisionIsRemoved(t *testing.T) {
	w := start(t, "data")
	w.publish("data", "2026.09", files{"a.dat": "a"})
	w.expect(w.demand(), "data", report.Updated)
	path := w.objectPath(idOf("stray"))
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte("stray"), 0o644))
	if _, err := w.syncer.RepairObject(context.Background(), idOf("stray"), errTest, true); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("a whole object: %v", err)
	}
	w.spoil("stray")
	if _, err := w.syncer.RepairObject(context.Background(), idOf("stray"), errTest, true); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a damaged object: %v", err)
	}
}

func TestADamagedObjectOfAStagedRevisionIsRepaired(t *testing.T) {
	w := start(t, "data")
	w.target("data", func(t *golive.Target) { t.Activate = manual })
	w.publish("data", "2026.09", files{"a.dat": "staged"})
	w.expect(w.demand(), "data", report.Unchanged)
	w.spoil("staged")
	damaged, err := w.syncer.RepairObject(context.Background(), idOf("staged"), errTest, true)
	must(t, err)
	equal(t, "files", len(damaged), 1)
	links, err := filepath.Glob(filepath.Join(w.dir, "revisions", "*", "*", "a.dat"))
	must(t, err)
	equal(t, "links", len(links), 1)
	content, err := os.ReadFile(links[0])
	must(t, err)
	equal(t, "content", string(content), "staged")
}

// The sync finds the damage because it reuses the object for another release.
func TestAnObjectThatASyncDownloadsAgainReplacesItsFilesInEarlierRevisions(t *testing.T) {
	w := served(t)
	w.view(ref(layout.Flat, "data"))
	w.demand()
	w.spoil("a of september")
	w.publish("data", "2026.10", october())
	w.expect(w.demand(), "data", report.Updated)
	equal(t, "downloads", w.downloads(), []string{"a.dat", "b.dat"})
	w.rollback(request.Rollback{})
	w.serves("data", september())
	w.serves("ref", september())
	if again, err := w.syncer.Repair(t.Context(), request.Verify{}); err != nil || len(again.Damage) > 0 {
		t.Errorf("verify %+v, %v", again, err)
	}
}

// The gate's view is built when the revision is staged, and no generation shows it.
func TestADamagedObjectInTheViewOfAStagedRevisionNeverGoesLive(t *testing.T) {
	w := served(t)
	w.target("data", func(t *golive.Target) {
		t.Activate, t.Gate = manual, gate.Gate{Command: []string{"/bin/true"}, Timeout: time.Minute}
	})
	w.view(ref(layout.Flat, "data"))
	w.demand()
	w.publish("data", "2026.10", october())
	w.demand()
	w.spoil("b of october")
	_, err := w.syncer.RepairObject(t.Context(), idOf("b of october"), errTest, true)
	must(t, err)
	_, err = w.activate("data")
	must(t, err)
	w.serves("data", october())
	w.serves("ref", october())
}
