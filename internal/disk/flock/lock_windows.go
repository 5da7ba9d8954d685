package flock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lock locks a byte far behind the process id, because others cannot read a locked byte.
func lock(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1})
}

func isHeld(err error) bool { return errors.Is(err, windows.ERROR_LOCK_VIOLATION) }

// isGone is false: no child inherits a lock.
func isGone(int) bool { return false }

// checkOwn is nil: access lists say who can write the file.
func checkOwn(*os.File) error { return nil }
