//go:build !nofsync

package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// NoFsync is true in builds that exist to show that the tests of power cuts can
// fail.
const NoFsync = false

func fsync(f *os.File) error { return f.Sync() }

func syncfs(f *os.File) error { return os.NewSyscallError("syncfs", unix.Syncfs(int(f.Fd()))) }

// checkWritten tells whether the disk refused bytes of a file. A file system tells
// of that once: where another process's syncfs has heard it, ours does not.
func checkWritten(f *os.File) error {
	err := unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WAIT_BEFORE)
	if err != nil {
		return &os.PathError{Op: "write", Path: f.Name(), Err: err}
	}
	return nil
}
