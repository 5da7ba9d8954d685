package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
			h := newHost(t)
			h.settings.manifests = []string{"dq_addr_bins\n    " + filter}
			h.configure()
			h.sync(0)
			same(h, "files", want, sortedKeys(h.published("dq_addr_bins")))
			h.settings.manifests = []string{"dq_addr_bins"}
			h.configure()
			same(h, "all files", 7, h.sync(0).Manifests[0].FilesTotal)
		})
	}
	h := newHost(t)
	h.settings.manifests = []string{"dq_addr_bins\n    include: ['*.nope']"}
	h.configure()
	h.contains("stderr", h.expect(1, "sync").stderr, "filters", "none of the 7 files")
}

func TestPinnedReleaseAndAliasAreServedAsConfigured(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for setting, want := range map[string]string{"2026.09": "2026.09", "2026-08": "2026.08", "2026.Q4": "2026.Q4", "Latest": "2026.10"} {
		h.settings.manifests = []string{"dq_addr_data\n    release: " + setting}
		h.configure()
		m := h.sync(0).Manifests[0]
		same(h, setting, want, m.Release)
		if _, err := os.Stat(filepath.Join(h.data, "revisions", "dq_addr_data", want+"-"+m.Revision)); err != nil {
			t.Error(err)
		}
		same(h, setting+" again", "unchanged", h.sync(0).Manifests[0].Result)
	}
}

func TestChangedHashAlgorithmDownloadsNothingAgain(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	revision := h.status().Manifests[0].Revision
	h.downloads()
	for _, hash := range []string{"MD5", "SHA1", "SHA256"} {
		h.settings.id = "customer_id_file: id\n  hash: " + hash
		h.configure()
		same(h, hash, "unchanged", h.sync(0).Manifests[0].Result)
		same(h, hash+" again", "unchanged", h.sync(0).Manifests[0].Result)
	}
	h.wantDownloads()
	same(h, "revision", revision, h.status().Manifests[0].Revision)
}

func TestEqualContentsAreDownloadedAndStoredOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t, "one", "two")
	file := func(name string) emulator.File { return emulator.File{Name: name, Content: emulator.Text("same")} }
	h.provider.SetManifest("one", "2026.10", file("a"), file("b"))
	h.provider.SetManifest("two", "2026.10", file("c"))
	h.sync(0)
	same(h, "downloads", 1, len(h.downloads()))
	objects, err := filepath.Glob(filepath.Join(h.data, "objects", "*", "*"))
	h.must(err)
	same(h, "objects", 1, len(objects))
	if !sameFile(h, h.inRevision("one/b"), h.inRevision("two/c")) {
		t.Error("the files are not links to one object")
	}
}

func TestLongDataDirWithOddCharactersWorks(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.data = h.path(strings.Repeat("long ", 30), "[a]*? 100%é")
	h.settings.more = "retain: 0\nretain_for: 0s"
	h.must(os.MkdirAll(filepath.Dir(h.data), 0o755))
	data := h.data
	h.data = `"` + data + `"`
	h.configure()
	h.data = data
	p := h.daemon()
	p.logged("sync")
	first := h.inRevision("dq_addr_data")
	h.provider.AdvanceSample()
	h.expect(0, "sync")
	h.expect(0, "healthcheck", "--ready")
	if _, err := os.Stat(first); err == nil {
		t.Error("the old revision was not pruned")
	}
	h.flip("dq_addr_data/ews.txt")
	h.expect(0, "verify", "--repair")
	p.terminate()
	h.expect(0, "verify")
}
