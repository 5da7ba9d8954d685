package fsops

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

func exchange(a *Dir, aName string, b *Dir, bName string) error {
	return renameBetween(a, aName, b, bName, unix.RENAME_EXCHANGE)
}

func moveNew(from *Dir, oldName string, to *Dir, newName string) error {
	return renameBetween(from, oldName, to, newName, unix.RENAME_NOREPLACE)
}

func renameBetween(from *Dir, oldName string, to *Dir, newName string, flags uint) error {
	return from.call(func(fd int) error {
		return to.call(func(toFD int) error { return unix.Renameat2(fd, oldName, toFD, newName, flags) })
	})
}

// clone makes the empty file to share the blocks of from.
func clone(from, to *os.File) error { return unix.IoctlFileClone(int(to.Fd()), int(from.Fd())) }

// StartWriteBack asks the disk to begin writing n bytes of a file from offset on,
// and does not wait. A later fsync then has less to do, and reports any error.
func StartWriteBack(f *os.File, offset, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), offset, n, unix.SYNC_FILE_RANGE_WRITE)
}

// IsMountPoint is true for a directory that another file system is mounted on.
func IsMountPoint(path string) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, 0, &st)
	return err == nil && st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}

// Statfs describes the file system.
func (d *Dir) Statfs() (st unix.Statfs_t, err error) {
	if d == nil {
		return st, missing("statfs", ".")
	}
	if err := d.call(func(fd int) error { return unix.Fstatfs(fd, &st) }); err != nil {
		return st, &fs.PathError{Op: "statfs", Path: d.Path(), Err: err}
	}
	return st, nil
}

func permBits(perm fs.FileMode) uint32 { return uint32(perm) }

func volumeOf(d *Dir) (volume, error) {
	st, err := d.Statfs()
	if err != nil {
		return volume{}, err
	}
	v := volume{size: int64(st.Blocks) * st.Bsize, free: int64(st.Bavail) * st.Bsize, inodes: int64(st.Ffree), isReadOnly: st.Flags&unix.ST_RDONLY != 0} //nolint:gosec // no file system has 2^63 bytes
	if st.Files == 0 {
		v.inodes = -1
	}
	return v, nil
}
