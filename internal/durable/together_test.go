package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFewAndManyFilesAreMadeDurableTogether(t *testing.T) {
	for _, count := range []int{0, 1, many - 1, many} {
		dir := t.TempDir()
		var paths []string
		for i := range count {
			paths = append(paths, filepath.Join(dir, fmt.Sprint(i)))
			write(t, paths[i], "content")
		}
		if err := new(Disk).SyncFiles(paths); err != nil {
			t.Errorf("%d files: %v", count, err)
		}
	}
}

func TestAFileThatCannotBeMadeDurableFailsAllTogether(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "whole"), "content")
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(fifo, os.O_RDWR, 0) // else to open it for reading would wait
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for want, bad := range map[error]string{unix.EINVAL: fifo, fs.ErrNotExist: filepath.Join(dir, "none")} {
		if err := new(Disk).SyncFiles([]string{filepath.Join(dir, "whole"), bad}); !errors.Is(err, want) {
			t.Errorf("%s: %v", filepath.Base(bad), err)
		}
	}
}

func TestFoldersAreSyncedTogether(t *testing.T) {
	dir := t.TempDir()
	if err := new(Disk).SyncDirs([]string{dir, filepath.Dir(dir)}); err != nil {
		t.Error(err)
	}
	if err := new(Disk).SyncDirs([]string{dir, filepath.Join(dir, "none")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestOnlyKernelsThatTellWhatWentWrongSyncTheWhole(t *testing.T) {
	for release, want := range map[string]bool{
		"5.8.0": true, "5.8": true, "5.10.0-28-amd64": true, "6.1.0": true, "7": false, "10.0-rc1": true,
		"5.7.19": false, "4.19.0": false, "": false, "x.y": false, "5.": false, "5.-1": false,
	} {
		if got := releaseIsAtLeast(release, 5, 8); got != want {
			t.Errorf("%q: %t", release, got)
		}
	}
}

func TestOnlyFileSystemsThatKeepTheirPromiseAreSyncedAsAWhole(t *testing.T) {
	if syncsWhole("/proc") || syncsWhole(filepath.Join(t.TempDir(), "none")) {
		t.Error("proc, or what is not there, is synced as a whole")
	}
}

func TestWhatWaitsForTheDiskIsKnown(t *testing.T) {
	if got := dirtyBytes(); got < 0 || got > 1<<50 {
		t.Errorf("%d bytes", got)
	}
}
