package syncer_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/golive"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// describing is served by a host that others ask.
func describing(t testing.TB, names ...string) *world {
	t.Helper()
	w := start(t, names...)
	w.cfg.Describe = true
	w.configure()
	return w
}

func (w *world) record(name string) mirror.Record { return w.cfg.Mirror.Current().Records[name] }

// described requires that a served record has everything that the provider says.
func (w *world) described(name string) {
	w.Helper()
	record := w.record(name)
	if !record.Described || len(record.Files) == 0 {
		w.Errorf("the record of %s is not described", name)
	}
	for _, f := range record.Files {
		if f.Metadata == nil || f.Metadata.MD5.IsZero() || f.Metadata.SHA1.IsZero() || f.Position == 0 {
			w.Errorf("%s: %+v, position %d", f.Path, f.Metadata, f.Position)
		}
	}
}

func TestARecordHasWhatTheProviderSays(t *testing.T) {
	w := describing(t, "data")
	w.provider.SetManifest("data", "2026.10",
		emulator.File{Name: "z.dat", Content: emulator.Text("z")},
		emulator.File{Class: "Library", OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Name: "lib.so", Content: emulator.Text("lib")})
	w.expect(w.poll(), "data", report.Updated)
	w.described("data")
	record := w.record("data")
	equal(t, "generation", w.cfg.Mirror.Current().Number, 1)
	equal(t, "description", record.Description, "The files of data.")
	equal(t, "aliases", record.Aliases, []manifest.Release{"2026.Q4", "2026.B5"})
	lib, z := record.Files[0], record.Files[1]
	equal(t, "members", z.Metadata.Members, []manifest.Member{{Name: "BuildDate", Value: "2026-10"}})
	names := ""
	for _, m := range lib.Metadata.Members {
		names += m.Name + " "
	}
	equal(t, "members of a library", names, "BuildNumber OS Compiler Architecture ")
	if z.Position != 1 || !z.Slash || lib.Position != 2 || lib.Slash {
		t.Errorf("positions %d and %d, slashes %t and %t", z.Position, lib.Position, z.Slash, lib.Slash)
	}
}

func TestMetadataOfEachFileIsAskedOnce(t *testing.T) {
	w := describing(t, "data")
	w.publish("data", "2026.10", files{"a.dat": "same", "b.dat": "same", "c.dat": "c"})
	w.poll()
	equal(t, "at first", w.asked("/Metadata/"), []string{"/Metadata/Data/2026.10/a.dat", "/Metadata/Data/2026.10/b.dat", "/Metadata/Data/2026.10/c.dat"})
	w.poll()
	equal(t, "a poll with nothing new", len(w.provider.Requests()), 1)
	w.demand()
	equal(t, "a full check", w.asked("/Metadata/"), []string(nil))
	w.restart()
	w.poll()
	equal(t, "after a restart", len(w.provider.Requests()), 1)
	w.provider.SetManifest("data", "2026.11",
		emulator.File{Name: "a.dat", Release: "2026.10", Content: emulator.Text("same")}, emulator.File{Name: "c.dat", Content: emulator.Text("c")})
	w.expect(w.poll(), "data", report.Updated)
	equal(t, "a file under a new release", w.asked("/Metadata/"), []string{"/Metadata/Data/2026.11/c.dat"})
	w.described("data")
}

func TestFilesFromBeforeAreDescribedAtTheNextSync(t *testing.T) {
	w := served(t)
	before := w.record("data")
	if before.Described || before.Files[0].Metadata != nil {
		t.Fatal("it asked for what nobody wants")
	}
	w.cfg.Describe = true
	w.configure()
	w.expect(w.poll(), "data", report.Unchanged)
	equal(t, "questions", len(w.asked("/Metadata/")), 4)
	equal(t, "downloads", w.downloads(), []string(nil))
	equal(t, "revision", w.record("data").ID(), before.ID())
	w.described("data")
	equal(t, "aliases", w.record("data").Aliases, []manifest.Release{"2026.Q3", "2026.B4"})
	w.poll()
	equal(t, "afterwards", len(w.provider.Requests()), 1)
	w.restart()
	w.described("data")
	again, err := w.cfg.Mirror.Records.Revision("data", before.ID())
	must(t, err)
	if !again.Described {
		t.Error("the kept record is not described")
	}
}

// hosts ask this one for nothing yet.
type hosts struct{}

func (hosts) KeepMax() int64 { return 0 }

func (hosts) Kept(time.Time) map[string]mirror.Asked { return nil }

func (hosts) Retire(func(string) bool, map[string]mirror.Asked, time.Time) bool { return true }
func (hosts) Refresh()                                                          {}

func TestEarlierRevisionsAreDescribedToo(t *testing.T) {
	w := served(t)
	old := w.record("data")
	w.publish("data", "2026.10", october())
	w.poll()
	w.cfg.Describe, w.cfg.Followers = true, hosts{}
	w.configure()
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 503, Path: "/Metadata/Data/2026.09/*", Times: 1})
	w.poll()
	w.poll()
	earlier, err := w.cfg.Mirror.Records.Revision("data", old.ID())
	must(t, err)
	if !earlier.Described || earlier.Files[0].Metadata == nil || !slices.Equal(earlier.Aliases, []manifest.Release{"2026.Q3", "2026.B4"}) {
		t.Errorf("described %t, aliases %v", earlier.Described, earlier.Aliases)
	}
	w.poll()
	equal(t, "a poll", len(w.provider.Requests()), 1)
	w.restart()
	w.poll()
	equal(t, "after a restart", len(w.provider.Requests()), 1)
	w.rollback(request.Rollback{})
	w.poll()
	equal(t, "questions after a rollback", w.asked("/Metadata/"), []string(nil))
	w.described("data")
}

func TestAHeldRevisionIsDescribedToo(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.poll()
	w.rollback(request.Rollback{})
	held := w.record("data")
	w.cfg.Describe = true
	w.configure()
	w.poll()
	w.described("data")
	now := w.record("data")
	if now.ID() != held.ID() || now.Held == nil {
		t.Errorf("revision %s, held %v", now.ID(), now.Held)
	}
}

func TestASyncSucceedsWithoutDescriptions(t *testing.T) {
	w := describing(t, "data")
	w.publish("data", "2026.10", files{"a.dat": "a", "b.dat": "b", "c.dat": "c"})
	w.source.Retry.MaxElapsed = 50_000_000
	w.configure()
	for _, path := range []string{"/Metadata/*", "/ManifestList/*", "/Manifest/2026.Q4/*"} {
		w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 503, Path: path})
	}
	w.expect(w.poll(), "data", report.Updated)
	if w.record("data").Described {
		t.Error("it is described")
	}
	w.poll()
	for _, path := range w.asked("/Metadata/") {
		if path != w.asked("/Metadata/")[0] {
			t.Errorf("a poll asks for %s, too", path)
		}
	}
	w.provider.ClearFaults()
	w.poll()
	w.described("data")
	equal(t, "generation", w.cfg.Mirror.Current().Number, 2)
}

func TestAFileWithoutMetadataIsNotAskedAboutAgain(t *testing.T) {
	w := describing(t, "data")
	w.publish("data", "2026.10", files{"a.dat": "a", "b.dat": "b"})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Metadata/*/a.dat"})
	w.poll()
	record := w.record("data")
	if !record.Described || record.Files[0].Metadata == nil || !record.Files[0].Metadata.MD5.IsZero() || record.Files[1].Metadata.MD5.IsZero() {
		t.Errorf("described %t: %+v", record.Described, record.Files)
	}
	w.poll()
	equal(t, "a poll", len(w.provider.Requests()), 1)
}

func TestMetadataOfAnotherContentIsNotKept(t *testing.T) {
	w := describing(t, "data")
	w.publish("data", "2026.10", files{"a.dat": "a"})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/Metadata/*", Body: `{"FileSize":"1","SHA256":"` + strings.Repeat("0", 64) + `","MD5":"` + strings.Repeat("0", 32) + `"}`})
	w.poll()
	if m := w.record("data").Files[0].Metadata; m == nil || !m.MD5.IsZero() {
		t.Errorf("metadata %+v", m)
	}
}

func TestAStagedRevisionGoesLiveWithItsDescription(t *testing.T) {
	w := describing(t, "data")
	w.publish("data", "2026.09", september())
	w.target("data", func(t *golive.Target) { t.Activate = staging.Policy{Manual: true} })
	w.poll()
	if w.record("data").Manifest != "" {
		t.Fatal("it went live")
	}
	w.target("data", func(t *golive.Target) { t.Activate = staging.Policy{} })
	w.provider.ResetRequests()
	w.poll()
	w.described("data")
	equal(t, "questions", w.asked("/Metadata/"), []string(nil))
}

func TestSingleFilesAreInNoList(t *testing.T) {
	w := describing(t, "suite")
	w.provider.SetFiles("2026.10", emulator.File{Class: "Product", Name: "Suite", Content: emulator.Text("suite")})
	w.target("suite", func(t *golive.Target) {
		t.Files = []manifest.Reference{manifest.Parts{Class: manifest.Product, Release: manifest.Latest, Name: "Suite"}.Reference()}
	})
	w.expect(w.poll(), "suite", report.Updated)
	record := w.record("suite")
	if !record.Chosen || !record.Described || record.Files[0].Metadata.MD5.IsZero() {
		t.Errorf("%+v", record)
	}
	if kinds := w.order(); slices.Contains(kinds, "ManifestList") || slices.Contains(kinds, "Manifest") {
		t.Errorf("it asks for lists: %v", kinds)
	}
}
