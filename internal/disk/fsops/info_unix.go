//go:build !windows

package fsops

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Info describes a file.
type Info struct{ stat unix.Stat_t }

// Info describes a file or symlink by one system call. It follows symlinks in the
// directories of a name with several segments.
func (d *Dir) Info(name string) (info Info, err error) {
	if d == nil {
		return info, missing("stat", name)
	}
	err = d.call(func(fd int) error { return unix.Fstatat(fd, name, &info.stat, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return info, &fs.PathError{Op: "stat", Path: d.Path(name), Err: err}
	}
	return info, nil
}

// Same is true if both describe the same file.
func (i Info) Same(other Info) bool {
	return i.stat.Dev == other.stat.Dev && i.stat.Ino == other.stat.Ino
}

// IsRegular is true for a regular file.
func (i Info) IsRegular() bool { return i.stat.Mode&unix.S_IFMT == unix.S_IFREG }

// IsOwn is true for a file of this process's user.
func (i Info) IsOwn() bool { return int(i.stat.Uid) == os.Geteuid() }

// Links is the number of names of a file.
func (i Info) Links() int { return int(i.stat.Nlink) }

// Size is the number of bytes of a file.
func (i Info) Size() int64 { return i.stat.Size }

// ModTime is the modification time in nanoseconds since 1970.
func (i Info) ModTime() int64 { return i.stat.Mtim.Nano() }

// Inode is the number of the file in its file system.
func (i Info) Inode() uint64 { return i.stat.Ino }

// Allocated is the number of bytes that the file takes on disk.
func (i Info) Allocated() int64 { return i.stat.Blocks * 512 } // st_blocks counts 512-byte units on every file system
