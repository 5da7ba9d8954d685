package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/manifest"
)

func TestPublishingAddsReplacesAndRemovesManifests(t *testing.T) {
	m := newMirror(t)
	a1, b1 := recordOf(t, m, "a", "2026.09", files{"x": "1"}), recordOf(t, m, "b", "2026.09", files{"x": "1"})
	a2 := recordOf(t, m, "a", "2026.10", files{"x": "2"})
	steps := []struct {
		change Change
		want   map[string]string
	}{
		{Change{Set: []Record{a1}}, map[string]string{"a": a1.ID()}},
		{Change{Set: []Record{b1}}, map[string]string{"a": a1.ID(), "b": b1.ID()}},
		{Change{Set: []Record{a2}}, map[string]string{"a": a2.ID(), "b": b1.ID()}},
		{Change{Set: []Record{a1}}, map[string]string{"a": a1.ID(), "b": b1.ID()}}, // a rollback
		{Change{Set: []Record{a2}, Remove: []string{"b", "never there"}}, map[string]string{"a": a2.ID()}},
		{Change{Remove: []string{"a"}}, map[string]string{}},
	}
	for i, step := range steps {
		g := mustChange(t, m, step.change)
		got := map[string]string{}
		for name, record := range m.Current().Records {
			got[name] = record.ID()
		}
		if diff := cmp.Diff(step.want, got); diff != "" || g.Number != i+1 {
			t.Errorf("generation %d: %s", g.Number, diff)
		}
	}
	all, err := m.Generations.All()
	if err != nil || len(all) != len(steps) || all[0].Number != len(steps) {
		t.Errorf("%d generations, %v", len(all), err)
	}
	if g, err := m.Generations.Find(2); err != nil || g.Records["b"].ID() != b1.ID() {
		t.Errorf("got generation %+v, %v, want the first revision of b", g, err)
	}
	if _, err := m.Generations.Find(99); !errors.Is(err, errNoGeneration) {
		t.Errorf("got %v, want errNoGeneration", err)
	}
}

func TestARecordIsTheSameAfterReopening(t *testing.T) {
	m := newMirror(t)
	record := recordOf(t, m, "dq", "2026.10", files{"a": "A", "b": "B"})
	record.MirroredAt = time.Date(2026, 10, 5, 3, 0, 0, 0, time.UTC)
	record.Held = &Hold{Release: "2026.11", Revision: "abc", Fingerprint: "f", Setting: "latest", Selection: "c"}
	mustPublish(t, m, record)
	again, err := Open(m.dir, m.disk)
	must(t, err)
	same(t, record, again.Current().Records["dq"])
}

func TestReadersOfCurrentNeverSeeAMissingFileOrAMix(t *testing.T) {
	m := recovered(t, scratch(t))
	next := func(i int) []Record {
		text := fmt.Sprint(i)
		return []Record{
			recordOf(t, m, "a", "2026.10", files{"x": text, "deep/er/y": text}),
			recordOf(t, m, "b", "2026.10", files{"x": text}),
		}
	}
	mustPublish(t, m, next(0)...)
	var stop atomic.Bool
	var readers sync.WaitGroup
	started := make(chan struct{}, 2)
	for range 2 {
		readers.Go(func() {
			for first := true; !stop.Load(); first = false {
				if err := readOnce(m.dir); err != nil {
					t.Error(err)
					stop.Store(true)
				}
				if first {
					started <- struct{}{}
				}
			}
		})
	}
	<-started
	<-started
	for i := 1; i <= 200 && !stop.Load(); i++ {
		if _, err := m.Publish(context.Background(), Change{Set: next(i)}); err != nil {
			t.Error(err)
			break
		}
		if i%40 != 0 {
			continue
		}
		if _, err := m.Prune(Retention{Revisions: 1, For: time.Hour}, time.Now()); err != nil {
			t.Error(err)
			break
		}
	}
	stop.Store(true)
	readers.Wait()
	if n := m.Current().Number; n != 201 {
		t.Errorf("generation %d", n)
	}
}

// readOnce resolves `current`, as a reader does, and requires one version of everything.
func readOnce(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "current", "b", "x")); err != nil {
		return fmt.Errorf("through current: %w", err)
	}
	generation, err := filepath.EvalSymlinks(filepath.Join(dir, "current"))
	if err != nil {
		return err
	}
	var versions []string
	for _, name := range []string{"a/x", "a/deep/er/y", "b/x"} {
		data, err := os.ReadFile(filepath.Join(generation, name))
		if err != nil {
			return err
		}
		versions = append(versions, string(data))
	}
	if versions[0] != versions[1] || versions[1] != versions[2] {
		return fmt.Errorf("%s is a mix: %q", generation, versions)
	}
	sums, err := os.ReadFile(filepath.Join(generation, "b.SHA256SUMS"))
	if err != nil || string(sums) != sumOf(versions[2]).String()+"  b/x\n" {
		return fmt.Errorf("%s: sums %q of version %s, %w", generation, sums, versions[2], err)
	}
	return nil
}

// identities tells files apart by inode, permissions and time of change of content.
func identities(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		all[path] = fmt.Sprint(info.Sys().(*syscall.Stat_t).Ino, info.Mode(), info.ModTime())
		return nil
	})
	must(t, err)
	return all
}

func TestPublishedFilesNeverChange(t *testing.T) {
	m := newMirror(t)
	a := recordOf(t, m, "a", "2026.10", files{"x": "same", "sub/y": "other"})
	mustPublish(t, m, a)
	revision, generation := m.revisionPath(a), m.path("generations", "000001")
	before, shown := identities(t, revision), identities(t, generation)
	mustPublish(t, m, recordOf(t, m, "a", "2026.11", files{"x": "same", "z": "new"}))   // shares an object
	mustPublish(t, m, recordOf(t, m, "b", "2026.10", files{"x": "same", "y": "other"})) // in another manifest
	mustPublish(t, m, recordOf(t, m, "a", "2026.10", files{"x": "same", "sub/y": "other"}))
	must(t, m.Recover())
	if _, err := m.Prune(Retention{Revisions: 5}, time.Now()); err != nil {
		t.Fatal(err)
	}
	same(t, before, identities(t, revision))
	if _, err := os.Stat(generation); err == nil {
		same(t, shown, identities(t, generation))
	}
	checkWhole(t, m)
}

func TestAnEndedContextPublishesNothing(t *testing.T) {
	m := newMirror(t)
	mustPublish(t, m, recordOf(t, m, "a", "2026.09", files{"x": "1"}))
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(stop)
	if _, err := m.Publish(ctx, Change{Set: []Record{recordOf(t, m, "a", "2026.10", files{"x": "2"})}}); !errors.Is(err, stop) {
		t.Errorf("publish under an ended context: got %v", err)
	}
	if _, err := m.Publish(ctx, Change{Remove: []string{"a"}}); !errors.Is(err, stop) {
		t.Errorf("removal under an ended context: got %v", err)
	}
	recovered(t, m.dir)
	checkWhole(t, m)
	if m.Current().Records["a"].Release != "2026.09" {
		t.Errorf("got current %+v, want release 2026.09 of a", m.Current())
	}
}

func TestPublishRefusesRecordsThatLeaveTheirDirectory(t *testing.T) {
	m := newMirror(t)
	mustPublish(t, m, recordOf(t, m, "a", "2026.09", files{"x": "1"}))
	good := recordOf(t, m, "a", "2026.10", files{"x": "2"})
	rows := map[string]func(r *Record){
		"parent in a path":        func(r *Record) { r.Files[0].Path = "../../../escaped" },
		"absolute path":           func(r *Record) { r.Files[0].Path = "/escaped" },
		"empty path":              func(r *Record) { r.Files[0].Path = "" },
		"manifest with a slash":   func(r *Record) { r.Manifest = "../a" },
		"manifest without a name": func(r *Record) { r.Manifest = "" },
		"release with a slash":    func(r *Record) { r.Release = "../../x" },
		"no digest":               func(r *Record) { r.Files[0].Object = manifest.ObjectID{} },
		"an object that is gone":  func(r *Record) { r.Files[0].Object = sumOf("never adopted") },
		"one path twice":          func(r *Record) { r.Files = append(r.Files, r.Files[0]) },
		"a file within a file":    func(r *Record) { r.Files = append(r.Files, File{Path: "x/y", Object: r.Files[0].Object}) },
	}
	before := listing(t, m.dir)
	for name, spoil := range rows {
		bad := good
		bad.Files = append([]File(nil), good.Files...)
		spoil(&bad)
		if _, err := m.Publish(context.Background(), Change{Set: []Record{bad}}); err == nil {
			t.Errorf("%s: published", name)
		}
		if diff := cmp.Diff(before, listing(t, m.dir)); diff != "" {
			t.Errorf("%s left something: %s", name, diff)
		}
	}
	mustPublish(t, m, good)
}

func TestAnUnsyncedSwapIsRepeatedBeforeTheNextGeneration(t *testing.T) {
	if !asOrdinaryUser(t) {
		return
	}
	m := newMirror(t)
	old, new := recordOf(t, m, "a", "2026.09", files{"x": "1"}), recordOf(t, m, "a", "2026.10", files{"x": "2"})
	mustPublish(t, m, old)
	mustPublish(t, m, new)
	if err := os.Chmod(m.dir, 0o300); err != nil { // renames within it work, opening it to sync it does not
		t.Fatal(err)
	}
	_, err := m.Publish(context.Background(), Change{Set: []Record{old}})
	if err == nil {
		t.Error("a swap that is not durable was reported as done")
	}
	must(t, os.Chmod(m.dir, 0o755))
	if target, err := os.Readlink(m.path("current")); err != nil || target != "generations/000003" {
		t.Fatalf("the swap did not happen: current is %q, %v", target, err)
	}
	checkWhole(t, m)
	if g := mustPublish(t, m, new); g.Number != 4 {
		t.Errorf("then generation %d", g.Number)
	}
}

func TestPublishRefusesToReplaceTheGenerationOfAnotherProcess(t *testing.T) {
	m := newMirror(t)
	other := recovered(t, m.dir)
	mustPublish(t, other, recordOf(t, other, "a", "2026.09", files{"x": "1"}))
	if _, err := m.Publish(context.Background(), Change{Set: []Record{recordOf(t, m, "a", "2026.10", files{"x": "2"})}}); err == nil {
		t.Error("published")
	}
	checkWhole(t, other)
	mustPublish(t, recovered(t, m.dir), recordOf(t, m, "a", "2026.10", files{"x": "2"}))
}

func TestAdoptIsSafeForConcurrentUseAndReplacesAnObject(t *testing.T) {
	m := newMirror(t)
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			adopt(t, m, fmt.Sprint("text ", i))
			m.Current()
		})
	}
	group.Wait()
	for i := range 20 {
		text := fmt.Sprint("text ", i)
		if object, ok := m.Objects.Find(sumOf(text)); !ok || object.Size != int64(len(text)) {
			t.Errorf("object of %q: got %+v, %v", text, object, ok)
		}
	}
	replace(t, m.objectPath(sumOf("text 0")), "damaged")
	adopt(t, m, "text 0")
	if !m.Objects.IsWhole(context.Background(), sumOf("text 0")) {
		t.Error("the damaged object stayed")
	}
	if _, ok := m.Objects.Find(sumOf("never adopted")); ok {
		t.Error("an object that is not there is known")
	}
}
