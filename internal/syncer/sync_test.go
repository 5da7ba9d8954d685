package syncer_test

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/golive"
	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

func library(os, compiler, arch, name, content string) emulator.File {
	return emulator.File{Class: emulator.ClassLibrary, OS: os, Compiler: compiler, Architecture: arch, Name: name, Content: emulator.Text(content)}
}

func wrapper(os, language, arch, name, content string) emulator.File {
	return emulator.File{Class: emulator.ClassInterface, OS: os, Language: language, Architecture: arch, Name: name, Content: emulator.Text(content)}
}

func publishBinaries(w *world) {
	w.provider.SetManifest("bins", "2026.09",
		library("LINUX", "GCC48", "64BIT", "libx.so", "linux 64"),
		library("LINUX", "GCC48", "32BIT", "libx.so", "linux 32"),
		library("ANY", "ANY", "ANY", "libx.so", "any"),
		wrapper("LINUX", "JAVA", "64BIT", "libx.so", "java"),
		wrapper("ANY", "PYTHON", "ANY", "x.py", "python"),
	)
}

func TestAColdSyncOfTwoManifestsIsRightFileByFile(t *testing.T) {
	w := start(t, "data", "bins")
	w.publish("data", "2026.09", september())
	publishBinaries(w)
	result := w.demand()

	data, bins := w.expect(result, "data", report.Updated), w.expect(result, "bins", report.Updated)
	if result.Generation != 1 || !result.Changed || !result.OK() {
		t.Errorf("report %+v, want one new generation for both", result)
	}
	equal(t, "downloaded", []int{data.FilesTotal, data.FilesDownloaded, bins.FilesTotal, bins.FilesDownloaded}, []int{4, 4, 5, 5})
	w.serves("data", september())
	w.serves("bins", files{
		"linux/gcc48/64bit/libx.so":           "linux 64",
		"linux/gcc48/32bit/libx.so":           "linux 32",
		"any/any/any/libx.so":                 "any",
		"interfaces/linux/java/64bit/libx.so": "java",
		"interfaces/any/python/any/x.py":      "python",
	})
	equal(t, "digests asked", w.asked("/SHA256/"), []string{
		"/SHA256/Data/2026.09/a.dat", "/SHA256/Data/2026.09/b.dat", "/SHA256/Data/2026.09/c.txt", "/SHA256/Data/2026.09/d.lic",
		"/SHA256/Interface/ANY/PYTHON/ANY/2026.09/x.py", "/SHA256/Interface/LINUX/JAVA/64BIT/2026.09/libx.so",
		"/SHA256/Library/ANY/ANY/ANY/2026.09/libx.so", "/SHA256/Library/LINUX/GCC48/32BIT/2026.09/libx.so", "/SHA256/Library/LINUX/GCC48/64BIT/2026.09/libx.so",
	})
}

func TestASecondSyncDownloadsAndSwapsNothing(t *testing.T) {
	w := served(t)
	for _, req := range []request.Sync{{}, {Demand: true}, {Force: true}} {
		result := w.sync(req)
		m := w.expect(result, "data", report.Unchanged)
		if result.Changed || result.Generation != 1 || len(w.downloads()) > 0 {
			t.Errorf("%+v: changed %v, generation %d, downloads %v", req, result.Changed, result.Generation, w.downloads())
		}
		equal(t, "files", []int{m.FilesTotal, m.FilesReused, m.FilesDownloaded}, []int{4, 4, 0})
	}
}

func TestAReleaseWithOneChangedFileDownloadsThatFileAlone(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	m := w.expect(w.poll(), "data", report.Updated)
	equal(t, "downloads", w.downloads(), []string{"b.dat"})
	equal(t, "files", []int{m.FilesTotal, m.FilesDownloaded, m.FilesReused}, []int{4, 1, 3})
	equal(t, "bytes", []int64{m.BytesDownloaded, m.BytesReused}, []int64{int64(len("b of october")), int64(len("a of september") + 2)})
	w.serves("data", october())
}

func TestARepublishedReleaseIsANewRevisionSeenOnDemand(t *testing.T) {
	w := served(t)
	before := w.cfg.Mirror.Current().Records["data"]
	w.publish("data", "2026.09", october()) // the same id
	w.expect(w.poll(), "data", report.Unchanged)
	m := w.expect(w.demand(), "data", report.Updated)
	equal(t, "downloads", w.downloads(), []string{"b.dat"})
	if m.Release != "2026.09" || m.Revision == before.Revision {
		t.Errorf("release %s revision %s after revision %s", m.Release, m.Revision, before.Revision)
	}
	w.serves("data", october())
}

func TestARepublishedReleaseIsSeenAtTheRecheckInterval(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.09", october())
	w.pass(23 * time.Hour)
	w.expect(w.poll(), "data", report.Unchanged)
	w.pass(time.Hour)
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", october())
}

func TestAPollWithNothingNewIsOneConditionalRequestAManifest(t *testing.T) {
	w := start(t, "data", "bins")
	w.publish("data", "2026.09", september())
	publishBinaries(w)
	w.demand()
	w.poll() // prunes; from now on there is nothing to do
	states, disk := w.states(), w.listing()

	result := w.poll()
	w.expect(result, "data", report.Unchanged)
	w.expect(result, "bins", report.Unchanged)
	equal(t, "requests", w.asked("/"), []string{"/ManifestReleases/bins", "/ManifestReleases/data"})
	for _, r := range w.provider.Requests() {
		if r.Header.Get("If-None-Match") == "" || r.Status != notModified {
			t.Errorf("%s: If-None-Match %q, status %d", r.Path, r.Header.Get("If-None-Match"), r.Status)
		}
	}
	after := w.states()
	for name, s := range after {
		if !s.CheckedAt.After(states[name].CheckedAt) {
			t.Errorf("%s: the check time is not written", name)
		}
		s.CheckedAt, s.SyncedAt = states[name].CheckedAt, states[name].SyncedAt
		after[name] = s
	}
	equal(t, "state other than check times", after, states)
	equal(t, "files other than the state", w.listing(), disk)
}

func (w *world) states() map[string]store.Manifest {
	w.Helper()
	states, err := w.cfg.Store.Manifests()
	must(w, err)
	return states
}

// listing is every name in the data directory except the state, with its time.
func (w *world) listing() map[string]string {
	w.Helper()
	names := map[string]string{}
	must(w, filepath.WalkDir(w.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || strings.Contains(path, "/state/") {
			return err
		}
		info, err := entry.Info()
		if err == nil && entry.Name() != "state" {
			names[path] = info.ModTime().String()
		}
		return err
	}))
	return names
}

func TestWithoutValidatorsAPollIsStillOneRequest(t *testing.T) {
	w := start(t, "data")
	w.publish("data", "2026.09", september())
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindNoValidators})
	w.demand()
	w.expect(w.poll(), "data", report.Unchanged)
	equal(t, "requests", w.asked("/"), []string{"/ManifestReleases/data"})
}

func TestAnAliasIsPolledThroughManifestAndNamedAsWritten(t *testing.T) {
	w := start(t, "data")
	w.target("data", func(t *golive.Target) { t.Release = "2026.Q4" })
	w.publish("data", "2026.10", september())
	m := w.expect(w.demand(), "data", report.Updated)
	equal(t, "release", m.Release, "2026.Q4")
	w.expect(w.poll(), "data", report.Unchanged)
	equal(t, "a poll", w.asked("/"), []string{"/Manifest/2026.Q4/data"})

	w.publish("data", "2026.11", october())
	w.expect(w.poll(), "data", report.Updated)
	equal(t, "downloads", w.downloads(), []string{"b.dat"})
	w.serves("data", october())
}

func TestAPinnedReleaseMayBeAnOlderOne(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.expect(w.poll(), "data", report.Updated)
	w.target("data", func(t *golive.Target) { t.Release = "2026.09" })
	m := w.expect(w.poll(), "data", report.Updated)
	equal(t, "release", m.Release, "2026.09")
	w.serves("data", september())
	w.expect(w.poll(), "data", report.Unchanged)
	equal(t, "a poll", w.asked("/"), []string{"/ManifestReleases/data"})
}

func TestLatestIgnoresIDsOfAnotherFormWithAWarning(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.provider.AddFault(emulator.Fault{
		Kind: emulator.KindBody, Path: "/ManifestReleases/*", Body: `["2026.10","2099.Q1","next","2026.09","2026.10","2026.13"]`,
	})
	m := w.expect(w.poll(), "data", report.Updated)
	equal(t, "release", m.Release, "2026.10")
	if !strings.Contains(w.log.String(), "not of the form YYYY.MM") {
		t.Errorf("no warning in the log:\n%s", &w.log)
	}
}

func TestLatestIsResolvedOnceAndNeverSent(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.poll()
	equal(t, "lists", w.asked("/Manifest/"), []string{"/Manifest/2026.10/data"})
	equal(t, "release lists", w.asked("/ManifestReleases/"), []string{"/ManifestReleases/data"})
}

func TestAFileOfAnOlderReleaseIsAskedAndFetchedUnderThatRelease(t *testing.T) {
	w := served(t)
	w.provider.SetManifest("data", "2026.10", emulator.File{Name: "a.dat", Release: "2026.09"},
		emulator.File{Name: "b.dat", Release: "2026.09"}, emulator.File{Name: "n.dat", Content: emulator.Text("new")})
	w.expect(w.poll(), "data", report.Updated)
	equal(t, "digests", w.asked("/SHA256/"), []string{"/SHA256/Data/2026.09/a.dat", "/SHA256/Data/2026.09/b.dat", "/SHA256/Data/2026.10/n.dat"})
	w.serves("data", files{"a.dat": "a of september", "b.dat": "b of september", "n.dat": "new"})
}

func TestALinkIsAnIdentityAndNeverAnAddress(t *testing.T) {
	w := served(t)
	w.provider.SetManifest("data", "2026.10", emulator.File{Name: "n.dat", Content: emulator.Text("new")}, emulator.File{Name: "a.dat", Release: "2026.09"})
	w.provider.SetLinks("data", "2026.10", "https://elsewhere.invalid/x/Download/Data/2026.10/n.dat/?ID=evil", "http://192.0.2.1/Download/Data/2026.09/a.dat")
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", files{"a.dat": "a of september", "n.dat": "new"})
}

func TestAManifestThatLeftTheTargetsLeavesAtTheNextSyncIfItIsDropped(t *testing.T) {
	w := leaving(t)
	w.cfg.DropRemoved = true
	w.configure()
	result := w.poll()
	if !result.Changed || w.tree("bins") != nil {
		t.Errorf("bins is still served: %+v", result)
	}
	w.expect(result, "data", report.Unchanged)
	w.serves("data", september())
	w.hasNoState("bins")
}

// leaving is a world that serves data and bins, and whose configuration lost bins.
func leaving(t *testing.T) *world {
	w := start(t, "data", "bins")
	w.publish("data", "2026.09", september())
	publishBinaries(w)
	w.demand()
	w.cfg.Targets = w.cfg.Targets[:1]
	w.configure()
	w.serves("data", september())
	if w.tree("bins") == nil {
		t.Fatal("bins left before a sync")
	}
	return w
}

func TestAManifestThatLeftTheTargetsStaysServedUntilItIsForgotten(t *testing.T) {
	w := leaving(t)
	bins := w.tree("bins")
	w.publish("data", "2026.10", october())
	w.expect(w.demand(), "data", report.Updated)
	w.rollback(request.Rollback{})
	w.restart()
	w.serves("bins", bins)
	states := map[string]report.State{}
	for _, m := range w.status().Manifests {
		states[m.Name] = m.State
	}
	equal(t, "states", states, map[string]report.State{"data": report.StateHeld, "bins": report.StateOrphaned})
	for _, name := range []string{"data", "nowhere"} {
		if _, err := golive.Forget(t.Context(), w.syncer.Tree(), request.Forget{Names: []string{name}}); err == nil {
			t.Errorf("forgot %s", name)
		}
	}
	result, err := golive.Forget(t.Context(), w.syncer.Tree(), request.Forget{Names: []string{"bins"}, Trigger: request.TriggerForget})
	must(t, err)
	equal(t, "result", []any{result.Changed, result.Generation, result.Removed}, []any{true, w.generation(), []string{"bins"}})
	w.serves("bins", nil)
	w.serves("data", september())
	w.pass(w.cfg.Recheck)
	w.poll()
	proofs, err := w.cfg.Store.Proofs()
	must(t, err)
	if proofs["bins"] != nil {
		t.Error("the proofs of bins are still there")
	}
	w.hasNoState("bins")
	w.target("data", func(t *golive.Target) { t.Name = "bins" })
	w.expect(w.poll(), "bins", report.Updated)
	w.serves("bins", bins)
}

// hasNoState requires that the state knows nothing of a manifest.
func (w *world) hasNoState(name string) {
	w.Helper()
	states, err := w.cfg.Store.Manifests()
	must(w, err)
	if s, found := states[name]; found {
		w.Errorf("the state still has %s, checked at %s", name, s.CheckedAt)
	}
}

func TestASyncOfNamedManifestsLeavesTheOthersAlone(t *testing.T) {
	w := start(t, "data", "bins")
	w.publish("data", "2026.09", september())
	publishBinaries(w)
	result := w.demand("bins")
	if len(result.Manifests) != 1 || w.tree("data") != nil {
		t.Errorf("report %+v", result)
	}
	_, err := w.syncer.Sync(context.Background(), request.Sync{Manifests: []string{"data", "nosuch"}})
	if unknown, ok := errors.AsType[*request.UnknownManifestError](err); !ok || unknown.Name != "nosuch" {
		t.Errorf("error %v, want an unknown manifest", err)
	}
	result = w.sync(request.Sync{Manifests: []string{"data", "nosuch"}, SkipUnknown: true})
	equal(t, "of those that waited", []any{len(result.Manifests), w.expect(result, "data", report.Updated).Release}, []any{1, "2026.09"})
	result = w.sync(request.Sync{Manifests: []string{"nosuch"}, SkipUnknown: true})
	equal(t, "of none that is left", []int{len(result.Manifests), len(w.asked("/"))}, []int{0, 0})
}

func TestADryRunPredictsAndChangesNothing(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	states, disk := w.states(), w.listing()
	result := w.sync(request.Sync{Demand: true, DryRun: true})
	m := w.expect(result, "data", report.Updated)
	equal(t, "foreseen", []any{result.Changed, m.Release, m.FilesTotal, m.FilesDownloaded, m.FilesReused, m.BytesDownloaded},
		[]any{false, "2026.10", 4, 1, 3, int64(len("b of october"))})
	equal(t, "downloads", len(w.downloads()), 0)
	equal(t, "state", w.states(), states)
	equal(t, "disk", w.listing(), disk)
}

func TestADryRunTellsTheSpaceAndWhatWouldGo(t *testing.T) {
	w := served(t)
	w.cfg.Retain = 1
	w.configure()
	first := w.cfg.Mirror.Current().Records["data"]
	goes := func(result report.Sync) (names []string) {
		t.Helper()
		if result.Space == nil || result.Space.BytesNeeded <= 0 || result.Space.BytesFree <= 0 || result.Space.InodesNeeded <= 0 {
			t.Fatalf("space %+v", result.Space)
		}
		for _, r := range result.Space.Removed {
			names = append(names, r.Name+"/"+r.Release+"-"+r.Revision)
		}
		return names
	}
	dry := request.Sync{Demand: true, DryRun: true}
	if result := w.sync(dry); result.Space != nil {
		t.Errorf("a sync without news needs %+v", result.Space)
	}
	w.publish("data", "2026.10", october())
	if got := goes(w.sync(dry)); len(got) != 0 {
		t.Errorf("the only earlier revision would go: %s", got)
	}
	w.expect(w.sync(request.Sync{Demand: true}), "data", report.Updated)
	more := october()
	more["b.dat"] = "b of november"
	w.publish("data", "2026.11", more)
	result := w.sync(dry)
	equal(t, "goes", goes(result), []string{first.Key()})
	if result.Space.BytesFreed <= 0 {
		t.Errorf("nothing is freed: %+v", result.Space)
	}
	w.cfg.Retain = 0
	w.configure()
	if got := goes(w.sync(dry)); len(got) != 2 {
		t.Errorf("with retain 0, %s would go", got)
	}
}

func TestAnotherSourceIsCheckedInFullAndNeverWithTheOldOnesValidators(t *testing.T) {
	w := served(t)
	other := start(t)
	other.publish("data", "2026.09", october())
	w.source.URL = other.source.URL
	w.configure()
	w.expect(w.sync(request.Sync{Trigger: "reload"}), "data", report.Updated)
	w.serves("data", october())
	for _, r := range other.provider.Requests() {
		if r.Header.Get("If-None-Match") != "" {
			t.Errorf("%s was sent the validator of another source", r.Path)
		}
	}
}

func TestMetricsShowTheResultOfASync(t *testing.T) {
	w := served(t)
	record := w.cfg.Mirror.Current().Records["data"]
	for name, want := range map[string]float64{
		"syncd_files_downloaded_total": 4, "syncd_download_bytes_total": float64(record.Bytes),
		"syncd_mirror_bytes": float64(record.Bytes), "syncd_verify_failures_total": -1,
		"syncd_releases_behind": 0, "syncd_disk_needed_bytes": 0,
		"syncd_active_since_timestamp_seconds": float64(record.PublishedAt.UnixMilli()) / 1000,
	} {
		if got := w.metric(name, "manifest=data"); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if got := w.metric("syncd_release_info", "manifest=data", "release=2026.09", "revision="+record.Revision); got != 1 {
		t.Errorf("release_info is %v", got)
	}
	if got := w.metric("syncd_sync_runs_total", "manifest=data", "result=updated"); got != 1 {
		t.Errorf("sync_runs_total is %v", got)
	}
	if got := w.metric("syncd_http_requests_total", "endpoint=Hash", "code=200"); got != 4 {
		t.Errorf("http_requests_total of Hash is %v", got)
	}
	if got := w.metric("syncd_newest_release_info", "manifest=data", "release=2026.09"); got != 1 {
		t.Errorf("newest_release_info is %v", got)
	}
	if got := w.metric("syncd_manifest_state", "manifest=data", "state=in_sync"); got != 1 {
		t.Errorf("manifest_state is %v", got)
	}
	state := w.state("data")
	if got := w.metric("syncd_last_success_timestamp_seconds", "manifest=data"); got != float64(state.SyncedAt.UnixMilli())/1000 {
		t.Errorf("last success is %v, want %v", got, state.SyncedAt)
	}
}

func TestTheRevisionIDIsTheHashOfTheContract(t *testing.T) {
	w := served(t)
	record := w.cfg.Mirror.Current().Records["data"]
	var sums []manifest.Sum
	for _, f := range record.Files {
		sums = append(sums, manifest.Sum{Object: f.Object, Path: f.Path})
	}
	equal(t, "revision", record.Revision, manifest.RevisionID(sums))
	if record.Source != w.provider.URL() || record.Listed != 4 || record.Version != "test" {
		t.Errorf("record %+v", record)
	}
}
