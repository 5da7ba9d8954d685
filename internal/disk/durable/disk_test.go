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

	"syncd/internal/disk/fsops"
)

// write creates a file and its parent directories.
func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func open(t *testing.T, path string) *fsops.Dir {
	t.Helper()
	d, err := fsops.OpenDir(path)
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

func TestRenameReplacesAcrossDirectories(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a", "new"), "new")
	write(t, filepath.Join(dir, "b", "file"), "old")
	must(t, new(Disk).Rename(open(t, dir), "a/new", "b/file"))
	if data, _ := os.ReadFile(filepath.Join(dir, "b", "file")); string(data) != "new" {
		t.Errorf("content %q", data)
	}
	if err := new(Disk).Rename(open(t, dir), "missing", "b/file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing source: %v", err)
	}
}

func TestSyncDirWaitsForNoFIFO(t *testing.T) {
	dir := t.TempDir()
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	if err := new(Disk).SyncDir(open(t, dir), "fifo"); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("%v", err)
	}
}

func TestReplaceFileCreatesAndReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	var disk Disk
	for _, text := range []string{"first", "second"} {
		err := disk.ReplaceFile(open(t, dir), "file", 0o600, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		data, _ := os.ReadFile(path)
		if info, statErr := os.Stat(path); err != nil || statErr != nil || string(data) != text || info.Mode().Perm() != 0o600 {
			t.Errorf("content %q, mode %v, %v", data, info.Mode(), errors.Join(err, statErr))
		}
	}
	if diff := cmp.Diff([]string{"file"}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestReplaceFileKeepsTheOldFileWhenWritingFails(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "old")
	failed := errors.New("no more bytes")
	err := new(Disk).ReplaceFile(open(t, dir), "file", 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, "new")
		return errors.Join(err, failed)
	})
	if data, _ := os.ReadFile(filepath.Join(dir, "file")); !errors.Is(err, failed) || string(data) != "old" {
		t.Errorf("content %q, %v", data, err)
	}
	if diff := cmp.Diff([]string{"file"}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestReplaceSymlinkNeverHidesTheTargetFromReaders(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "current")
	for i := range 2 {
		write(t, filepath.Join(dir, fmt.Sprint(i), "file"), fmt.Sprint(i))
	}
	var disk Disk
	d := open(t, dir)
	must(t, disk.ReplaceSymlink(d, "0", "current"))
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
		if err := disk.ReplaceSymlink(d, fmt.Sprint(i%2), "current"); err != nil {
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

func TestReplaceSymlinkLeavesNoTempNameWhenItFails(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "current", "file"), "a directory of the operator")
	if err := new(Disk).ReplaceSymlink(open(t, dir), "0", "current"); err == nil {
		t.Error("ReplaceSymlink replaced a directory")
	}
	if diff := cmp.Diff([]string{"current"}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestSyncDirWarnsOnceIfTheFileSystemCannotSyncDirectories(t *testing.T) {
	const proc = "/proc/self"
	f, err := os.Open(proc)
	if err != nil {
		t.Skipf("NOT TESTED: no %s here: %v", proc, err)
	}
	defer f.Close()
	if err := f.Sync(); !errors.Is(err, unix.EINVAL) {
		t.Skipf("NOT TESTED: %s answers fsync with %v here", proc, err)
	}
	var warnings []string
	disk := Disk{Warn: func(message string) { warnings = append(warnings, message) }}
	for range 3 {
		must(t, disk.SyncDir(open(t, proc), "."))
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], proc) {
		t.Errorf("warnings %q", warnings)
	}
	if err := new(Disk).SyncDir(open(t, proc), "."); err != nil {
		t.Errorf("without Warn: %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
