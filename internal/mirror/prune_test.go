package mirror

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"syncd/internal/manifest"
)

// publishAll publishes one generation for each text, such as "a1 b1": manifest
// and version. A manifest that a text does not name leaves with it.
func publishAll(t tb, m *Mirror, texts ...string) {
	t.Helper()
	for _, text := range texts {
		change := Change{Remove: m.Current().Names()}
		for field := range strings.FieldsSeq(text) {
			name, version := field[:1], field[1:]
			change.Set = append(change.Set, recordOf(t, m, name, manifest.Release("2026.0"+version), files{"x": field, "same": "s"}))
		}
		mustChange(t, m, change)
	}
}

// shown lists the generations on disk in the form of publishAll.
func shown(t tb, m *Mirror) []string {
	t.Helper()
	all, err := m.Generations.All()
	if err != nil {
		t.Fatalf("%v", err)
	}
	list := []string{}
	for _, g := range slices.Backward(all) {
		var fields []string
		for _, name := range g.Names() {
			fields = append(fields, name+strings.TrimPrefix(string(g.Records[name].Release), "2026.0"))
		}
		list = append(list, fmt.Sprintf("%d: %s", g.Number, strings.Join(fields, " ")))
	}
	return list
}

// checkNoOrphans requires that a generation, a kept record or held names every
// revision and object on disk.
func checkNoOrphans(t tb, m *Mirror, held map[manifest.ObjectID]bool) {
	t.Helper()
	all, err := m.Generations.All()
	if err != nil {
		t.Fatalf("%v", err)
	}
	revisions, objects := map[string]bool{}, maps.Clone(held)
	if objects == nil {
		objects = map[manifest.ObjectID]bool{}
	}
	needed := func(record Record) {
		revisions["revisions/"+record.Key()] = true
		for _, f := range record.Files {
			objects[f.Object] = true
		}
	}
	for _, g := range all {
		for _, record := range g.Records {
			needed(record)
		}
	}
	for _, name := range below(t, m, "state/records/*") {
		records, err := m.Records.kept(filepath.Base(name), nil)
		if err != nil {
			t.Fatalf("%v", err)
		}
		for _, record := range records {
			needed(record)
		}
	}
	for _, name := range below(t, m, "revisions/*/*") {
		if !revisions[name] {
			t.Errorf("%s is shown by no generation and has no record", name)
		}
	}
	for _, name := range below(t, m, "objects/*/*") {
		if id, err := manifest.ParseObjectID(filepath.Base(name)); err != nil || !objects[id] {
			t.Errorf("%s is needed by nothing", name)
		}
	}
}

// setTime gives a generation the time at which it came into service.
func setTime(t testing.TB, m *Mirror, number int, came time.Time) {
	t.Helper()
	must(t, os.Chtimes(m.path("generations", generationName(number)), time.Time{}, came))
}

func TestFreeableIsWhatPruneFreesAndRemovesNothing(t *testing.T) {
	rows := []struct {
		name    string
		keep    Retention
		objects int
		inodes  int64 // of generations
		wait    bool
	}{
		{"nothing", Retention{Revisions: 3}, 1, 0, false},
		{"two revisions", Retention{Revisions: 1}, 3, 2 * 4, false},
		{"one of them early", Retention{Revisions: 3, Displaced: map[string]bool{"a": true}}, 2, 4, false},
		{"none of them early for another", Retention{Revisions: 3, Displaced: map[string]bool{"b": true}}, 1, 0, false},
		{"not yet", Retention{For: time.Hour}, 1, 0, true},
		{"what is held stays", Retention{Objects: map[manifest.ObjectID]bool{sumOf("loose"): true, sumOf("a1"): true}}, 2, 3 * 4, false},
		{"what may be proven stays", Retention{Unknown: true}, 3, 3 * 4, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			m := newMirror(t)
			publishAll(t, m, "a1", "a2", "a3", "a4")
			adopt(t, m, "loose")
			before, objects, now := listing(t, m.dir), len(below(t, m, "objects/*/*")), time.Now()
			freed, err := m.Freeable(row.keep, now)
			if err != nil || freed.Inodes != int64(row.objects)+row.inodes || (freed.Bytes > 0) != (row.objects > 0) {
				t.Errorf("%+v, %v; want %d objects and %d inodes of generations", freed, err, row.objects, row.inodes)
			}
			if last := freed.Last; last.After(now) != row.wait || last.After(now.Add(time.Hour)) {
				t.Errorf("the last goes at %v", freed.Last)
			}
			same(t, before, listing(t, m.dir))
			if _, err := m.Prune(row.keep, now); err != nil {
				t.Fatal(err)
			}
			if gone := objects - len(below(t, m, "objects/*/*")); gone != row.objects {
				t.Errorf("%d objects went, want %d", gone, row.objects)
			}
		})
	}
}

func TestAPrunedRevisionCanBePublishedAgain(t *testing.T) {
	m := newMirror(t)
	publishAll(t, m, "a1 b1", "a2 b1")
	if _, err := m.Prune(Retention{}, days(1)); err != nil {
		t.Fatal(err)
	}
	publishAll(t, m, "a1 b1")
}

func TestPruneRemovesTheFoldersOfManifestsThatLeft(t *testing.T) {
	m := newMirror(t)
	publishAll(t, m, "a1 b1", "a1")
	if _, err := m.Prune(Retention{}, days(1)); err != nil {
		t.Fatal(err)
	}
	same(t, []string{"revisions/a"}, below(t, m, "revisions/*"))
}

func TestPruneRemovesAGenerationThatWasBuiltAndNotSwapped(t *testing.T) {
	for _, change := range []string{"another revision", "no manifests", "the first generation"} {
		t.Run(change, func(t *testing.T) {
			m := newMirror(t)
			if change != "the first generation" {
				publishAll(t, m, "a1")
			}
			served := shown(t, m)
			next := Change{Remove: []string{"a"}}
			if change != "no manifests" {
				next = Change{Set: []Record{recordOf(t, m, "a", "2026.02", files{"x": "a2"})}}
				must(t, m.Trees.build(treeOfRevision(next.Set[0])))
			}
			if _, err := m.Generations.build(next); err != nil {
				t.Fatal(err)
			}
			if _, err := m.Prune(Retention{Revisions: 3, For: time.Hour}, time.Now()); err != nil {
				t.Fatal(err)
			}
			same(t, served, shown(t, m))
			checkWhole(t, m)
			publishAll(t, m, "a1", "a2")
		})
	}
}

func TestPruneRemovesDamagedGenerationsAndKeepsTheRest(t *testing.T) {
	m := newMirror(t)
	publishAll(t, m, "a1", "a2", "a3")
	replace(t, m.path("generations/000002/a.json"), "{")
	if _, err := m.Prune(Retention{Revisions: 2}, time.Now()); err != nil {
		t.Fatal(err)
	}
	same(t, []string{"1: a1", "3: a3"}, shown(t, m))
	checkWhole(t, m)
}

func TestNothingIsPrunedWhenCurrentIsDamagedOrGone(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, m *Mirror){
		"record damaged": func(t *testing.T, m *Mirror) { replace(t, m.path("current/a.json"), "{") },
		"generation gone": func(t *testing.T, m *Mirror) {
			must(t, os.RemoveAll(m.path("generations/000003")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMirror(t)
			publishAll(t, m, "a1", "a2", "a3")
			damage(t, m)
			before := listing(t, m.dir)
			if _, err := m.Prune(Retention{}, days(1)); err == nil {
				t.Error("no error")
			}
			same(t, before, listing(t, m.dir))
		})
	}
}

func TestNothingIsPrunedWhenAGenerationCannotBeRead(t *testing.T) {
	if !asOrdinaryUser(t) {
		return
	}
	m := newMirror(t)
	publishAll(t, m, "a1", "a2")
	for _, name := range []string{"generations/000001", "generations/000001/a.json"} {
		info, err := os.Stat(m.path(name))
		must(t, err)
		must(t, os.Chmod(m.path(name), 0))
		if _, err := m.Prune(Retention{Revisions: 1}, days(1)); err == nil {
			t.Errorf("%s: no error", name)
		}
		must(t, os.Chmod(m.path(name), info.Mode()))
		checkWhole(t, m)
		if diff := cmp.Diff([]string{"1: a1", "2: a2"}, shown(t, m)); diff != "" {
			t.Errorf("with %s unreadable, other generations stayed: %s", name, diff)
		}
	}
}

func TestPruningWorksForAnOrdinaryUser(t *testing.T) {
	if !asOrdinaryUser(t) {
		return
	}
	m := newMirror(t)
	mustPublish(t, m, recordOf(t, m, "a", "2026.01", files{"x": "1", "deep/er/y": "2"}))
	publishAll(t, m, "a2")
	if _, err := m.Prune(Retention{}, days(1)); err != nil {
		t.Fatal(err)
	}
	same(t, []string{"2: a2"}, shown(t, m))
	checkWhole(t, m)
	checkNoOrphans(t, m, nil)
}

// scratch is a directory in memory if possible, for tests that make thousands of
// durable changes.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "syncd-mirror-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestEveryGenerationIsWholeAfterAnySequenceOfPublishesAndPrunes(t *testing.T) {
	if checks := flag.Lookup("rapid.checks"); os.Getenv("SYNCD_TORTURE") != "full" && checks.Value.String() == checks.DefValue {
		t.Cleanup(func() { checks.Value.Set(checks.DefValue) })
		checks.Value.Set("30")
	}
	dir, runs := scratch(t), 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		home := filepath.Join(dir, fmt.Sprint(runs))
		defer os.RemoveAll(home)
		m := recovered(t, home)
		steps := map[string]func(*rapid.T){
			"publish": func(t *rapid.T) {
				var set []Record
				for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3, rapid.ID).Draw(t, "manifests") {
					content := rapid.MapOfN(rapid.SampledFrom([]string{"x", "y", "sub/x", "sub/sub/z"}), rapid.StringMatching("[01]?"), 1, 3).Draw(t, "files")
					set = append(set, recordOf(t, m, name, rapid.SampledFrom([]manifest.Release{"2026.01", "2026.02"}).Draw(t, "release"), content))
				}
				mustPublish(t, m, set...)
			},
			"remove": func(t *rapid.T) {
				mustChange(t, m, Change{Remove: []string{rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "manifest")}})
			},
			"roll back": func(t *rapid.T) {
				all, err := m.Generations.All()
				if err != nil || len(all) == 0 {
					t.Skip("nothing to go back to")
				}
				goal := rapid.SampledFrom(all).Draw(t, "generation")
				mustPublish(t, m, slices.Collect(maps.Values(goal.Records))...)
			},
			"prune": func(t *rapid.T) {
				keep := Retention{
					Revisions: rapid.IntRange(0, 2).Draw(t, "retain"),
					For:       rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "retain for"),
					Objects:   map[manifest.ObjectID]bool{adopt(t, m, "held").ID: true},
				}
				now := rapid.SampledFrom([]time.Time{time.Now(), days(1)}).Draw(t, "now")
				before := shown(t, m)
				next, err := m.Prune(keep, now)
				must(t, err)
				if left := shown(t, m); keep.For > 0 && now.Before(days(1).Add(-time.Hour)) && !slices.Equal(before, left) {
					t.Fatalf("went too soon: %q became %q", before, left)
				}
				if _, ok := m.Objects.Find(sumOf("held")); !ok {
					t.Fatal("a held object went")
				}
				checkWhole(t, m)
				checkNoOrphans(t, m, keep.Objects)
				lines := listing(t, home)
				if again, err := m.Prune(keep, now); err != nil || !again.Equal(next) || !slices.Equal(lines, listing(t, home)) {
					t.Fatalf("a second time it did more: %v, %v", again, err)
				}
			},
			"restart": func(t *rapid.T) {
				m = recovered(t, home)
				checkWhole(t, m)
			},
			"repair":  func(t *rapid.T) { relinkAny(t, m) },
			"abandon": func(t *rapid.T) { adopt(t, m, "of a sync that failed") },
		}
		t.Repeat(steps)
	})
}

// relinkAny repairs one published content, as `verify --repair` does.
func relinkAny(t *rapid.T, m *Mirror) {
	names := m.Current().Names()
	if len(names) == 0 {
		t.Skip("nothing is served")
	}
	published := m.Current().Records[rapid.SampledFrom(names).Draw(t, "manifest")].Files
	f := rapid.SampledFrom(published).Draw(t, "file")
	data, err := os.ReadFile(m.objectPath(f.Object))
	must(t, err)
	adopt(t, m, string(data))
	must(t, m.Relink(f.Object))
	checkWhole(t, m)
}

func BenchmarkPrune(b *testing.B) {
	m := newMirror(b)
	for i := range 4 {
		content := files{}
		for j := range 50 {
			content[fmt.Sprintf("linux/gcc48/64bit/%d", j)] = fmt.Sprint(i, j)
		}
		mustPublish(b, m, recordOf(b, m, "a", "2026.01", content))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Prune(Retention{Revisions: 9}, time.Now()); err != nil {
			b.Fatal(err)
		}
	}
}
