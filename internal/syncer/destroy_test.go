package syncer_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"syncd/internal/golive"
	"syncd/internal/manifest"
	"syncd/internal/mirror/destroy"
	"syncd/internal/report"
)

// destroyer destroys what the world's tree has.
func (w *world) destroyer() golive.Destroyer { return golive.Destroyer{Tree: w.syncer.Tree()} }

// destroyNow destroys one revision, and expects it to work.
func (w *world) destroyNow(name, id string) destroy.Destruction {
	w.Helper()
	release, revision := splitID(id)
	done, err := w.destroyer().Destroy(w.Context(), destroy.Order{Manifest: name, Release: release, Revision: revision, Cause: destroy.Command})
	must(w, err)
	return done
}

func splitID(id string) (manifest.Release, string) {
	i := bytes.LastIndexByte([]byte(id), '-')
	return manifest.Release(id[:i]), id[i+1:]
}

// before names the revision that was served before the served one.
func (w *world) before(name string) string {
	w.Helper()
	records, err := w.cfg.Mirror.Records.Revisions(name)
	must(w, err)
	return records[1].ID()
}

// gone requires that no file of the data directory has one of the contents, whatever its name.
func (w *world) gone(contents ...string) {
	w.Helper()
	for _, name := range w.holding(w.dir, contents...) {
		w.Errorf("%s holds a destroyed content", name)
	}
}

// holding lists the files below a folder that begin with one of the contents.
func (w *world) holding(root string, contents ...string) (names []string) {
	w.Helper()
	must(w, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		if slices.ContainsFunc(contents, func(content string) bool { return string(text) == content }) {
			names = append(names, name)
		}
		return err
	}))
	return names
}

func sum(content string) string { return manifest.ObjectID(sha256.Sum256([]byte(content))).String() }

func TestADestroyedRevisionIsGoneAndWhatOthersShareStays(t *testing.T) {
	w := advanced(t) // september, october, november
	october, current := w.before("data"), w.cfg.Mirror.Current().Records["data"].Key()
	first := w.destroyNow("data", october)
	equal(t, "contents of october that are gone", first.Gone(), 0) // september and november share all of them
	equal(t, "b.dat is shared with", sharedWith(first, "b of october"), []string{current})
	september := w.before("data")
	second := w.destroyNow("data", september)
	equal(t, "contents of september that are gone", second.Gone(), 2)
	w.gone("b of september", "c")
	equal(t, "c.txt is shared with", sharedWith(second, "c"), []string{})
	equal(t, "a.dat is shared with", sharedWith(second, "a of september"), []string{current})
	w.serves("data", november())
	for _, id := range []string{october, september} {
		if _, err := os.Stat(filepath.Join(w.dir, "revisions/data", id)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the tree of %s is there: %v", id, err)
		}
	}
	w.expect(w.poll(), "data", report.Unchanged)
	equal(t, "bytes", w.metric("syncd_destroyed_bytes_total", "manifest=data"), float64(len("b of september")+len("c")))
}

// sharedWith names what keeps a content of a destruction.
func sharedWith(d destroy.Destruction, content string) []string {
	for _, c := range d.Contents {
		if c.SHA256 == sum(content) {
			return c.SharedWith
		}
	}
	return nil
}

func TestADestroyedRevisionLeavesTheOthersOfItsGeneration(t *testing.T) {
	w := start(t, "data", "more")
	w.cfg.RetainFor = 1 << 40
	w.configure()
	w.publish("data", "2026.09", september())
	w.publish("more", "2026.09", files{"x": "x of september"})
	w.demand()
	w.publish("data", "2026.10", files{"a.dat": "another"})
	w.publish("more", "2026.10", files{"x": "x of october"})
	w.force()
	w.destroyNow("data", w.before("data"))
	w.gone("a of september", "b of september", "c", "d")
	text, err := os.ReadFile(filepath.Join(w.dir, "generations/000001/more/x"))
	equal(t, "of the other manifest", string(text), "x of september")
	must(t, err)
	g, err := w.cfg.Mirror.Generations.Find(1)
	must(t, err)
	equal(t, "manifests of generation 1", g.Names(), []string{"more"})
	list, err := w.syncer.Tree().Destroyed.Destructions("data")
	if err != nil || len(list) != 1 || list[0].GoneBytes() == 0 || list[0].Gone() != 4 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestWhatIsServedIsNeverDestroyed(t *testing.T) {
	w := served(t)
	served := w.cfg.Mirror.Current().Records["data"]
	_, err := w.destroyer().Destroy(t.Context(), destroy.Order{Manifest: "data", Release: served.Release, Revision: served.Revision, Cause: destroy.Publisher})
	var isServed *destroy.ServedError
	if !errors.As(err, &isServed) {
		t.Errorf("got %v", err)
	}
	w.serves("data", september())
}
