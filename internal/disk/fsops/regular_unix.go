//go:build !windows

package fsops

import (
	"io/fs"
	"syscall"
)

// withoutWaiting opens a FIFO although no program writes into it.
const withoutWaiting = syscall.O_NONBLOCK | syscall.O_NOCTTY

// PermOf returns what the file's owner, its group and others may do with it.
func PermOf(info fs.FileInfo) fs.FileMode { return info.Mode().Perm() }
