//go:build !windows

package fsops

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// write creates a file and its parent directories.
func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := OpenDir(path)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	list := []string{}
	for _, entry := range entries {
		list = append(list, entry.Name())
	}
	return list
}

// underUmask runs f with the umask mask. It changes the process: do not call t.Parallel.
func underUmask(mask int, f func()) {
	defer unix.Umask(unix.Umask(mask))
	f()
}

// text returns a function that writes s, for CreateFile.
func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func TestCreateFileSetsPermissionsWhateverTheUmask(t *testing.T) {
	for _, perm := range []fs.FileMode{0o444, 0o644, 0o600} {
		d := open(t, t.TempDir())
		path := d.Path("file")
		underUmask(0o077, func() {
			must(t, d.CreateFile("file", perm, text("text")))
		})
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != perm {
			t.Errorf("%v, %v; want %v", info.Mode(), err, perm)
		}
		if data, _ := os.ReadFile(path); string(data) != "text" {
			t.Errorf("content %q", data)
		}
	}
}

func TestCreateFileNeverTouchesAnExistingFile(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	write(t, path, "old")
	must(t, os.Symlink("elsewhere", link))
	for _, taken := range []string{"file", "link"} {
		if err := open(t, dir).CreateFile(taken, 0o644, text("new")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", taken, err)
		}
	}
	if data, _ := os.ReadFile(path); string(data) != "old" {
		t.Errorf("content %q", data)
	}
	if diff := cmp.Diff([]string{"file", "link"}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestEnsureDirSetsPermissionsOfNewAndExistingDirectories(t *testing.T) {
	d := open(t, t.TempDir())
	for _, perm := range []fs.FileMode{0o755, 0o700} {
		underUmask(0o077, func() {
			must(t, d.EnsureDir("dir", perm))
		})
		if info, err := os.Stat(d.Path("dir")); err != nil || info.Mode().Perm() != perm {
			t.Errorf("mode %v, %v; want %v", info.Mode(), err, perm)
		}
	}
}
