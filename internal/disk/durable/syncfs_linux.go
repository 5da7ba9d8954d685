package durable

import (
	"errors"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
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
func dirtyBytes() (sum int64) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return 0
	}
	memory, err := proc.Meminfo()
	if err != nil {
		return 0
	}
	for _, bytes := range []*uint64{memory.DirtyBytes, memory.WritebackBytes} {
		if bytes != nil {
			sum += int64(*bytes)
		}
	}
	return sum
}
