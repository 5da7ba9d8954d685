package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

func fsync(f *os.File) error { return f.Sync() }

func fsyncDir(f *os.File) error { return f.Sync() }

func syncfs(f *os.File) error { return os.NewSyscallError("syncfs", unix.Syncfs(int(f.Fd()))) }

// checkWritten returns an error if the disk refused bytes of the file. The kernel
// reports such an error once for each file system: if another process calls syncfs
// first, our syncfs returns nil.
func checkWritten(fd int) error {
	return unix.SyncFileRange(fd, 0, 0, unix.SYNC_FILE_RANGE_WAIT_BEFORE)
}
