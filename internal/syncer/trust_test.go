package syncer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/manifest"
	"syncd/internal/report"
)

// object is the path of the object of a served file.
func (w *world) object(name, path string) string {
	w.Helper()
	for _, f := range w.cfg.Mirror.Current().Records[name].Files {
		if f.Path == path {
			return w.objectPath(f.Object)
		}
	}
	w.Fatalf("%s of %s is not served", path, name)
	return ""
}

// overwrite changes a file in place; shows says whether its time shows that.
func (w *world) overwrite(path, content string, shows bool) {
	w.Helper()
	info, err := os.Stat(path)
	must(w, err)
	must(w, os.Chmod(path, 0o644))
	must(w, os.WriteFile(path, []byte(content), 0o644))
	must(w, os.Chmod(path, 0o444))
	at := info.ModTime()
	if shows {
		at = at.Add(time.Second)
	}
	must(w, os.Chtimes(path, at, at))
}

func TestUnchangedObjectsAreNotReadAgain(t *testing.T) {
	for _, algorithm := range []manifest.Algorithm{manifest.SHA256, manifest.MD5} {
		for name, between := range map[string]func(*world){
			"the same process": func(*world) {},
			"another process":  (*world).restart,
		} {
			t.Run(name+" "+algorithm.String(), func(t *testing.T) {
				w := start(t, "data")
				w.cfg.Algorithm = algorithm
				w.configure()
				w.publish("data", "2026.09", september())
				w.demand()
				between(w)
				object := w.object("data", "a.dat")
				w.overwrite(object, "A OF SEPTEMBER", false) // only reading the content shows this
				w.publish("data", "2026.10", october())
				w.expect(w.poll(), "data", report.Updated)
				equal(t, "downloads", w.downloads(), []string{"b.dat"})
				w.overwrite(object, "a of september", false)
				w.serves("data", october())
			})
		}
	}
}

func TestAnObjectWithAChangedFileIsReadOnce(t *testing.T) {
	touched := func(w *world) {
		now := time.Now().Add(time.Hour)
		must(w, os.Chtimes(w.object("data", "a.dat"), now, now))
	}
	for name, change := range map[string]func(*world){
		"touched": touched,
		"a lost state": func(w *world) {
			w.close()
			must(w, os.Remove(filepath.Join(w.dir, "state", "syncd.db")))
			w.open()
		},
		"restored from a copy": func(w *world) {
			object := w.object("data", "a.dat")
			must(w, os.Rename(object, object+".old"))
			must(w, os.WriteFile(object, []byte("a of september"), 0o444))
			must(w, os.Remove(object+".old"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := served(t)
			change(w)
			w.publish("data", "2026.10", october())
			w.expect(w.poll(), "data", report.Updated)
			equal(t, "downloads", w.downloads(), []string{"b.dat"})
			w.serves("data", october())

			object := w.object("data", "a.dat")
			w.overwrite(object, "A OF SEPTEMBER", false) // it is not read a second time
			w.publish("data", "2026.11", files{"a.dat": "a of september", "n.dat": "n"})
			w.expect(w.poll(), "data", report.Updated)
			equal(t, "downloads", w.downloads(), []string{"n.dat"})
			w.overwrite(object, "a of september", false)
		})
	}
}

func TestADamagedObjectIsFoundByThePlanAndFetchedAgain(t *testing.T) {
	for _, algorithm := range []manifest.Algorithm{manifest.SHA256, manifest.SHA1} {
		t.Run(algorithm.String(), func(t *testing.T) {
			w := start(t, "data")
			w.cfg.Algorithm = algorithm
			w.configure()
			w.publish("data", "2026.09", september())
			w.demand()
			w.overwrite(w.object("data", "a.dat"), "damaged", true)
			w.publish("data", "2026.10", october())
			w.expect(w.poll(), "data", report.Updated)
			equal(t, "downloads", w.downloads(), []string{"a.dat", "b.dat"})
			equal(t, "sizes", w.asked("/Metadata/"), []string{"/Metadata/Data/2026.10/a.dat", "/Metadata/Data/2026.10/b.dat"})
			w.serves("data", october())
			if !strings.Contains(w.log.String(), "object on disk is damaged") {
				t.Errorf("no warning in the log:\n%s", &w.log)
			}
			if got := w.metric("syncd_verify_failures_total", "manifest=data"); got != 1 {
				t.Errorf("%v failures counted", got)
			}
		})
	}
}

func TestADamagedObjectThatTwoManifestsWantIsFetchedOnce(t *testing.T) {
	w := start(t, "one", "two")
	w.publish("one", "2026.09", files{"a.dat": "shared", "b.dat": "b"})
	w.publish("two", "2026.09", files{"x.dat": "shared", "y.dat": "y"})
	w.demand()
	w.overwrite(w.object("one", "a.dat"), "damaged", true)
	w.publish("one", "2026.10", files{"a.dat": "shared", "b.dat": "new b"})
	w.publish("two", "2026.10", files{"x.dat": "shared", "y.dat": "new y"})
	result := w.poll()
	w.expect(result, "one", report.Updated)
	w.expect(result, "two", report.Updated)
	equal(t, "downloads", len(w.downloads()), 3)
	w.serves("one", files{"a.dat": "shared", "b.dat": "new b"})
	w.serves("two", files{"x.dat": "shared", "y.dat": "new y"})
}

func TestAnObjectIsTrustedAcrossManifests(t *testing.T) {
	w := start(t, "one", "two")
	w.publish("one", "2026.09", files{"a.dat": "shared"})
	w.demand("one")
	object := w.object("one", "a.dat")
	w.overwrite(object, "SHARED", false)
	w.publish("two", "2026.09", files{"x.dat": "shared"})
	w.expect(w.demand("two"), "two", report.Updated)
	equal(t, "downloads", len(w.downloads()), 0)
	w.overwrite(object, "shared", false)
}

func TestObjectsOfAFailedSyncAreNotReadAgain(t *testing.T) {
	w := start(t, "data")
	w.publish("data", "2026.09", files{"a.dat": "a", "bad.dat": "bad"})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Download/*/bad.dat"})
	w.comesLast("bad.dat")
	w.expect(w.demand(), "data", report.Failed)
	proofs, err := w.cfg.Store.Proofs()
	must(t, err)
	objects, err := w.cfg.Mirror.Objects.All()
	must(t, err)
	for _, object := range objects {
		if _, known := proofs["data"].Of(object); !known {
			t.Errorf("no proof of %s", object)
		}
	}
}

func TestProofsLeaveWithTheirManifest(t *testing.T) {
	w := start(t, "data", "bins")
	w.publish("data", "2026.09", september())
	publishBinaries(w)
	w.demand()
	w.cfg.Targets, w.cfg.DropRemoved = w.cfg.Targets[:1], true
	w.configure()
	w.poll()
	proofs, err := w.cfg.Store.Proofs()
	must(t, err)
	if len(proofs) != 1 || proofs["data"] == nil {
		t.Errorf("proofs of %d manifests", len(proofs))
	}
}
