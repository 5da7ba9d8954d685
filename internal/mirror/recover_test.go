package mirror

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
)

func TestAMissingDataDirectoryIsEmptyAndOpenChangesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	m, err := Open(dir, &durable.Disk{})
	if err != nil || m.Current().Number != 0 {
		t.Fatalf("got current %+v, %v, want none", m.Current(), err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
	if all, err := m.Generations.All(); err != nil || len(all) != 0 {
		t.Errorf("got generations %v, %v, want none", all, err)
	}
}

func TestRecoverFindsNothingToDoTheSecondTime(t *testing.T) {
	m := newMirror(t)
	mustPublish(t, m, recordOf(t, m, "a", "2026.09", files{"x": "1"}))
	mustPublish(t, m, recordOf(t, m, "a", "2026.10", files{"x": "2"}))
	before, known := listing(t, m.dir), m.Current()
	again := recovered(t, m.dir)
	same(t, before, listing(t, m.dir))
	if again.Current().Number != known.Number {
		t.Errorf("current %d", again.Current().Number)
	}
}

// leftover makes what an interruption or damage can leave of publishing next, in a
// mirror that serves generations 1 and 2.
type leftover struct {
	name  string
	make  func(t *testing.T, m *Mirror, next Record)
	serve int // the generation that readers see after Recover
}

// halfBuild builds a revision's tree and does not give it its name.
func halfBuild(m *Mirror, r Record) error {
	_, err := m.Trees.link(treeOfRevision(r), fsops.TempName(r.Dir()))
	return err
}

func leftovers() []leftover {
	must := func(t *testing.T, errs ...error) {
		t.Helper()
		must(t, errors.Join(errs...))
	}
	build := func(t *testing.T, m *Mirror, next Record) {
		t.Helper()
		_, err := m.Generations.build(Change{Set: []Record{next}})
		must(t, m.Objects.Sync(), m.Trees.build(treeOfRevision(next)), err)
	}
	spoil := func(name, text string) func(*testing.T, *Mirror, Record) {
		return func(t *testing.T, m *Mirror, _ Record) { replace(t, m.path(name), text) }
	}
	return []leftover{
		{"objects adopted", func(t *testing.T, m *Mirror, _ Record) {}, 2},
		{"revision half built", func(t *testing.T, m *Mirror, next Record) {
			must(t, halfBuild(m, next))
		}, 2},
		{"revision of a new manifest half built", func(t *testing.T, m *Mirror, next Record) {
			next.Manifest = "new"
			must(t, os.Mkdir(m.path("revisions/new"), 0o700), halfBuild(m, next))
		}, 2},
		{"revision built", func(t *testing.T, m *Mirror, next Record) { must(t, m.Trees.build(treeOfRevision(next))) }, 2},
		{"generation begun", func(t *testing.T, m *Mirror, next Record) {
			temp := fsops.TempName("generations/000003")
			must(t, m.Trees.build(treeOfRevision(next)), os.Mkdir(m.path(temp), 0o700), m.Generations.writeEntry(temp, next))
		}, 2},
		{"generation built", build, 2},
		{"several generations above current", func(t *testing.T, m *Mirror, next Record) {
			build(t, m, next)
			must(t, os.Mkdir(m.path("generations/000009"), 0o755), os.Mkdir(m.path("generations/1000000"), 0o755))
		}, 2},
		{"link to the new generation not renamed", func(t *testing.T, m *Mirror, next Record) {
			build(t, m, next)
			must(t, os.Symlink("generations/000003", fsops.TempName(m.path("current"))))
		}, 2},
		{"swapped", func(t *testing.T, m *Mirror, next Record) {
			build(t, m, next)
			must(t, m.Generations.swap(3))
		}, 3},
		{"temporary names everywhere", func(t *testing.T, m *Mirror, _ Record) {
			for _, name := range []string{"current", "generations/000001", "revisions/a", "revisions/a/relink", "revisions/a/2026.09-0", "objects/aa", "state/x"} {
				temp := fsops.TempName(m.path(name))
				must(t, os.MkdirAll(filepath.Join(temp, "sub"), 0o755), os.WriteFile(filepath.Join(temp, "sub", "file"), nil, 0o444))
			}
		}, 2},
		{"strange names", func(t *testing.T, m *Mirror, _ Record) {
			for _, name := range []string{"revisions/README", "generations/README", "generations/000007", "objects/README", "lost+found"} {
				must(t, os.WriteFile(m.path(name), nil, 0o644))
			}
			must(t, os.Mkdir(m.path("generations/latest"), 0o755), os.Mkdir(m.path("objects/zz"), 0o700))
		}, 2},
		{"a generation half pruned", func(t *testing.T, m *Mirror, _ Record) {
			must(t, os.Rename(m.path("generations/000001"), fsops.TempName(m.path("generations/000001"))))
		}, 2},
		{"a revision half pruned", func(t *testing.T, m *Mirror, _ Record) {
			g, err := m.Generations.Find(1)
			dir := m.revisionPath(g.Records["a"])
			must(t, err, os.Rename(dir, fsops.TempName(dir)))
		}, 2},
		{"folders made under umask 077", func(t *testing.T, m *Mirror, _ Record) {
			for _, name := range []string{"generations", "revisions", "revisions/a", "objects"} {
				must(t, os.Chmod(m.path(name), 0o700))
			}
		}, 2},
		{"no folders but what is served", func(t *testing.T, m *Mirror, _ Record) {
			must(t, os.RemoveAll(m.path("partial")), os.RemoveAll(m.path("state")))
		}, 2},
		{"current missing", func(t *testing.T, m *Mirror, _ Record) { must(t, os.Remove(m.path("current"))) }, 2},
		{"current dangling", func(t *testing.T, m *Mirror, _ Record) { must(t, os.RemoveAll(m.path("generations/000002"))) }, 1},
		{"current dangling far above", func(t *testing.T, m *Mirror, _ Record) { must(t, m.Generations.swap(77)) }, 2},
		{"record of current empty", spoil("generations/000002/a.json", ""), 1},
		{"record of current cut", spoil("generations/000002/a.json", `{"manifest": "a", "rel`), 1},
		{"record of current about another manifest", spoil("generations/000002/a.json", `{"manifest": "b", "release": "2026.10", "revision": "0"}`), 1},
		{"record of current with a digest that is none", spoil("generations/000002/a.json", `{"manifest": "a", "release": "2026.10", "revision": "0", "files": [{"path": "x", "sha256": "a"}]}`), 1},
		{"record of current that leads out", spoil("generations/000002/a.json", `{"manifest": "a", "release": "..", "revision": "/../../../.."}`), 1},
		{"record of an older generation damaged", spoil("generations/000001/a.json", "\x00\x00"), 2},
		{"revision of current gone", func(t *testing.T, m *Mirror, _ Record) {
			must(t, os.RemoveAll(m.revisionPath(m.Current().Records["a"])))
		}, 1},
		{"generations gone", func(t *testing.T, m *Mirror, _ Record) { must(t, os.RemoveAll(m.path("generations"))) }, 0},
		{"every record damaged", func(t *testing.T, m *Mirror, next Record) {
			replace(t, m.path("generations/000001/a.json"), "{")
			replace(t, m.path("generations/000002/a.json"), "{")
		}, 0},
		{"objects gone", func(t *testing.T, m *Mirror, _ Record) { must(t, os.RemoveAll(m.path("objects"))) }, 2},
	}
}

func TestNoLeftoverBlocksTheNextPublish(t *testing.T) {
	for _, row := range leftovers() {
		t.Run(row.name, func(t *testing.T) {
			m := newMirror(t)
			mustPublish(t, m, recordOf(t, m, "a", "2026.09", files{"x": "1", "same": "s"}))
			mustPublish(t, m, recordOf(t, m, "a", "2026.10", files{"x": "2", "same": "s"}))
			next := recordOf(t, m, "a", "2026.11", files{"x": "3", "sub/y": "y", "same": "s"})
			row.make(t, m, next)
			m = recovered(t, m.dir)
			before := listing(t, m.dir)
			m = recovered(t, m.dir)
			if diff := cmp.Diff(before, listing(t, m.dir)); diff != "" {
				t.Errorf("the second Recover changed something: %s", diff)
			}
			if row.serve > 0 {
				if got := m.Current(); got.Number != row.serve || len(got.Records) != 1 {
					t.Errorf("serving %d with %d manifests, want %d", got.Number, len(got.Records), row.serve)
				}
				checkGeneration(t, m, row.serve)
			}
			for _, place := range []string{".tmp-*", "*/.tmp-*", "revisions/*/.tmp-*"} {
				if temps := below(t, m, place); len(temps) != 0 {
					t.Errorf("left: %q", temps)
				}
			}
			served := m.Current().Number
			next = recordOf(t, m, "a", "2026.11", files{"x": "3", "sub/y": "y", "same": "s"})
			if g, err := m.Publish(context.Background(), Change{Set: []Record{next}}); err != nil || g.Number != served+1 {
				t.Fatalf("generation %d after %d, %v", g.Number, served, err)
			}
			checkGeneration(t, m, served+1)
			if _, err := m.Prune(Retention{}, days(1)); err != nil {
				t.Errorf("prune: %v", err)
			}
			checkWhole(t, m)
			for _, folder := range []string{"generations", "revisions", "revisions/a", "current/a/sub"} {
				if info, err := os.Stat(m.path(folder)); err != nil || info.Mode().Perm() != 0o755 {
					t.Errorf("%s is not readable for all: %v, %v", folder, info, err)
				}
			}
		})
	}
}

func TestWithoutACompleteGenerationTheDamagedOneStays(t *testing.T) {
	m := newMirror(t)
	mustPublish(t, m, recordOf(t, m, "a", "2026.09", files{"x": "1"}), recordOf(t, m, "b", "2026.09", files{"x": "1"}))
	replace(t, m.path("current/b.json"), "")
	var broken *BrokenError
	if _, err := Open(m.dir, m.disk); !errors.As(err, &broken) || broken.Generation != 1 {
		t.Errorf("got %v, want a BrokenError of generation 1", err)
	}
	m = recovered(t, m.dir)
	if data, err := os.ReadFile(m.path("current/a/x")); string(data) != "1" {
		t.Errorf("a reader found %q, %v", data, err)
	}
	if _, err := m.Prune(Retention{}, days(1)); err == nil {
		t.Error("it was pruned as if nothing were served")
	}
	if data, err := os.ReadFile(m.path("current/b/x")); string(data) != "1" {
		t.Errorf("after pruning a reader found %q, %v", data, err)
	}
	again := Change{Set: []Record{recordOf(t, m, "a", "2026.09", files{"x": "1"}), recordOf(t, m, "b", "2026.09", files{"x": "1"})}}
	if g, err := m.Publish(context.Background(), again); err != nil || g.Number != 2 {
		t.Errorf("then generation %d, %v", g.Number, err)
	}
	if _, err := m.Prune(Retention{}, days(1)); err != nil {
		t.Error(err)
	}
	checkWhole(t, m)
}

func TestFallingBackIsWarnedAbout(t *testing.T) {
	m := newMirror(t)
	mustPublish(t, m, recordOf(t, m, "a", "2026.09", files{"x": "1"}))
	mustPublish(t, m, recordOf(t, m, "a", "2026.10", files{"x": "2"}))
	replace(t, m.path("current/a.json"), "")
	var warnings []string
	m, _ = Open(m.dir, &durable.Disk{Warn: func(message string) { warnings = append(warnings, message) }})
	if err := errors.Join(m.Recover(), m.Recover()); err != nil || len(warnings) != 1 {
		t.Errorf("warnings %q, %v", warnings, err)
	}
}

func TestAForeignCurrentIsLeftAlone(t *testing.T) {
	rows := map[string]func(path string) error{
		"folder":           func(path string) error { return os.Mkdir(path, 0o755) },
		"file":             func(path string) error { return os.WriteFile(path, nil, 0o644) },
		"link elsewhere":   func(path string) error { return os.Symlink("/etc", path) },
		"link upwards":     func(path string) error { return os.Symlink("generations/../../x", path) },
		"link with a tail": func(path string) error { return os.Symlink("generations/000001/a", path) },
		"number too large": func(path string) error { return os.Symlink("generations/99999999999999999999", path) },
	}
	for name, make := range rows {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, make(filepath.Join(dir, "current")))
			before := listing(t, dir)
			if _, err := Open(dir, &durable.Disk{}); err == nil {
				t.Error("opened")
			}
			same(t, before, listing(t, dir))
		})
	}
}

func TestGenerationsCountOnBeyondSixDigits(t *testing.T) {
	m := newMirror(t)
	mustPublish(t, m, recordOf(t, m, "a", "2026.09", files{"x": "1"}))
	must(t, errors.Join(os.Rename(m.path("generations/000001"), m.path("generations/999999")), m.Generations.swap(999999)))
	m = recovered(t, m.dir)
	mustPublish(t, m, recordOf(t, m, "a", "2026.10", files{"x": "2"}))
	m = recovered(t, m.dir)
	if numbers, err := m.Generations.numbers(); err != nil || !slices.Equal(numbers, []int{999999, 1000000}) || m.Current().Number != 1000000 {
		t.Errorf("got generations %v, %v, want 999999 and 1000000", numbers, err)
	}
	checkWhole(t, m)
}

func TestALeftoverThatCannotBeRemovedIsOnlyAWarning(t *testing.T) {
	if !asOrdinaryUser(t) {
		return
	}
	m := newMirror(t)
	mustPublish(t, m, recordOf(t, m, "a", "2026.09", files{"x": "1"}))
	stuck := []string{
		fsops.TempName(m.path("generations", "000001")), fsops.TempName(m.path("revisions", "a", "2026.09-0")),
		fsops.TempName(m.path("state", "x")), m.path("generations", "000002"),
	}
	for _, dir := range stuck {
		must(t, errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "file"), nil, 0o400), os.Chmod(dir, 0o500)))
	}
	var warnings []string
	m, err := Open(m.dir, &durable.Disk{Warn: func(message string) { warnings = append(warnings, message) }})
	if err == nil {
		err = m.Recover()
	}
	if told := strings.Join(warnings, "\n"); err != nil || len(warnings) != 2 || strings.Count(told, "permission denied") != 4 || strings.Count(told, "remove it by hand") != 2 {
		t.Fatalf("warnings %q, %v", warnings, err)
	}
	mustPublish(t, m, recordOf(t, m, "a", "2026.10", files{"x": "2"}))
	for range 30 { // a name that grew with each try would become too long
		if _, err := m.Prune(Retention{}, days(1)); err != nil && !errors.Is(err, fs.ErrPermission) {
			t.Fatal(err)
		}
	}
	left := slices.Concat(below(t, m, "*/.tmp-*"), below(t, m, "revisions/*/.tmp-*"))
	for _, name := range left {
		must(t, os.Chmod(m.path(name), 0o700))
	}
	warnings = nil
	if err := m.Recover(); err != nil || len(left) != 4 || len(warnings) != 0 {
		t.Errorf("left %q, warnings %q, %v", left, warnings, err)
	}
	if left := slices.Concat(below(t, m, "*/.tmp-*"), below(t, m, "revisions/*/.tmp-*")); len(left) != 0 {
		t.Errorf("still left: %q", left)
	}
}

func TestAKeptRecordThatCannotBeWrittenLeavesNothing(t *testing.T) {
	m := newMirror(t)
	record := recordOf(t, m, "a", "2026.09", files{"x": "1"})
	inTheWay := m.path("state", "records", "a", record.ID()+recordSuffix)
	must(t, os.MkdirAll(inTheWay, 0o700))
	for range 3 {
		if _, err := m.Publish(context.Background(), Change{Set: []Record{record}}); err == nil {
			t.Error("published")
		}
	}
	if left := below(t, m, "state/records/a/.tmp-*"); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

// A file system that keeps no order between folders can lose the first step of a removal, the
// temporary name, and keep the others.
func TestRecoverRemovesAnEarlierGenerationWithoutItsRecords(t *testing.T) {
	m := newMirror(t)
	mustPublish(t, m, recordOf(t, m, "a", "2026.09", files{"x": "1"}))
	mustPublish(t, m, recordOf(t, m, "a", "2026.10", files{"x": "2"}))
	earlier := filepath.Join(m.dir, "generations", "000001")
	for _, name := range []string{"a", "a.json"} {
		if err := os.Remove(filepath.Join(earlier, name)); err != nil {
			t.Fatal(err)
		}
	}
	again := recovered(t, m.dir)
	if _, err := os.Lstat(earlier); !errors.Is(err, fs.ErrNotExist) || again.Current().Number != 2 {
		t.Errorf("it is left: %v; current is %d", err, again.Current().Number)
	}
}
