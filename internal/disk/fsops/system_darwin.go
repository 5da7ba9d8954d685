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

func permBits(perm fs.FileMode) uint16 { return uint16(perm) }

func volumeOf(d *Dir) (volume, error) {
	if d == nil {
		return volume{}, missing("statfs", ".")
	}
	var st unix.Statfs_t
	if err := d.call(func(fd int) error { return unix.Fstatfs(fd, &st) }); err != nil {
		return volume{}, &fs.PathError{Op: "statfs", Path: d.Path(), Err: err}
	}
	size := int64(st.Bsize)
	return volume{size: int64(st.Blocks) * size, free: int64(st.Bavail) * size, inodes: int64(st.Ffree), isReadOnly: st.Flags&unix.MNT_RDONLY != 0}, nil
}
