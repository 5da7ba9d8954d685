package fsops

import (
	"io/fs"
	"os"
)

// Info describes a file.
type Info struct{ info fs.FileInfo }

// Info describes a file or symlink. It follows symlinks in the directories of a name with
// several segments.
func (d *Dir) Info(name string) (Info, error) {
	info, err := d.Lstat(name)
	return Info{info}, err
}

// Same is true if both describe the same file.
func (i Info) Same(other Info) bool { return os.SameFile(i.info, other.info) }

// IsRegular is true for a regular file.
func (i Info) IsRegular() bool { return i.info.Mode().IsRegular() }

// IsOwn is true: access lists say who may change a file.
func (Info) IsOwn() bool { return true }

// Links is 1: Windows does not tell the number of names with the other facts.
func (Info) Links() int { return 1 }

// Size is the number of bytes of a file.
func (i Info) Size() int64 { return i.info.Size() }

// ModTime is the modification time in nanoseconds since 1970.
func (i Info) ModTime() int64 { return i.info.ModTime().UnixNano() }

// Inode is 0: Windows does not tell the number of a file with the other facts.
func (Info) Inode() uint64 { return 0 }

// Allocated is the size, because Windows does not tell the number of bytes on the disk.
func (i Info) Allocated() int64 { return i.info.Size() }
