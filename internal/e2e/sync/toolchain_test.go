package sync_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// wholeToolchain selects all of $GOROOT/src, over 10,000 files, and the compiled tools.
// With the race detector that takes a minute.
const wholeToolchain = "SYNCD_E2E_WHOLE_GOROOT"

// TestGoToolchainIsMirroredByteForByte mirrors thousands of real files, some of them
// empty, large, or with odd names.
func TestGoToolchainIsMirroredByteForByte(t *testing.T) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("NOT TESTED: no Go toolchain: %v", err)
	}
	goroot := strings.TrimSpace(string(out))
	src, pkg := filepath.Join(goroot, "src", "cmd", "go"), filepath.Join(goroot, "pkg", "include")
	switch {
	case testing.Short():
		src = filepath.Join(goroot, "src", "net")
	case os.Getenv(wholeToolchain) != "":
		src, pkg = filepath.Join(goroot, "src"), filepath.Join(goroot, "pkg")
	}
	sources := map[string]string{"go_src/2026.10": src, "go_pkg/2026.09": pkg}
	root := e2e.NewDir(t)
	for name, source := range sources {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(source, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	provider, err := emulator.Start(emulator.Config{CustomerID: e2e.CustomerID, Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer provider.Close()
	h := e2e.NewHostOf(t, provider, "go_src", "go_pkg")
	h.ConfigureWith("transfers: {files: 16}")

	started := time.Now()
	r := h.Sync(0)
	t.Logf("a cold sync of %d + %d files took %s", r.Manifests[0].FilesTotal, r.Manifests[1].FilesTotal, time.Since(started))
	total := 0
	for name, source := range sources {
		want := sourceDigests(h, source)
		e2e.Same(h, name, want, h.Published(filepath.Dir(name)))
		total += len(want)
	}
	if total < 100 {
		t.Errorf("only %d files", total)
	}
	provider.ResetRequests()
	started = time.Now()
	r = h.Sync(0)
	t.Logf("a second sync took %s", time.Since(started))
	e2e.Same(h, "results", []string{"unchanged", "unchanged"}, []string{r.Manifests[0].Result, r.Manifests[1].Result})
	h.WantDownloads()
	h.Expect(0, "verify")
}

// sourceDigests returns the digests of the files below dir, by their published names.
func sourceDigests(h *e2e.Host, dir string) map[string]string {
	h.Helper()
	files := map[string]string{}
	h.Must(filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		files[strings.ReplaceAll(rel, "/", "~")] = h.DigestOf(path)
		return err
	}))
	return files
}
