//go:build !windows

package fsops

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// openDir opens a directory that holds the read-only file "old".
func openDir(t *testing.T) (dir string, folder *os.File) {
	t.Helper()
	dir = t.TempDir()
	write(t, filepath.Join(dir, "old"), "content")
	must(t, os.Chmod(filepath.Join(dir, "old"), 0o444))
	folder, err := os.Open(dir)
	must(t, err)
	t.Cleanup(func() { folder.Close() })
	return dir, folder
}

// wantCopy requires a second file with the content and permissions of the first.
func wantCopy(t *testing.T, old, new string) {
	t.Helper()
	a, err := os.Stat(old)
	must(t, err)
	b, err := os.Stat(new)
	must(t, err)
	data, _ := os.ReadFile(new)
	if os.SameFile(a, b) || b.Mode() != a.Mode() || string(data) != "content" {
		t.Errorf("same file %v, mode %v, content %q", os.SameFile(a, b), b.Mode(), data)
	}
}

func TestLinkGivesTheFileASecondName(t *testing.T) {
	dir, folder := openDir(t)
	if copied, err := Link(folder, "old", folder, "new"); copied || err != nil {
		t.Fatal(copied, err)
	}
	a, _ := os.Stat(filepath.Join(dir, "old"))
	b, err := os.Stat(filepath.Join(dir, "new"))
	if err != nil || !os.SameFile(a, b) {
		t.Errorf("not one file: %v", err)
	}
}

func TestLinkNeverCopiesOverATakenNameOrOutsideTheDirectory(t *testing.T) {
	dir, folder := openDir(t)
	write(t, filepath.Join(dir, "taken"), "mine")
	if _, err := Link(folder, "old", folder, "taken"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("taken: %v", err)
	}
	if _, err := Link(folder, "missing", folder, "new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	outside := filepath.Join(filepath.Dir(dir), "outside")
	if _, err := Link(folder, "old", folder, "../outside"); err == nil {
		t.Error("a name outside the root was made")
	}
	must(t, os.Symlink(filepath.Dir(dir), filepath.Join(dir, "exit")))
	if _, err := Link(folder, "old", folder, "exit/outside"); err == nil {
		t.Error("a symlink led out of the root")
	}
	if _, err := os.Lstat(outside); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("outside: %v", err)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "taken")); string(data) != "mine" {
		t.Errorf("taken holds %q", data)
	}
}

func TestCopyKeepsContentAndPermissionsWhateverTheUmask(t *testing.T) {
	dir, folder := openDir(t)
	underUmask(0o077, func() {
		must(t, copyBetween(folder, "old", folder, "new"))
	})
	wantCopy(t, filepath.Join(dir, "old"), filepath.Join(dir, "new"))
	if err := copyBetween(folder, "old", folder, "new"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second time: %v", err)
	}
}

func TestLinkCopiesAFileAtItsLinkLimit(t *testing.T) {
	const reasonable = 66_000 // ext4 allows 65 000
	if testing.Short() {
		t.Skip("NOT TESTED: this makes thousands of links, too many for -short")
	}
	dir, folder := openDir(t)
	old := filepath.Join(dir, "old")
	must(t, os.Mkdir(filepath.Join(dir, "links"), 0o755))
	for i := range reasonable {
		err := os.Link(old, filepath.Join(dir, "links", fmt.Sprint(i)))
		if errors.Is(err, unix.EMLINK) {
			break
		}
		must(t, err)
		if i == reasonable-1 {
			t.Skipf("NOT TESTED: this file system allows more than %d links to a file", reasonable)
		}
	}
	if copied, err := Link(folder, "old", folder, "new"); !copied || err != nil {
		t.Fatal(copied, err)
	}
	wantCopy(t, old, filepath.Join(dir, "new"))
}
