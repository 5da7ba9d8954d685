package durable

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"syncd/internal/fsops"
)

const (
	// many is from how many files on one sync of the file system costs less than
	// one of each.
	many = 256
	// parallel is how many files are synced at once where each is by itself: the
	// file system writes its journal once for those that wait together.
	parallel = 16
	// busy is how many bytes may wait for the disk, of whatever process, before a
	// sync of the file system would have to wait for others than ours.
	busy = 64 << 20
)

// SyncFiles makes the bytes and permissions of closed files of one file system
// durable, together. After an error nothing is known of any of them, see SyncFile.
func (d *Disk) SyncFiles(paths []string) error {
	if !wantsWhole(paths) {
		return syncEach(paths, func(path string) error { return withFile(path, SyncFile) })
	}
	if err := syncFileSystem(filepath.Dir(paths[0])); err != nil {
		return err
	}
	for _, path := range paths {
		if err := withFile(path, checkWritten); err != nil {
			return err
		}
	}
	return nil
}

// SyncDirs makes the entries of directories of one file system durable, together.
func (d *Disk) SyncDirs(dirs []string) error {
	if wantsWhole(dirs) {
		return syncFileSystem(filepath.Dir(dirs[0]))
	}
	return syncEach(dirs, d.SyncDir)
}

// wantsWhole is true when one sync of the file system costs less than one of each.
func wantsWhole(paths []string) bool {
	return len(paths) >= many && syncsWhole(filepath.Dir(paths[0])) && dirtyBytes() < busy
}

func syncEach(paths []string, syncOne func(path string) error) error {
	var group errgroup.Group
	if group.SetLimit(parallel); len(paths) < parallel {
		group.SetLimit(1) // a few take no time, and their order is worth more
	}
	for _, path := range paths {
		group.Go(func() error { return syncOne(path) })
	}
	return group.Wait()
}

func withFile(path string, do func(*os.File) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return do(f)
}

func syncFileSystem(dir string) error {
	return withFile(dir, func(f *os.File) error {
		return fsops.Step("syncfs", dir, func() error { return syncfs(f) })
	})
}

// syncsWhole is true where syncfs(2) is known to make everything durable and to
// tell what went wrong: local file systems, on Linux 5.8 and later.
func syncsWhole(dir string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return kernelIsAtLeast(5, 8)
	}
	return false
}

func kernelIsAtLeast(major, minor int) bool {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return false
	}
	return releaseIsAtLeast(unix.ByteSliceToString(name.Release[:]), major, minor)
}

// releaseIsAtLeast reads a kernel's release, as `6.1.0-18-amd64`.
func releaseIsAtLeast(release string, major, minor int) bool {
	first, rest, _ := strings.Cut(release, ".")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	x, err := strconv.Atoi(first)
	y, err2 := strconv.Atoi(rest[:end])
	if errors.Join(err, err2) != nil {
		return false
	}
	return x > major || x == major && y >= minor
}

// dirtyBytes is how much of all that processes wrote waits for a disk; 0 where the
// kernel does not tell.
func dirtyBytes() int64 {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	var sum int64
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if name != "Dirty" && name != "Writeback" {
			continue
		}
		kilobytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 64)
		if err == nil {
			sum += kilobytes << 10
		}
	}
	return sum
}
