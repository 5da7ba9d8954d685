package syncer_test

import (
	"maps"
	"strings"
	"testing"

	"syncd/internal/emulator"
	"syncd/internal/golive"
	"syncd/internal/manifest"
	"syncd/internal/report"
)

func TestAContentThatTwoManifestsWantIsFetchedOnce(t *testing.T) {
	w := start(t, "one", "two")
	w.publish("one", "2026.09", files{"a.dat": "shared", "b.dat": "b"})
	w.publish("two", "2026.09", files{"x.dat": "shared", "y.dat": "shared"})
	result := w.demand()
	if got := len(w.downloads()); got != 2 {
		t.Errorf("downloads %v, want two", w.downloads())
	}
	one, two := w.expect(result, "one", report.Updated), w.expect(result, "two", report.Updated)
	equal(t, "downloaded", one.FilesDownloaded+two.FilesDownloaded, 2)
	equal(t, "reused", one.FilesReused+two.FilesReused, 2)
	w.serves("one", files{"a.dat": "shared", "b.dat": "b"})
	w.serves("two", files{"x.dat": "shared", "y.dat": "shared"})
}

func TestABrokenLinkIsReplacedByAnotherManifestsLink(t *testing.T) {
	none := emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Download/*/y.dat"}
	for name, tt := range map[string]struct {
		faults []emulator.Fault
		result report.Result
	}{
		"not there":        {[]emulator.Fault{{Kind: emulator.KindStatus, Status: 404, Path: "/Download/*/x.dat"}}, report.Updated},
		"other bytes":      {[]emulator.Fault{{Kind: emulator.KindCorrupt, Host: emulator.HostDownload, Path: "*/x.dat"}}, report.Updated},
		"nor by another's": {[]emulator.Fault{none, {Kind: emulator.KindCorrupt, Host: emulator.HostDownload, Path: "*/x.dat"}}, report.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, "one", "same", "other", "apart")
			w.publish("one", "2026.09", files{"a.dat": "a", "x.dat": "shared"})
			w.publish("same", "2026.09", files{"x.dat": "shared"})
			w.publish("other", "2026.09", files{"y.dat": "shared"})
			w.publish("apart", "2026.09", files{"z.dat": "z"})
			for _, fault := range tt.faults {
				w.provider.AddFault(fault)
			}
			result := w.demand()
			for _, name := range []string{"one", "same", "other"} {
				w.expect(result, name, tt.result)
			}
			w.expect(result, "apart", report.Updated)
		})
	}
}

func TestIdenticalLinksAreOneFile(t *testing.T) {
	w := start(t, "data")
	w.publish("data", "2026.09", files{"a.dat": "a", "b.dat": "b"})
	base := w.provider.URL() + "/Download/Data/2026.09/"
	w.provider.SetLinks("data", "2026.09", base+"a.dat/?ID=1", base+"a.dat?ID=2", base+"b.dat", base+"b%2Edat")
	m := w.expect(w.demand(), "data", report.Updated)
	equal(t, "files", m.FilesTotal, 2)
	equal(t, "listed", w.cfg.Mirror.Current().Records["data"].Listed, 2)
}

func TestAnEmptyFileIsAFile(t *testing.T) {
	w := start(t, "data")
	w.publish("data", "2026.09", files{"empty.lic": "", "a.dat": "a"})
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", files{"empty.lic": "", "a.dat": "a"})
}

func TestMD5AndSHA1ProveAMirrorToo(t *testing.T) {
	for _, algorithm := range []manifest.Algorithm{manifest.MD5, manifest.SHA1} {
		t.Run(algorithm.String(), func(t *testing.T) {
			w := start(t, "data")
			w.cfg.Algorithm = algorithm
			w.configure()
			w.publish("data", "2026.09", september())
			w.expect(w.demand(), "data", report.Updated)
			equal(t, "digests asked", len(w.asked("/"+algorithm.String()+"/")), 4)
			w.publish("data", "2026.10", october())
			w.expect(w.poll(), "data", report.Updated)
			equal(t, "downloads", w.downloads(), []string{"b.dat"})
			w.serves("data", october())
			w.expect(w.demand(), "data", report.Unchanged)
		})
	}
}

func TestAChangeOfAlgorithmDownloadsNothing(t *testing.T) {
	w := served(t)
	for _, algorithm := range []manifest.Algorithm{manifest.MD5, manifest.SHA1, manifest.SHA256, manifest.MD5} {
		w.cfg.Algorithm = algorithm
		w.configure()
		w.expect(w.poll(), "data", report.Unchanged)
		equal(t, "digests asked in "+algorithm.String(), len(w.asked("/"+algorithm.String()+"/")), 4)
		equal(t, "downloads", len(w.downloads()), 0)
		w.expect(w.poll(), "data", report.Unchanged)
		equal(t, "the poll after", w.asked("/"), []string{"/ManifestReleases/data"})
	}
	w.publish("data", "2026.10", october())
	w.expect(w.poll(), "data", report.Updated)
	equal(t, "downloads", w.downloads(), []string{"b.dat"})
}

func TestFiltersChooseFilesAndTheirChangeIsCheckedInFull(t *testing.T) {
	w := start(t, "bins")
	publishBinaries(w)
	w.target("bins", func(t *golive.Target) {
		t.Filter = manifest.Filter{OS: []string{"linux"}, Architecture: []string{"64BIT"}}
	})
	w.expect(w.demand(), "bins", report.Updated)
	linux := files{
		"linux/gcc48/64bit/libx.so": "linux 64", "any/any/any/libx.so": "any",
		"interfaces/linux/java/64bit/libx.so": "java", "interfaces/any/python/any/x.py": "python",
	}
	w.serves("bins", linux)
	equal(t, "digests of chosen files only", len(w.asked("/SHA256/")), 4)
	equal(t, "listed, before filters", w.cfg.Mirror.Current().Records["bins"].Listed, 5)

	w.target("bins", func(t *golive.Target) { t.Filter = manifest.Filter{OS: []string{"LINUX"}, Exclude: []string{"*.py"}} })
	w.expect(w.poll(), "bins", report.Updated)
	equal(t, "downloads", w.asked("/Download/"), []string{"/Download/Library/LINUX/GCC48/32BIT/2026.09/libx.so"})
	wider := maps.Clone(linux)
	delete(wider, "interfaces/any/python/any/x.py")
	wider["linux/gcc48/32bit/libx.so"] = "linux 32"
	w.serves("bins", wider)
}

func TestFiltersThatLeaveNothingFailClearly(t *testing.T) {
	w := served(t)
	w.target("data", func(t *golive.Target) { t.Filter.Include = []string{"*.nosuch"} })
	m := w.expect(w.poll(), "data", report.Failed)
	if !strings.Contains(m.Error, "filters") || !strings.Contains(m.Error, "include") || m.Reason != "" {
		t.Errorf("reason %q, error %q", m.Reason, m.Error)
	}
	w.serves("data", september())
}

func TestObjectsOfUnchangedFilesAreSharedByRevisions(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.poll()
	objects := map[string]bool{}
	for name := range w.listing() {
		if strings.Contains(name, "/objects/") && strings.Count(name[strings.Index(name, "/objects/"):], "/") == 3 {
			objects[name] = true
		}
	}
	equal(t, "objects", len(objects), 5)
}

func TestAFileOfUnknownSizeIsDownloaded(t *testing.T) {
	w := start(t, "data")
	w.publish("data", "2026.09", september())
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Metadata/*"})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindNoLength, Host: emulator.HostDownload})
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", september())
}
