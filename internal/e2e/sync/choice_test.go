package sync_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

func TestFiltersSelectTheFilesOfAManifest(t *testing.T) {
	t.Parallel()
	const (
		python  = "interfaces/any/python/any/mdAddr_pythoncode.py"
		java    = "interfaces/linux/java/64bit/libmdAddrJavaWrapper.so"
		wrapper = "interfaces/linux/python/64bit/libmdAddrPythonWrapper.so"
		linux32 = "linux/gcc48/32bit/libmdAddr.so"
		linux64 = "linux/gcc48/64bit/libmdAddr.so"
		windows = "windows/dll/64bit/mdAddr.dll"
		zlinux  = "zlinux/gcc48/64bit/libmdAddr.so"
	)
	for filter, want := range map[string][]string{ // a file with "any", or without that segment, passes
		"os: [linux]":                             {python, java, wrapper, linux32, linux64},
		"compiler: [DLL]":                         {python, java, wrapper, windows},
		"language: [PYTHON]":                      {python, wrapper, linux32, linux64, windows, zlinux},
		"architecture: [32BIT]":                   {python, linux32},
		"include: ['*.py']":                       {python},
		"exclude: ['*.so', 'interfaces/*/*/*/*']": {windows},
		"os: [LINUX]\n    compiler: [GCC48]\n    include: ['linux/*/*/*']": {linux32, linux64},
	} {
		t.Run(filter, func(t *testing.T) {
			t.Parallel()
			h := e2e.NewHost(t)
			h.Settings.Manifests = []string{"dq_addr_bins\n    " + filter}
			h.Configure()
			h.Sync(0)
			e2e.Same(h, "files", want, sortedKeys(h.Published("dq_addr_bins")))
			h.Settings.Manifests = []string{"dq_addr_bins"}
			h.Configure()
			e2e.Same(h, "all files", 7, h.Sync(0).Manifests[0].FilesTotal)
		})
	}
	h := e2e.NewHost(t)
	h.Settings.Manifests = []string{"dq_addr_bins\n    include: ['*.nope']"}
	h.Configure()
	h.Contains("stderr", h.Expect(1, "sync").Stderr, "filters", "none of the 7 files")
}

func TestPinnedReleaseAndAliasAreServedAsConfigured(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	for setting, want := range map[string]string{"2026.09": "2026.09", "2026-08": "2026.08", "2026.Q4": "2026.Q4", "Latest": "2026.10"} {
		h.Settings.Manifests = []string{"dq_addr_data\n    release: " + setting}
		h.Configure()
		m := h.Sync(0).Manifests[0]
		e2e.Same(h, setting, want, m.Release)
		if _, err := os.Stat(filepath.Join(h.Data, "revisions", "dq_addr_data", want+"-"+m.Revision)); err != nil {
			t.Error(err)
		}
		e2e.Same(h, setting+" again", "unchanged", h.Sync(0).Manifests[0].Result)
	}
}

func TestChangedHashAlgorithmDownloadsNothingAgain(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	revision := h.Status().Manifests[0].Revision
	h.Downloads()
	for _, hash := range []string{"MD5", "SHA1", "SHA256"} {
		h.Settings.ID = "customer_id_file: id\n  hash: " + hash
		h.Configure()
		e2e.Same(h, hash, "unchanged", h.Sync(0).Manifests[0].Result)
		e2e.Same(h, hash+" again", "unchanged", h.Sync(0).Manifests[0].Result)
	}
	h.WantDownloads()
	e2e.Same(h, "revision", revision, h.Status().Manifests[0].Revision)
}

func TestEqualContentsAreDownloadedAndStoredOnce(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "one", "two")
	file := func(name string) emulator.File { return emulator.File{Name: name, Content: emulator.Text("same")} }
	h.Provider.SetManifest("one", "2026.10", file("a"), file("b"))
	h.Provider.SetManifest("two", "2026.10", file("c"))
	h.Sync(0)
	e2e.Same(h, "downloads", 1, len(h.Downloads()))
	objects, err := filepath.Glob(filepath.Join(h.Data, "objects", "*", "*"))
	h.Must(err)
	e2e.Same(h, "objects", 1, len(objects))
	if !e2e.SameFile(h, h.InRevision("one/b"), h.InRevision("two/c")) {
		t.Error("the files are not links to one object")
	}
}

func TestLongDataDirWithOddCharactersWorks(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Data = h.Path(strings.Repeat("long ", 30), "[a]*? 100%é")
	h.Settings.More = "retain: 0\nretain_for: 0s"
	h.Must(os.MkdirAll(filepath.Dir(h.Data), 0o755))
	data := h.Data
	h.Data = `"` + data + `"`
	h.Configure()
	h.Data = data
	p := h.SyncedDaemon()
	first := h.InRevision("dq_addr_data")
	h.Provider.AdvanceSample()
	h.Expect(0, "sync")
	h.Expect(0, "healthcheck", "--ready")
	if _, err := os.Stat(first); err == nil {
		t.Error("the old revision was not pruned")
	}
	h.Flip("dq_addr_data/ews.txt")
	h.Expect(0, "verify", "--repair")
	p.Terminate()
	h.Expect(0, "verify")
}
