package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"syncd/internal/emulator"
)

// wholeToolchain selects all of $GOROOT/src, over 10,000 files. With the race detector
// that takes a minute.
const wholeToolchain = "SYNCD_E2E_WHOLE_GOROOT"

// TestGoToolchainIsMirroredByteForByte mirrors thousands of real files, some of them
// empty, large, or with odd names.
func TestGoToolchainIsMirroredByteForByte(t *testing.T) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("NOT TESTED: no Go toolchain: %v", err)
	}
	goroot := strings.TrimSpace(string(out))
	src, pkg := filepath.Join(goroot, "src", "cmd", "go"), filepath.Join(goroot, "pkg")
	switch {
	case testing.Short():
		src, pkg = filepath.Join(goroot, "src", "net"), filepath.Join(goroot, "pkg", "include")
	case os.Getenv(wholeToolchain) != "":
		src = filepath.Join(goroot, "src")
	}
	sources := map[string]string{"go_src/2026.10": src, "go_pkg/2026.09": pkg}
	root := newDir(t)
	for name, source := range sources {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(source, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	provider, err := emulator.Start(emulator.Config{CustomerID: customerID, Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer provider.Close()
	h := newHostOf(t, provider, "go_src", "go_pkg")
	h.settings.more = "transfers: {files: 16}"
	h.configure()

	started := time.Now()
	r := h.sync(0)
	t.Logf("a cold sync of %d + %d files took %s", r.Manifests[0].FilesTotal, r.Manifests[1].FilesTotal, time.Since(started))
	total := 0
	for name, source := range sources {
		want := h.sourceDigests(source)
		same(h, name, want, h.published(filepath.Dir(name)))
		total += len(want)
	}
	if total < 100 {
		t.Errorf("only %d files", total)
	}
	provider.ResetRequests()
	started = time.Now()
	r = h.sync(0)
	t.Logf("a second sync took %s", time.Since(started))
	same(h, "results", []string{"unchanged", "unchanged"}, []string{r.Manifests[0].Result, r.Manifests[1].Result})
	h.wantDownloads()
	h.expect(0, "verify")
}

// sourceDigests returns the digests of the files below dir, by their published names.
func (h *host) sourceDigests(dir string) map[string]string {
	h.Helper()
	files := map[string]string{}
	h.must(filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		files[strings.ReplaceAll(rel, "/", "~")] = h.digestOf(path)
		return err
	}))
	return files
}
