package durable

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"syncd/internal/disk/fsops"
)

// HasReliableSyncfs is true where syncfs(2) waits for the disk and reports write
// errors: local file systems, on Linux 5.8 and later.
func HasReliableSyncfs(dir *fsops.Dir) bool {
	st, err := dir.Statfs()
	if err != nil {
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

// releaseIsAtLeast compares a kernel release such as `6.1.0-18-amd64`.
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

// dirtyBytes returns how many bytes of all processes wait to be written to a disk;
// 0 if the kernel does not say.
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
