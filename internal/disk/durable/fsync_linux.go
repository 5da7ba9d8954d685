package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

func fsync(f *os.File) error { return f.Sync() }

func fsyncDir(f *os.File) error { return f.Sync() }

func syncfs(f *os.File) error { return os.NewSyscallError("syncfs", unix.Syncfs(int(f.Fd()))) }

// checkWritten returns an error if the disk refused bytes of the file. The kernel tells a
// directory that is opened later of such an error only if nobody was told before: if another
// process has called syncfs, ours returns nil.
func checkWritten(fd int) error {
	return unix.SyncFileRange(fd, 0, 0, unix.SYNC_FILE_RANGE_WAIT_BEFORE)
}
