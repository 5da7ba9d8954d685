package mirror

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/disk/durable"
	"syncd/internal/mirror/permissions"
	"syncd/internal/mirror/record"
)

// viewOf shows the files of a record below a folder.
func viewOf(name, folder string, hashFiles bool, r Record) View {
	v := View{Name: name, Layout: "provider", HashFiles: hashFiles, Definition: folder, Revisions: map[string]string{r.Manifest: r.ID()}, Version: "test"}
	for _, f := range r.Files {
		v.Files = append(v.Files, ViewFile{Path: folder + "/" + f.Path, Manifest: r.Manifest, From: f.Path, Size: f.Size, Object: f.Object})
		v.Bytes += f.Size
	}
	v.Fingerprint = record.ViewFingerprint(v.Files, hashFiles, permissions.Default().String())
	return v
}

// shown reads what a view shows in the current generation.
func (m *Mirror) shown(t *testing.T, name string) files {
	t.Helper()
	root, err := filepath.EvalSymlinks(m.path("current", name))
	must(t, err)
	content := files{}
	err = filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		relative, _ := filepath.Rel(root, path)
		content[relative] = string(text)
		return err
	})
	must(t, err)
	return content
}

func TestAViewGoesLiveInTheSwapOfItsManifests(t *testing.T) {
	m := newMirror(t)
	for i, text := range []string{"old", "new"} {
		r := recordOf(t, m, "dq", "2026.10", files{"a.dat": text, "linux/b.so": "same"})
		g := mustChange(t, m, Change{Set: []Record{r}, Views: []View{viewOf("ref", "dq", true, r)}})
		want := files{
			"dq/a.dat": text, "dq/a.dat.hash": sumOf(text).String(),
			"dq/linux/b.so": "same", "dq/linux/b.so.hash": sumOf("same").String(),
		}
		if diff := cmp.Diff(want, m.shown(t, "ref")); diff != "" || g.Number != i+1 {
			t.Errorf("generation %d: %s", g.Number, diff)
		}
		check := exec.Command("sha256sum", "--strict", "--quiet", "-c", "ref.SHA256SUMS")
		check.Dir = m.path("current")
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("sha256sum: %v %s", err, out)
		}
		if again := recovered(t, m.dir); cmp.Diff(g.Views, again.Current().Views) != "" {
			t.Errorf("read from disk: %s", cmp.Diff(g.Views, again.Current().Views))
		}
	}
	object, _ := os.Stat(m.objectPath(sumOf("new")))
	if linked, err := os.Stat(m.path("current", "ref", "dq", "a.dat")); err != nil || !os.SameFile(object, linked) {
		t.Errorf("the view holds no hard link: %v", err)
	}
}

func TestAViewLeavesWithAChangeAndPruningRemovesItsTree(t *testing.T) {
	m := newMirror(t)
	r := recordOf(t, m, "dq", "2026.10", files{"a.dat": "a"})
	first, second := viewOf("ref", "one", false, r), viewOf("ref", "two", false, r)
	mustChange(t, m, Change{Set: []Record{r}, Views: []View{first}})
	mustChange(t, m, Change{Views: []View{second}})
	if _, err := m.Prune(Retention{For: time.Hour}, time.Now()); err != nil || m.findTree(first.Dir()) != nil {
		t.Errorf("the tree of a kept generation: %v, %v", m.findTree(first.Dir()), err)
	}
	if _, err := m.Prune(Retention{}, time.Now().Add(time.Minute)); err != nil || !isGone(m.findTree(first.Dir())) || m.findTree(second.Dir()) != nil {
		t.Errorf("after its generation: %v", err)
	}
	mustChange(t, m, Change{Remove: []string{"ref"}})
	if _, err := m.Prune(Retention{}, time.Now().Add(time.Minute)); err != nil || !isGone(m.findTree("views/ref")) {
		t.Errorf("after the view: %v", err)
	}
	checkWhole(t, m)
}

func TestPruningKeepsTheObjectsOfAViewThatStayedBehind(t *testing.T) {
	m := newMirror(t)
	r := recordOf(t, m, "dq", "2026.09", files{"a.dat": "old"})
	mustChange(t, m, Change{Set: []Record{r}, Views: []View{viewOf("ref", "dq", false, r)}})
	mustPublish(t, m, recordOf(t, m, "dq", "2026.10", files{"a.dat": "new"}))
	if _, err := m.Prune(Retention{}, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, there := m.Objects.Find(sumOf("old")); !there {
		t.Error("the object of the view is gone")
	}
	checkWhole(t, m)
}

func TestVerifyReadsWhatAViewDoesNotShareAndRepairRestoresIt(t *testing.T) {
	m := newMirror(t)
	r := recordOf(t, m, "dq", "2026.10", files{"a.dat": "a", "b.dat": "b", "c.dat": "c"})
	v := viewOf("ref", "dq", true, r)
	mustChange(t, m, Change{Set: []Record{r}, Views: []View{v}})
	whole, err := m.Verify(context.Background(), []string{"dq"}, 0)
	if err != nil || whole.Files != 6 || len(whole.Damage) > 0 {
		t.Fatalf("whole: %+v, %v", whole, err)
	}
	in := func(name string) string { return m.path("current", "ref", "dq", name) }
	must(t, os.Remove(in("a.dat")), os.WriteFile(in("a.dat"), []byte("A"), 0o444)) // a damaged copy
	must(t, os.Chmod(in("b.dat.hash"), 0o644), os.WriteFile(in("b.dat.hash"), nil, 0o444))
	must(t, os.Remove(in("c.dat.hash")))
	checked, err := m.Verify(context.Background(), []string{"dq"}, 0)
	var paths []string
	for _, d := range checked.Damage {
		paths = append(paths, d.View+":"+d.Path())
	}
	if diff := cmp.Diff([]string{"ref:dq/a.dat", "ref:dq/b.dat.hash", "ref:dq/c.dat.hash"}, paths); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	for _, d := range checked.Damage {
		if d.HashFile {
			must(t, m.RewriteHashFile(d))
		} else {
			must(t, m.Relink(d.File.Object))
		}
		must(t, m.Reread(context.Background(), d))
	}
	if again, err := m.Verify(context.Background(), []string{"dq"}, 0); err != nil || len(again.Damage) > 0 {
		t.Errorf("after the repair: %+v, %v", again, err)
	}
	checkWhole(t, m)
}

func TestADamagedViewMakesItsGenerationDamaged(t *testing.T) {
	for name, spoil := range map[string]func(m *Mirror, v View) error{
		"tree":   func(m *Mirror, v View) error { return os.RemoveAll(m.path(v.Dir())) },
		"link":   func(m *Mirror, _ View) error { return os.Remove(m.path("generations/000002/ref")) },
		"sums":   func(m *Mirror, _ View) error { return os.Remove(m.path("generations/000002/ref.SHA256SUMS")) },
		"record": func(m *Mirror, _ View) error { return os.Remove(m.path("generations/000002/ref.json")) },
		"link elsewhere": func(m *Mirror, _ View) error {
			return errors.Join(os.Remove(m.path("generations/000002/ref")), os.Symlink("../../views/ref/other", m.path("generations/000002/ref")))
		},
		"symlink as tree": func(m *Mirror, v View) error {
			return errors.Join(os.RemoveAll(m.path(v.Dir())), os.Symlink("/etc", m.path(v.Dir())))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMirror(t)
			r := recordOf(t, m, "dq", "2026.10", files{"a.dat": "a"})
			v := viewOf("ref", "dq", false, r)
			mustPublish(t, m, r)
			mustChange(t, m, Change{Views: []View{v}})
			must(t, spoil(m, v))
			if _, err := Open(m.dir, &durable.Disk{}); !errors.Is(err, errDamaged) {
				t.Errorf("open: %v", err)
			}
			must(t, m.Refresh())
			if m.Current().Number != 1 {
				t.Errorf("serves %d", m.Current().Number)
			}
			mustChange(t, m, Change{Views: []View{v}})
		})
	}
}
