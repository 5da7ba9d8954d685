package mirror

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/manifest"
)

// plant moves a file or folder of the data directory away and puts a link to it in its
// place. unchanged requires that the target is as it was.
func (m *Mirror) plant(t *testing.T, name string) (unchanged func()) {
	t.Helper()
	away := filepath.Join(t.TempDir(), "away")
	return m.plantTo(t, name, away)
}

func (m *Mirror) plantTo(t *testing.T, name, away string) (unchanged func()) {
	t.Helper()
	must(t, os.Rename(m.path(name), away))
	target := away
	if strings.HasPrefix(away, m.dir) { // os.Root follows a relative link within the data directory
		target, _ = filepath.Rel(filepath.Dir(m.path(name)), away)
	}
	must(t, os.Symlink(target, m.path(name)))
	before := listing(t, away)
	return func() {
		t.Helper()
		if diff := cmp.Diff(before, listing(t, away)); diff != "" {
			t.Errorf("the target of %s changed: %s", name, diff)
		}
	}
}

func (m *Mirror) isLink(name string) bool {
	info, err := os.Lstat(m.path(name))
	return err == nil && info.Mode().Type() == fs.ModeSymlink
}

func TestLinkInThePlaceOfAnObjectIsAMissingObject(t *testing.T) {
	for _, target := range []string{"outside", "in partial", "the published file", "itself"} {
		t.Run(target, func(t *testing.T) {
			m := newMirror(t)
			mustPublish(t, m, recordOf(t, m, "a", "2026.10", files{"x": "1"}))
			id := sumOf("1")
			unchanged := func() {}
			switch target {
			case "outside":
				unchanged = m.plant(t, objectName(id))
			case "in partial":
				unchanged = m.plantTo(t, objectName(id), m.path("partial", "planted"))
			case "the published file":
				must(t, errors.Join(os.Remove(m.objectPath(id)), os.Symlink("../../current/a/x", m.objectPath(id))))
			case "itself":
				must(t, errors.Join(os.Remove(m.objectPath(id)), os.Symlink(id.String(), m.objectPath(id))))
			}
			if _, there := m.Objects.Find(id); there {
				t.Error("it is an object")
			}
			if m.Objects.IsWhole(t.Context(), id) {
				t.Error("it is whole")
			}
			if _, err := m.Objects.Hash(t.Context(), id, manifest.MD5); err == nil {
				t.Error("its digest was read")
			}
			if err := m.Relink(id); err == nil {
				t.Error("a published file was replaced by it")
			}
			if info, err := os.Lstat(m.path("current", "a", "x")); err != nil || !info.Mode().IsRegular() {
				t.Errorf("published: %v, %v", info, err)
			}
			adopt(t, m, "1")
			if m.isLink(objectName(id)) || !m.Objects.IsWhole(t.Context(), id) {
				t.Error("the next download did not replace it")
			}
			unchanged()
		})
	}
}

func TestUnwantedLinkInThePlaceOfAnObjectIsPruned(t *testing.T) {
	m := newMirror(t)
	mustPublish(t, m, recordOf(t, m, "a", "2026.10", files{"x": "1"}))
	unwanted := adopt(t, m, "2").ID
	unchanged := m.plant(t, objectName(unwanted))
	if _, err := m.Prune(Retention{}, days(1)); err != nil {
		t.Fatal(err)
	}
	if m.isLink(objectName(unwanted)) {
		t.Error("the link stays")
	}
	unchanged()
}

func TestLinksInThePlaceOfGenerationsAreRemoved(t *testing.T) {
	m := newMirror(t)
	for _, text := range []string{"1", "2", "3"} {
		mustPublish(t, m, recordOf(t, m, "a", "2026.10", files{"x": text}))
	}
	var checks []func()
	for _, n := range []string{"000004", "000009", "1000000"} {
		must(t, os.Mkdir(m.path("generations", n), 0o755))
		checks = append(checks, m.plant(t, "generations/"+n))
	}
	checks = append(checks, m.plant(t, "generations/000001"))
	m = recovered(t, m.dir)
	if left := below(t, m, "generations/*"); len(left) != 3 {
		t.Errorf("after the start: %q", left)
	}
	if all, err := m.Generations.All(); err != nil || len(all) != 2 {
		t.Errorf("%d complete generations, %v", len(all), err)
	}
	if _, err := m.Prune(Retention{Revisions: 9, For: time.Hour}, time.Now()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"generations/000002", "generations/000003"}, below(t, m, "generations/*")); diff != "" {
		t.Errorf("after pruning: %s", diff)
	}
	for _, unchanged := range checks {
		unchanged()
	}
	checkWhole(t, m)
}

func TestLinkInThePlaceOfARevisionIsAMissingRevision(t *testing.T) {
	m := newMirror(t)
	old := recordOf(t, m, "a", "2026.09", files{"x": "1"})
	served := recordOf(t, m, "a", "2026.10", files{"x": "2", "sub/y": "y"})
	mustPublish(t, m, old)
	mustPublish(t, m, served)
	unchanged := m.plant(t, served.Dir())
	var broken *BrokenError
	if _, err := Open(m.dir, m.disk); !errors.As(err, &broken) || broken.Generation != 2 {
		t.Errorf("got %v, want a BrokenError of generation 2", err)
	}
	if err := m.Refresh(); err != nil { // of a process that was running meanwhile
		t.Fatal(err)
	}
	if n := m.Current().Number; n != 1 {
		t.Errorf("current is %d", n)
	}
	if kept, err := m.Records.Revisions("a"); err != nil || len(kept) != 1 {
		t.Errorf("%d revisions to go back to, %v", len(kept), err)
	}
	m = recovered(t, m.dir)
	mustPublish(t, m, served)
	if m.isLink(served.Dir()) {
		t.Error("the link stays")
	}
	unchanged()
}

func TestUnwantedLinkInThePlaceOfARevisionIsPruned(t *testing.T) {
	m := newMirror(t)
	old := recordOf(t, m, "a", "2026.09", files{"x": "1"})
	mustPublish(t, m, old)
	mustPublish(t, m, recordOf(t, m, "a", "2026.10", files{"x": "2"}))
	unchanged := m.plant(t, old.Dir())
	if _, err := m.Prune(Retention{Revisions: 9, For: time.Hour}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if m.isLink(old.Dir()) {
		t.Error("the link stays")
	}
	unchanged()
}

func TestLinksWithinAPublishedRevisionAreDamage(t *testing.T) {
	m := newMirror(t)
	served := recordOf(t, m, "a", "2026.10", files{"x": "2", "sub/y": "y"})
	mustPublish(t, m, served)
	file := filepath.Join(served.Dir(), "x")
	unchanged := m.plantTo(t, file, m.path("partial", "planted"))
	checked, err := m.Verify(t.Context(), []string{"a"}, 0)
	if err != nil || len(checked.Damage) != 1 || checked.Damage[0].File.Path != "x" {
		t.Fatalf("damage %+v, %v", checked.Damage, err)
	}
	if err := m.Trees.check(treeOfRevision(served)); err == nil {
		t.Error("the revision is whole")
	}
	must(t, m.Relink(sumOf("2")))
	if err := m.Reread(context.Background(), checked.Damage[0]); err != nil || m.isLink(file) {
		t.Errorf("not repaired: %v", err)
	}
	unchanged()
	unchanged = m.plantTo(t, filepath.Join(served.Dir(), "sub"), m.path("partial", "sub"))
	if err := m.Trees.check(treeOfRevision(served)); err == nil {
		t.Error("the revision with a link in the place of a folder is whole")
	}
	unchanged()
}
