package catalog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"syncd/internal/downstream/catalog"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

const (
	september = "Data/2026.09/a.dat"
	october   = "Data/2026.10/a.dat"
	shared    = "Data/2026.08/shared.dat" // in both releases
)

// twoReleases publishes two releases of a manifest, one after the other.
func twoReleases(w *world) (old, current mirror.Record) {
	old = w.record("Addr_Data", "2026.09", files{september: "a of september", shared: "shared"})
	current = w.record("Addr_Data", "2026.10", files{october: "a of october", shared: "shared"})
	w.publish(old)
	w.publish(current)
	return old, current
}

func TestNothingIsKnownBeforeAPublish(t *testing.T) {
	w := start(t)
	s := w.catalog.Snapshot()
	_, err := s.List("latest", nil)
	if len(s.Manifests(nil)) > 0 || err == nil || w.releases("x") != "" || w.content(october) != "" {
		t.Error("an empty mirror has something to offer")
	}
}

func TestAReleaseIsFoundByEveryNameOfIt(t *testing.T) {
	w := start(t)
	_, current := twoReleases(w)
	current.Aliases, current.Described = []manifest.Release{"2026.Q4", "2026.B5"}, true
	w.publish(current)
	equal(t, "releases, without case", w.releases("ADDR_data"), "2026.09 2026.10")
	for asked, want := range map[string]string{
		"latest": "2026.10", "LATEST": "2026.10", "2026.10": "2026.10", "2026-09": "2026.09", "2026.Q4": "2026.10", "2026.b5": "2026.10",
		"2026.Q3": "", "2026.11": "", "x": "", "": "",
	} {
		equal(t, asked, w.at("addr_data", asked, nil), want)
	}
	_, err := w.catalog.Snapshot().Manifest("other", "latest", nil)
	if !errors.Is(err, catalog.ErrNoManifest) {
		t.Errorf("another manifest: %v", err)
	}
}

func TestAFileIsFoundByEveryNameOfIt(t *testing.T) {
	w := start(t)
	twoReleases(w)
	for asked, want := range map[string]string{
		october: "a of october", september: "a of september", "data/2026-10/A.DAT": "a of october",
		"Data/latest/a.dat": "a of october", "Data/latest/shared.dat": "shared", shared: "shared",
		"Data/2026.10/shared.dat": "", "Data/2026.10/b.dat": "", "Product/2026.10/a.dat": "", "Data/2026.10/a.dat?tag=NET7": "", "Data/2026.Q4/a.dat": "",
	} {
		equal(t, asked, w.content(asked), want)
	}
	ref, _ := manifest.ParseReference("Data/x/A.dat")
	equal(t, "releases of a file", w.catalog.Snapshot().FileReleases(ref, nil), []manifest.Release{"2026.09", "2026.10"})
}

func TestAnAliasOfAFileIsThatOfItsManifest(t *testing.T) {
	w := start(t)
	old, current := twoReleases(w)
	old.Aliases, old.Described = []manifest.Release{"2026.Q3"}, true
	current.Aliases, current.Described = []manifest.Release{"2026.Q4"}, true
	w.publish(old)
	w.publish(current)
	for asked, want := range map[string]string{
		"Data/2026.Q4/a.dat": "a of october", "Data/2026.Q3/a.dat": "a of september",
		"Data/2026.Q3/shared.dat": "shared", "Data/2026.Q4/shared.dat": "", // it is older than the quarter
	} {
		equal(t, asked, w.content(asked), want)
	}
}

func TestAReferenceWithAnAliasIsFoundAsItIs(t *testing.T) {
	w := start(t)
	r := w.record("extras", "2026.Q4", files{"Data/2026.Q4/ews.txt": "e", "Library/LINUX/GCC48/64BIT/2026.10/lib.so?tag=NET7": "l"})
	r.Chosen = true
	w.publish(r)
	equal(t, "alias", w.content("Data/2026.q4/EWS.txt"), "e")
	equal(t, "variant", w.content("library/linux/gcc48/64bit/2026.10/lib.so?tag=net7"), "l")
	equal(t, "latest variant", w.content("Library/LINUX/GCC48/64BIT/latest/lib.so?tag=NET7"), "l")
	equal(t, "usual file", w.content("Library/LINUX/GCC48/64BIT/2026.10/lib.so"), "")
	if names := w.catalog.Snapshot().Manifests(nil); len(names) > 0 || w.at("extras", "latest", nil) != "" {
		t.Errorf("single files are a manifest: %v", names)
	}
}

func TestManifestListHasEachManifestAtItsNewestReleaseBefore(t *testing.T) {
	w := start(t)
	w.publish(w.record("b", "2026.08", files{"Data/2026.08/b": "b"}))
	twoReleases(w)
	list := func(release string) (text string) {
		revisions, err := w.catalog.Snapshot().List(release, nil)
		if err != nil {
			return "none"
		}
		for _, r := range revisions {
			text += r.Manifest + "@" + string(r.Release) + " "
		}
		return strings.TrimSpace(text)
	}
	equal(t, "latest", list("latest"), "Addr_Data@2026.10 b@2026.08")
	equal(t, "2026.09", list("2026.09"), "Addr_Data@2026.09 b@2026.08")
	equal(t, "2026-08", list("2026-08"), "b@2026.08")
	equal(t, "2026.07", list("2026.07"), "none")
}

func TestARollbackIsTheNewestAgain(t *testing.T) {
	w := start(t)
	old, _ := twoReleases(w)
	before, _ := w.catalog.Snapshot().Manifest("addr_data", "2026.09", nil)
	w.publish(old)
	for range 2 {
		equal(t, "releases", w.releases("addr_data"), "2026.09")
		equal(t, "latest", w.at("addr_data", "latest", nil), "2026.09")
		equal(t, "the release that was left", w.at("addr_data", "2026.10", nil), "")
		equal(t, "latest file", w.content("Data/latest/a.dat"), "a of september")
		equal(t, "for a follower in the middle of it", w.content(october), "a of october")
		after, _ := w.catalog.Snapshot().Manifest("addr_data", "latest", nil)
		if !after.LiveAt.Equal(before.LiveAt) || !w.catalog.Snapshot().IsServed(after) {
			t.Errorf("live since %s, first %s", after.LiveAt, before.LiveAt)
		}
		w.restart()
	}
}

// A later ring does not see the newest release yet. It must not get the one that the operator
// went back from in its place.
func TestAReleaseThatARollbackLeftComesBackIntoNoList(t *testing.T) {
	w := start(t)
	old, bad := twoReleases(w)
	w.publish(old)
	next := w.record("Addr_Data", "2026.11", files{"Data/2026.11/a.dat": "a of november"})
	w.publish(next)
	later := func(r *catalog.Revision) bool { return r.ID != next.ID() }
	for range 2 {
		equal(t, "releases", w.releases("addr_data"), "2026.09 2026.11")
		equal(t, "latest of a later ring", w.at("addr_data", "latest", later), "2026.09")
		equal(t, "the release that was left", w.at("addr_data", "2026.10", nil), "")
		equal(t, "for a follower in the middle of it", w.content(october), "a of october")
		w.restart()
	}
	w.publish(bad)
	equal(t, "after the operator returned to it", w.releases("addr_data"), "2026.09 2026.10")
	w.publish(next)
	equal(t, "and went on", w.releases("addr_data"), "2026.09 2026.10 2026.11")
}

func TestARepublishedReleaseHasItsNewBytes(t *testing.T) {
	w := start(t)
	twoReleases(w)
	first, _ := w.catalog.Snapshot().Manifest("addr_data", "latest", nil)
	w.publish(w.record("Addr_Data", "2026.10", files{october: "corrected", shared: "shared"}))
	for range 2 {
		equal(t, "content", w.content(october), "corrected")
		again, _ := w.catalog.Snapshot().Manifest("addr_data", "latest", nil)
		if again.ID == first.ID || !again.LiveAt.After(first.LiveAt) {
			t.Errorf("revision %s, live since %s, first %s", again.ID, again.LiveAt, first.LiveAt)
		}
		later := func(r *catalog.Revision) bool { return !r.LiveAt.After(first.LiveAt) } // a ring that does not see it yet
		if shown, _ := w.catalog.Snapshot().Manifest("addr_data", "latest", later); shown.ID != first.ID {
			t.Errorf("a later ring sees %s", shown.ID)
		}
		if found, ok := w.catalog.Snapshot().File(october, later); !ok || found.Revision.ID != first.ID || !w.catalog.Snapshot().Differs(found) {
			t.Errorf("a later ring takes the file of %s", found.Revision.ID)
		}
		if shown := w.catalog.Snapshot().Shown("addr_data", nil); len(shown) != 2 || shown[1].ID != again.ID {
			t.Errorf("lists show %v", shown)
		}
		w.restart()
	}
}

func TestAForgottenManifestIsGoneAtOnce(t *testing.T) {
	w := start(t)
	twoReleases(w)
	w.ask("addr_data", "2026.10")
	w.change(mirror.Change{Remove: []string{"Addr_Data"}})
	for range 2 {
		if w.releases("addr_data") != "" || w.content(october) != "" || w.content(september) != "" || len(w.catalog.Snapshot().Manifests(nil)) > 0 {
			t.Error("it is still there")
		}
		w.restart()
	}
}

func TestWhatWasNeverLiveIsNotInTheCatalog(t *testing.T) {
	w := start(t)
	twoReleases(w)
	staged := w.record("Addr_Data", "2026.11", files{"Data/2026.11/a.dat": "staged"})
	w.must(w.mirror.Stage(t.Context(), staged, nil))
	for range 2 {
		equal(t, "releases", w.releases("addr_data"), "2026.09 2026.10")
		equal(t, "file", w.content("Data/2026.11/a.dat"), "")
		for _, r := range w.catalog.Snapshot().Revisions("addr_data") {
			if r.ID == staged.ID() {
				t.Error("the staged revision is in the catalog")
			}
		}
		w.restart()
	}
}

func TestWhatIsStagedAgainLeavesTheCatalog(t *testing.T) {
	w := start(t)
	old, current := twoReleases(w)
	w.publish(old)
	w.staged[current.Key()] = true
	w.catalog.Refresh()
	equal(t, "the release that was left", w.content(october), "")
}

func TestFollowersSeeWhatTheyMay(t *testing.T) {
	w := start(t)
	_, current := twoReleases(w)
	early := func(r *catalog.Revision) bool { return r.ID != current.ID() }
	nothing := func(*catalog.Revision) bool { return false }
	s := w.catalog.Snapshot()
	equal(t, "latest", w.at("addr_data", "latest", early), "2026.09")
	equal(t, "the new one", w.at("addr_data", "2026.10", early), "")
	equal(t, "all releases", s.AllReleases(early), []manifest.Release{"2026.09"})
	equal(t, "manifests", s.Manifests(early), []string{"Addr_Data"})
	equal(t, "manifests, seeing nothing", s.Manifests(nothing), []string{})
	latest, _ := w.file("Data/latest/a.dat", early)
	equal(t, "latest file", latest.Reference().String(), september)
	if _, found := w.file(october, early); !found {
		t.Error("a file is not found by its month")
	}
	equal(t, "releases of a file", s.FileReleases(latest.Reference(), early), []manifest.Release{"2026.09"})
}

func TestMetadataIsInTheOrderOfTheWire(t *testing.T) {
	w := start(t)
	r := w.record("m", "2026.10", files{"Library/LINUX/GCC48/64BIT/2026.10/lib.so": "lib", "Data/2026.10/a": "a"})
	md5 := manifest.Digest{Algorithm: manifest.MD5, Sum: [32]byte{1}}
	r.Files[0].Metadata = &manifest.Metadata{MD5: md5, Members: []manifest.Member{{Name: "BuildDate", Value: "2026-10"}}}
	w.publish(r)
	for range 2 {
		text := ""
		for _, path := range []string{"Data/2026.10/a", "Library/LINUX/GCC48/64BIT/2026.10/lib.so"} {
			f, _ := w.file(path, nil)
			for _, m := range f.Metadata() {
				text += m.Name + "=" + m.Value[:min(len(m.Value), 8)] + " "
			}
		}
		equal(t, "metadata", text, "FileName=a Release=2026.10 FileSize=1 MD5=01000000 SHA256=ca978112 BuildDate=2026-10 "+
			"FileName=lib.so Release=2026.10 FileSize=3 SHA256=76b5a357 OS=LINUX Compiler=GCC48 Architecture=64BIT ")
		w.restart()
	}
	f, _ := w.file("Data/2026.10/a", nil)
	if got, known := f.Digest(manifest.MD5); !known || got != md5 {
		t.Errorf("MD5 %v %t", got, known)
	}
	if _, known := f.Digest(manifest.SHA1); known {
		t.Error("a digest that nobody told")
	}
}

func TestFilesAreInTheProvidersOrder(t *testing.T) {
	w := start(t)
	r := w.record("m", "2026.10", files{"Data/2026.10/a": "a", "Data/2026.10/b": "b", "Data/2026.10/c": "c"})
	r.Files[0].Position, r.Files[2].Position, r.Files[2].Slash = 3, 1, true
	w.publish(r)
	revision, _ := w.catalog.Snapshot().Manifest("m", "latest", nil)
	text := ""
	for f := range revision.Files() {
		text += f.Reference().Name()
		if f.Slash() {
			text += "/"
		}
	}
	equal(t, "order", text, "c/ba")
}

func TestASnapshotStaysAsItIs(t *testing.T) {
	w := start(t)
	twoReleases(w)
	before := w.catalog.Snapshot()
	w.publish(w.record("Addr_Data", "2026.11", files{"Data/2026.11/a.dat": "november"}))
	if r, _ := before.Manifest("addr_data", "latest", nil); r.Release != "2026.10" {
		t.Errorf("it became %s", r.Release)
	}
	equal(t, "the next one", w.at("addr_data", "latest", nil), "2026.11")
}

func TestOfTwoManifestsWithTheSameReferenceTheLaterCounts(t *testing.T) {
	w := start(t)
	w.warns = true
	mixed := func(name string) bool {
		t.Helper()
		snapshot := w.catalog.Snapshot()
		r, err := snapshot.Manifest(name, "latest", nil)
		w.must(err)
		_, mixed := snapshot.Mixed(r, nil)
		return mixed
	}
	a := w.record("a", "2026.10", files{october: "first"})
	w.publish(a)
	equal(t, "alone", mixed("a"), false)
	time.Sleep(time.Millisecond)
	w.publish(w.record("b", "2026.10", files{october: "second"}))
	equal(t, "content", w.content(october), "second")
	equal(t, "the earlier one", mixed("a"), true)
	equal(t, "the later one", mixed("b"), false)
	time.Sleep(time.Millisecond)
	w.publish(a)
	equal(t, "after the other came into service again", w.content(october), "first")
	equal(t, "the earlier one, again", mixed("a"), false)
	equal(t, "the later one, again", mixed("b"), true)
	w.publish(w.record("b", "2026.10", files{october: "first"}))
	equal(t, "the same bytes", mixed("a") || mixed("b"), false)
	equal(t, "warnings", len(w.warnings), 2)
}
