package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSyncFilesSyncsFewAndManyFiles(t *testing.T) {
	for _, count := range []int{0, 1, minSyncfs - 1, minSyncfs} {
		dir := t.TempDir()
		var names []string
		for i := range count {
			names = append(names, fmt.Sprint(i))
			write(t, filepath.Join(dir, names[i]), "content")
		}
		if err := new(Disk).SyncFiles(open(t, dir), names); err != nil {
			t.Errorf("%d files: %v", count, err)
		}
	}
}

func TestSyncFilesFailsIfOneFileFails(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "whole"), "content")
	fifo := filepath.Join(dir, "fifo")
	must(t, unix.Mkfifo(fifo, 0o600))
	held, err := os.OpenFile(fifo, os.O_RDWR, 0) // without a writer, opening it for reading blocks
	must(t, err)
	defer held.Close()
	for want, bad := range map[error]string{unix.EINVAL: "fifo", fs.ErrNotExist: "none"} {
		if err := new(Disk).SyncFiles(open(t, dir), []string{"whole", bad}); !errors.Is(err, want) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestSyncDirsFailsForAMissingDirectory(t *testing.T) {
	dir := open(t, t.TempDir())
	must(t, dir.EnsureDir("sub", 0o755))
	if err := new(Disk).SyncDirs(dir, []string{"sub", "."}); err != nil {
		t.Error(err)
	}
	if err := new(Disk).SyncDirs(dir, []string{"sub", "none"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestKernelReleasesAreCompared(t *testing.T) {
	for release, want := range map[string]bool{
		"5.8.0": true, "5.8": true, "5.10.0-28-amd64": true, "6.1.0": true, "7": false, "10.0-rc1": true,
		"5.7.19": false, "4.19.0": false, "": false, "x.y": false, "5.": false, "5.-1": false,
	} {
		if got := releaseIsAtLeast(release, 5, 8); got != want {
			t.Errorf("%q: %t", release, got)
		}
	}
}

func TestSyncfsIsUsedOnlyOnKnownFileSystems(t *testing.T) {
	if HasReliableSyncfs(open(t, "/proc")) || HasReliableSyncfs(nil) {
		t.Error("syncfs is used on /proc or on a missing directory")
	}
}

func TestSyncfsWaitsForMoreBytesOfOthersTheMoreFilesItSyncs(t *testing.T) {
	for _, row := range []struct {
		files int
		dirty int64
		want  bool
	}{
		{minSyncfs, 0, true}, {minSyncfs, 63 << 20, true}, {minSyncfs, 64 << 20, false},
		{1000, 200 << 20, true}, {1000, 300 << 20, false}, {250_000, 2 << 30, true},
	} {
		if got := isWorthSyncfs(row.files, row.dirty); got != row.want {
			t.Errorf("%d files beside %d dirty bytes: %t", row.files, row.dirty, got)
		}
	}
}

func TestDirtyBytesArePlausible(t *testing.T) {
	if got := dirtyBytes(); got < 0 || got > 1<<50 {
		t.Errorf("%d bytes", got)
	}
}

// The disk under the file system fails: its image lies on a tmpfs that has less room
// than the image claims.
func TestSyncFilesReportsBytesThatTheDiskRefusedAfterAnotherSyncfs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: loop mounts need root")
	}
	if _, err := exec.LookPath("mkfs.ext4"); err != nil {
		t.Skip("NOT TESTED: no mkfs.ext4: install e2fsprogs")
	}
	room, mounted := t.TempDir(), t.TempDir()
	run(t, "mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", room)
	t.Cleanup(func() { run(t, "umount", room) })
	image := filepath.Join(room, "image")
	run(t, "truncate", "-s", "256M", image)
	run(t, "mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", image)
	if out, err := exec.Command("mount", "-o", "loop,nodiscard", image, mounted).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: no loop mount here: %s", out)
	}
	t.Cleanup(func() { run(t, "umount", mounted) })
	other, err := os.Open(mounted)
	must(t, err)
	defer other.Close()
	before := open(t, mounted)
	var names []string
	for i := range minSyncfs {
		names = append(names, fmt.Sprint(i))
		write(t, filepath.Join(mounted, names[i]), strings.Repeat("x", 64<<10))
	}
	if err := unix.Syncfs(int(other.Fd())); err == nil {
		t.Fatal("the other syncfs reported no error: the disk did not fail")
	}
	disk := new(Disk)
	if err := disk.SyncNewFiles(before, names); err == nil {
		t.Error("SyncNewFiles returned nil for files that the disk refused")
	}
	if err := disk.SyncNewFiles(before, names); err == nil {
		t.Error("SyncNewFiles returned nil for files of another batch that the disk refused")
	}
	if err := new(Disk).SyncFiles(open(t, mounted), names); err == nil {
		t.Error("SyncFiles returned nil for files that the disk refused")
	}
}

func run(t *testing.T, command ...string) {
	t.Helper()
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
}
