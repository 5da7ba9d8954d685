package syncer_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"syncd/internal/emulator"
	"syncd/internal/golive"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

// single makes a world that mirrors single files as "one".
func single(t *testing.T, references ...string) *world {
	t.Helper()
	w := start(t)
	target := golive.Target{Target: manifest.Target{Name: "one", Release: manifest.Latest}}
	for _, text := range references {
		ref, err := manifest.ParseReference(text)
		must(t, err)
		target.Files = append(target.Files, ref)
	}
	w.cfg.Targets = []golive.Target{target}
	w.configure()
	return w
}

const (
	ews    = "Data/latest/ews.txt"
	so     = "Library/LINUX/GCC48/64BIT/latest/lib.so"
	soPath = "linux/gcc48/64bit/lib.so"
)

func data(name, content string) emulator.File {
	return emulator.File{Class: emulator.ClassData, Name: name, Content: emulator.Text(content)}
}

func sharedLib(content string) emulator.File {
	return emulator.File{Class: emulator.ClassLibrary, OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Name: "lib.so", Content: emulator.Text(content)}
}

func tool(tag, content string) emulator.File {
	return emulator.File{Class: emulator.ClassLibrary, OS: "WINDOWS", Compiler: "NET", Architecture: "ANY", Name: "Tool.exe", Tag: tag, Content: emulator.Text(content)}
}

func TestProductIsOneFileOfItsNewestRelease(t *testing.T) {
	w := single(t, "Product/latest/Suite")
	product := func(content string) emulator.File {
		return emulator.File{Class: emulator.ClassProduct, Name: "Suite", Content: emulator.Text(content)}
	}
	w.provider.SetFiles("2026.09", product("september"))
	result := w.demand()
	w.expect(result, "one", report.Updated)
	equal(t, "release", only(t, result, "one").Release, "2026.09")
	w.serves("one", files{"Suite": "september"})
	w.expect(w.poll(), "one", report.Unchanged)
	equal(t, "a poll", w.asked("/"), []string{"/Releases/Product/Suite"})
	w.provider.SetFiles("2026.10", product("october"))
	w.expect(w.poll(), "one", report.Updated)
	w.serves("one", files{"Suite": "october"})
	w.target("one", func(t *golive.Target) { t.Release, t.Files[0] = "2026.09", t.Files[0].WithRelease("2026.09") })
	w.expect(w.poll(), "one", report.Updated)
	w.serves("one", files{"Suite": "september"})
	equal(t, "newest", w.state("one").Newest, "2026.10")
}

func TestSingleFilesHaveTheNewestOfTheirReleases(t *testing.T) {
	w := single(t, ews, so)
	w.provider.SetFiles("2026.08", sharedLib("lib of august"))
	w.provider.SetFiles("2026.09", data("ews.txt", "ews of september"))
	result := w.demand()
	w.expect(result, "one", report.Updated)
	equal(t, "release", only(t, result, "one").Release, "2026.09")
	w.serves("one", files{"ews.txt": "ews of september", soPath: "lib of august"})
	w.provider.SetFiles("2026.08", sharedLib("lib of august"), data("other", "x")) // no news
	polls := map[string]int{}
	for range 4 {
		w.expect(w.poll(), "one", report.Unchanged)
		if len(w.asked("/")) != 1 {
			t.Errorf("a poll asked for %v", w.asked("/"))
		}
		polls[w.asked("/")[0]]++
	}
	equal(t, "polls", polls, map[string]int{"/Releases/Data/ews.txt": 2, "/Releases/Library/LINUX/GCC48/64BIT/lib.so": 2})
}

func TestNewReleaseOfOneFileIsNotHiddenByANewerOneOfAnother(t *testing.T) {
	w := single(t, ews, so)
	w.provider.SetFiles("2026.08", sharedLib("lib of august"))
	w.provider.SetFiles("2026.10", data("ews.txt", "ews of october"))
	w.expect(w.demand(), "one", report.Updated)
	w.provider.SetFiles("2026.09", sharedLib("lib of september"))
	w.poll()
	result := w.poll() // each poll asks about the next file
	equal(t, "release", only(t, result, "one").Release, "2026.10")
	w.serves("one", files{"ews.txt": "ews of october", soPath: "lib of september"})
}

func TestPollOfSingleFilesIsConditional(t *testing.T) {
	w := single(t, ews)
	w.provider.SetFiles("2026.09", data("ews.txt", "ews"))
	w.expect(w.demand(), "one", report.Updated)
	w.restart()
	w.expect(w.poll(), "one", report.Unchanged)
	requests := w.provider.Requests()
	if len(requests) != 1 || requests[0].Header.Get("If-None-Match") == "" || requests[0].Status != notModified {
		t.Errorf("%+v", requests)
	}
}

func TestPollAsksForWhatTheStateLacks(t *testing.T) {
	w := single(t, ews, so)
	w.provider.SetFiles("2026.09", data("ews.txt", "ews"), sharedLib("lib"))
	w.expect(w.demand(), "one", report.Updated)
	state := w.state("one")
	state.Files = nil
	must(t, w.cfg.Store.Commit(store.Changes{Manifests: map[string]store.Manifest{"one": state}}))
	w.expect(w.poll(), "one", report.Unchanged)
	w.expect(w.poll(), "one", report.Unchanged)
	equal(t, "a poll", len(w.asked("/")), 1)
}

func TestVariantIsAskedForWithItsTag(t *testing.T) {
	w := single(t, "Library/WINDOWS/NET/ANY/latest/Tool.exe?tag=NET7")
	w.provider.SetFiles("2026.09", tool("", "usual"), tool("NET7", "variant"))
	w.provider.SetFiles("2026.10", tool("", "usual of october"))
	result := w.demand()
	w.expect(result, "one", report.Updated)
	equal(t, "release", only(t, result, "one").Release, "2026.09")
	w.serves("one", files{"windows/net/any/Tool.exe": "variant"})
	checkTags(t, w)
	record := w.cfg.Mirror.Current().Records["one"]
	equal(t, "reference", record.Files[0].Reference.String(), "Library/WINDOWS/NET/ANY/2026.09/Tool.exe?tag=NET7")
	w.expect(w.poll(), "one", report.Unchanged)
	equal(t, "a poll", len(w.asked("/")), 1)
	w.provider.SetFiles("2026.11", tool("NET7", "new variant"))
	w.expect(w.poll(), "one", report.Updated)
	w.serves("one", files{"windows/net/any/Tool.exe": "new variant"})
}

// checkTags expects the tag in each request about the file but that for its releases.
func checkTags(t *testing.T, w *world) {
	t.Helper()
	for _, r := range w.provider.Requests() {
		query, err := url.ParseQuery(r.RawQuery)
		must(t, err)
		if r.Host == emulator.HostRelease && strings.HasSuffix(r.Path, "Tool.exe") && !strings.HasPrefix(r.Path, "/Releases/") && query.Get("tag") != "NET7" {
			t.Errorf("%s without the tag", r.Path)
		}
	}
}

func TestLinksOfAManifestKeepTheirTags(t *testing.T) {
	w := start(t, "data")
	w.provider.SetFiles("2026.09", tool("", "usual"))
	w.provider.SetManifest("data", "2026.09", tool("NET7", "variant"))
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", files{"windows/net/any/Tool.exe": "variant"})
	checkTags(t, w)
}

func TestTwoVariantsOfOneFileAreRefusedByName(t *testing.T) {
	w := start(t, "data")
	w.provider.SetManifest("data", "2026.09", tool("", "usual"), tool("NET7", "variant"))
	result := only(t, w.demand(), "data")
	equal(t, "reason", result.Reason, string(refusal.PathClash))
	if !strings.Contains(result.Error, "Tool.exe?tag=NET7") || len(w.downloads()) > 0 {
		t.Errorf("%s, downloads %v", result.Error, w.downloads())
	}
}

func TestMissingVariantNamesTheTag(t *testing.T) {
	w := single(t, "Library/WINDOWS/NET/ANY/latest/Tool.exe?tag=NET8")
	w.provider.SetFiles("2026.09", tool("", "usual"))
	if result := only(t, w.demand(), "one"); result.Result != report.Failed || !strings.Contains(result.Error, "NET8") {
		t.Errorf("%+v", result)
	}
}

func TestSingleFileThatGoesBackIsRefused(t *testing.T) {
	w := single(t, ews, so)
	w.provider.SetFiles("2026.08", data("ews.txt", "ews of august"))
	w.provider.SetFiles("2026.09", data("ews.txt", "ews of september"))
	w.provider.SetFiles("2026.10", sharedLib("lib of october"))
	w.expect(w.demand(), "one", report.Updated)
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/Releases/Data/ews.txt", Body: `["2026.08"]`})
	result := only(t, w.demand(), "one")
	equal(t, "reason", result.Reason, string(refusal.Downgrade))
	w.serves("one", files{"ews.txt": "ews of september", soPath: "lib of october"})
	w.expect(w.force(), "one", report.Updated)
	w.serves("one", files{"ews.txt": "ews of august", soPath: "lib of october"})
}

func TestShorterListOfSingleFilesIsTheOperatorsChoice(t *testing.T) {
	w := single(t, "Data/latest/a", "Data/latest/b", "Data/latest/c", "Data/2026.08/d")
	w.provider.SetFiles("2026.08", data("a", "a"), data("d", "d"))
	w.provider.SetFiles("2026.09", data("b", "b"), data("c", "c"), data("d", "new d"))
	w.expect(w.demand(), "one", report.Updated)
	w.serves("one", files{"a": "a", "b": "b", "c": "c", "d": "d"})
	w.target("one", func(t *golive.Target) { t.Files = t.Files[:1] })
	w.expect(w.poll(), "one", report.Updated)
	w.serves("one", files{"a": "a"})
}

func TestAliasOfASingleFileIsPolledByItsDigest(t *testing.T) {
	w := single(t, "Data/2026.Q3/ews.txt")
	w.provider.SetFiles("2026.08", data("ews.txt", "ews of august"))
	result := w.demand()
	w.expect(result, "one", report.Updated)
	equal(t, "release", only(t, result, "one").Release, "2026.Q3")
	w.expect(w.poll(), "one", report.Unchanged)
	equal(t, "a poll", w.asked("/"), []string{"/SHA256/Data/2026.Q3/ews.txt"})
	w.provider.SetFiles("2026.09", data("ews.txt", "ews of september"))
	w.expect(w.poll(), "one", report.Updated)
	w.serves("one", files{"ews.txt": "ews of september"})
}

func TestRepublishedSingleFileIsNoticedByAFullCheck(t *testing.T) {
	w := single(t, ews)
	w.provider.SetFiles("2026.09", data("ews.txt", "ews"))
	w.expect(w.demand(), "one", report.Updated)
	w.provider.SetFiles("2026.09", data("ews.txt", "other"))
	w.pass(w.cfg.Recheck)
	w.expect(w.poll(), "one", report.Updated)
	w.serves("one", files{"ews.txt": "other"})
}

func TestSingleFilesGoBackAndForth(t *testing.T) {
	w := single(t, ews)
	w.provider.SetFiles("2026.09", data("ews.txt", "old"))
	w.expect(w.demand(), "one", report.Updated)
	w.provider.SetFiles("2026.10", data("ews.txt", "new"))
	w.expect(w.poll(), "one", report.Updated)
	w.rollback(request.Rollback{})
	w.serves("one", files{"ews.txt": "old"})
	w.expect(w.poll(), "one", report.Unchanged)
	w.provider.SetFiles("2026.11", data("ews.txt", "newest"))
	w.expect(w.poll(), "one", report.Updated)
	w.serves("one", files{"ews.txt": "newest"})
}

// withoutReleases is a world whose service does not know ManifestReleases.
func withoutReleases(t *testing.T) *world {
	w := start(t, "data")
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Path: "/ManifestReleases/*", Status: 404})
	return w
}

func TestServiceWithoutManifestReleasesIsPolledByItsManifest(t *testing.T) {
	w := withoutReleases(t)
	w.publish("data", "2026.09", september())
	result := w.demand()
	w.expect(result, "data", report.Updated)
	equal(t, "release", only(t, result, "data").Release, "2026.09")
	w.restart()
	for range 2 {
		w.expect(w.poll(), "data", report.Unchanged)
		equal(t, "a poll", w.asked("/"), []string{"/Manifest/latest/data"})
	}
	w.demand()
	w.publish("data", "2026.10", october())
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", october())
	equal(t, "release", w.cfg.Mirror.Current().Records["data"].Release, manifest.Release("2026.10"))
	equal(t, "warnings", strings.Count(w.log.String(), "the service lists no releases"), 1)
	w.provider.ClearFaults()
	w.demand()
	w.expect(w.poll(), "data", report.Unchanged)
	equal(t, "a poll", w.asked("/"), []string{"/ManifestReleases/data"})
}

func TestUnknownManifestIsNoServiceWithoutManifestReleases(t *testing.T) {
	w := start(t, "nowhere")
	result := only(t, w.demand(), "nowhere")
	if result.Result != report.Failed || !strings.Contains(result.Error, "ManifestReleases") || strings.Contains(w.log.String(), "lists no releases") {
		t.Errorf("%+v\n%s", result, &w.log)
	}
	if !slices.Equal(w.asked("/"), []string{"/Manifest/latest/nowhere", "/ManifestReleases/nowhere"}) {
		t.Error(w.asked("/"))
	}
}
