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
