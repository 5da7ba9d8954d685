package fsops

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func exchange(a *Dir, aName string, b *Dir, bName string) error {
	return renameBetween(a, aName, b, bName, unix.RENAME_SWAP)
}

func moveNew(from *Dir, oldName string, to *Dir, newName string) error {
	return renameBetween(from, oldName, to, newName, unix.RENAME_EXCL)
}

func renameBetween(from *Dir, oldName string, to *Dir, newName string, flags uint32) error {
	return from.call(func(fd int) error {
		return to.call(func(toFD int) error { return unix.RenameatxNp(fd, oldName, toFD, newName, flags) })
	})
}

// clone refuses: APFS clones a file by its name only, and to is open already. The caller
// copies.
func clone(_, _ *os.File) error { return unix.ENOTSUP }

// StartWriteBack does nothing: macOS has no such call.
func StartWriteBack(*os.File, int64, int64) {}

// IsMountPoint is true for a directory that another file system is mounted on.
func IsMountPoint(path string) bool {
	var st, above unix.Stat_t
	if unix.Lstat(path, &st) != nil || unix.Lstat(filepath.Dir(path), &above) != nil {
		return false
	}
	return st.Dev != above.Dev
}

// IsReadOnly is true when nothing can be written to the file system.
func (d *Dir) IsReadOnly() bool {
	var st unix.Statfs_t
	return d != nil && d.call(func(fd int) error { return unix.Fstatfs(fd, &st) }) == nil && st.Flags&unix.MNT_RDONLY != 0
}

// Free returns the bytes and inodes that this user may still take.
func (d *Dir) Free() (bytes, inodes int64, err error) {
	if d == nil {
		return 0, 0, missing("statfs", ".")
	}
	var st unix.Statfs_t
	if err := d.call(func(fd int) error { return unix.Fstatfs(fd, &st) }); err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: d.Path(), Err: err}
	}
	return int64(st.Bavail) * int64(st.Bsize), int64(st.Ffree), nil
}

// Volume returns the size of the file system in bytes.
func (d *Dir) Volume() (int64, error) {
	if d == nil {
		return 0, missing("statfs", ".")
	}
	var st unix.Statfs_t
	if err := d.call(func(fd int) error { return unix.Fstatfs(fd, &st) }); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: d.Path(), Err: err}
	}
	return int64(st.Blocks) * int64(st.Bsize), nil
}

func permBits(perm fs.FileMode) uint16 { return uint16(perm) }
