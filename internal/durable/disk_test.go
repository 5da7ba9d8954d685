package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// write creates a file and its folders.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// names lists a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for _, entry := range entries {
		list = append(list, entry.Name())
	}
	return list
}

// underUmask runs f with another umask. Tests that use it do not run in parallel.
func underUmask(mask int, f func()) {
	defer unix.Umask(unix.Umask(mask))
	f()
}

// texts writes a text as WriteFile wants it.
func texts(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func TestWriteFileMakesANewFileWithItsPermissionsWhateverTheUmask(t *testing.T) {
	for _, perm := range []fs.FileMode{0o444, 0o644, 0o600} {
		path := filepath.Join(t.TempDir(), "file")
		underUmask(0o077, func() {
			if err := new(Disk).WriteFile(path, perm, texts("text")); err != nil {
				t.Fatal(err)
			}
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

func TestWriteFileNeverTouchesAFileThatExists(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	write(t, path, "old")
	if err := os.Symlink("elsewhere", link); err != nil {
		t.Fatal(err)
	}
	for _, taken := range []string{path, link} {
		if err := new(Disk).WriteFile(taken, 0o644, texts("new")); !errors.Is(err, fs.ErrExist) {
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

func TestChmodSetsPermissionsAndKeepsContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "text")
	if err := new(Disk).Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o444 || info.Size() != 4 {
		t.Errorf("%v, %v", info, err)
	}
	if err := new(Disk).Chmod(path+"-missing", 0o444); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func TestRenameReplacesWithinAndAcrossFolders(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a", "new"), "new")
	write(t, filepath.Join(dir, "b", "file"), "old")
	if err := new(Disk).Rename(filepath.Join(dir, "a", "new"), filepath.Join(dir, "b", "file")); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "b", "file")); string(data) != "new" {
		t.Errorf("content %q", data)
	}
	if err := new(Disk).Rename(filepath.Join(dir, "missing"), filepath.Join(dir, "b", "file")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing source: %v", err)
	}
}

func TestReadersOfAReplacedSymlinkAlwaysFindATarget(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "current")
	for i := range 2 {
		write(t, filepath.Join(dir, fmt.Sprint(i), "file"), fmt.Sprint(i))
	}
	var disk Disk
	if err := disk.ReplaceSymlink("0", link); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var readers sync.WaitGroup
	started := make(chan struct{}, 2)
	for range 2 {
		readers.Go(func() {
			for first := true; !stop.Load(); first = false {
				if data, err := os.ReadFile(filepath.Join(link, "file")); err != nil || len(data) != 1 {
					t.Errorf("read %q, %v", data, err)
					stop.Store(true)
				}
				if first {
					started <- struct{}{}
				}
			}
		})
	}
	<-started
	<-started
	for i := range 300 {
		if err := disk.ReplaceSymlink(fmt.Sprint(i%2), link); err != nil {
			t.Error(err)
			break
		}
	}
	stop.Store(true)
	readers.Wait()
	if diff := cmp.Diff([]string{"0", "1", "current"}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestReplaceSymlinkLeavesNothingWhereItCannotReplace(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "current", "file"), "a folder of the operator's")
	if err := new(Disk).ReplaceSymlink("0", filepath.Join(dir, "current")); err == nil {
		t.Error("a folder was replaced")
	}
	if diff := cmp.Diff([]string{"current"}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestTempNamesAreUniqueSiblingsThatSweepTempsRemoves(t *testing.T) {
	dir := t.TempDir()
	seen := map[string]bool{}
	for range 100 {
		temp := TempName(filepath.Join(dir, "000007"))
		if seen[temp] || filepath.Dir(temp) != dir {
			t.Fatalf("temporary name %s", temp)
		}
		seen[temp] = true
	}
	write(t, TempName(filepath.Join(dir, "file")), "x")
	write(t, filepath.Join(TempName(filepath.Join(dir, "tree")), "sub", "file"), "x")
	if err := os.Symlink("nowhere", TempName(filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "kept"), "x")
	write(t, filepath.Join(dir, "tree", ".tmp-within"), "x")
	for range 2 {
		if err := SweepTemps(dir); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"kept", "tree"}, names(t, dir)); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff([]string{".tmp-within"}, names(t, filepath.Join(dir, "tree"))); diff != "" {
		t.Error(diff)
	}
	if err := SweepTemps(filepath.Join(dir, "missing")); err != nil {
		t.Errorf("missing folder: %v", err)
	}
}

func TestRemoveTreeRemovesReadOnlyFilesAndIsCalmAboutAMissingOne(t *testing.T) {
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	write(t, filepath.Join(tree, "sub", "file"), "x")
	if err := os.Chmod(filepath.Join(tree, "sub", "file"), 0o444); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := new(Disk).RemoveTree(tree); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{}, names(t, dir)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSyncTreeSyncsRealFoldersAndReportsAMissingOne(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a", "b", "file"), "x")
	disk := Disk{Warn: func(message string) { t.Error(message) }}
	if err := disk.SyncTree(dir); err != nil {
		t.Error(err)
	}
	if err := disk.SyncTree(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
}

func TestAFileSystemThatCannotSyncFoldersIsWarnedAboutOnce(t *testing.T) {
	const proc = "/proc/self"
	f, err := os.Open(proc)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	if err := f.Sync(); !errors.Is(err, unix.EINVAL) {
		t.Skipf("%s answers fsync with %v here", proc, err)
	}
	var warnings []string
	disk := Disk{Warn: func(message string) { warnings = append(warnings, message) }}
	for range 3 {
		if err := disk.SyncDir(proc); err != nil {
			t.Fatal(err)
		}
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], proc) {
		t.Errorf("warnings %q", warnings)
	}
	if err := new(Disk).SyncDir(proc); err != nil {
		t.Errorf("without anyone to tell: %v", err)
	}
}
