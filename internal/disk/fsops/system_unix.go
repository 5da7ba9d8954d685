//go:build !windows

package fsops

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	nonblocking   = unix.O_NONBLOCK // opening a FIFO does not wait
	directoryOnly = unix.O_DIRECTORY
)

// IsFull is true for errors of a file system that is full, or over this user's quota.
func IsFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// OwnerOf returns the user and the group of a file; ok is false where files have none.
func OwnerOf(info fs.FileInfo) (uid, gid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, -1, false
	}
	return int(st.Uid), int(st.Gid), true
}

// CheckWritable is nil when this user can make files in the directory at path.
func CheckWritable(path string) error { return unix.Access(path, unix.W_OK) }

// CheckName is nil for a name that means the file of this name and no other one.
func CheckName(string) error { return nil }

func hasPerm(f *os.File, perm fs.FileMode) bool { return descriptorHasPerm(int(f.Fd()), perm) }

func descriptorHasPerm(fd int, perm fs.FileMode) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&^unix.S_IFMT == permBits(perm)
}

func hasGroup(f *os.File, gid int) bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && st.Gid == uint32(gid)
}

func move(from *Dir, oldName string, to *Dir, newName string) error {
	return from.call(func(fd int) error {
		return to.call(func(toFD int) error { return unix.Renameat(fd, oldName, toFD, newName) })
	})
}

func link(from *os.File, oldName string, to *os.File, newName string) error {
	return unix.Linkat(int(from.Fd()), oldName, int(to.Fd()), newName, 0)
}

func remove(d *Dir, name string) error    { return d.root.Remove(name) }
func removeAll(d *Dir, name string) error { return d.root.RemoveAll(name) }

// openIn opens a file in an open directory and follows no symlink.
func openIn(dir *os.File, name string, flag int) (*os.File, error) {
	path := filepath.Join(dir.Name(), name)
	fd, err := openat(int(dir.Fd()), name, flag, 0o600)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openat opens a file in an open directory and follows no symlink.
func openat(dir int, name string, flag int, perm fs.FileMode) (fd int, err error) {
	for {
		fd, err = unix.Openat(dir, name, flag|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(perm.Perm()))
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// MountPoint returns the directory at which the file system of a path is mounted, "/" for
// that of the root. For a path that does not exist, its nearest directory above counts. A
// bind mount of the same file system is none.
func MountPoint(path string) (string, error) {
	stat := func(path string) (st unix.Stat_t, err error) {
		if err := unix.Stat(path, &st); err != nil {
			return st, &fs.PathError{Op: "stat", Path: path, Err: err}
		}
		return st, nil
	}
	at, err := stat(path)
	for ; errors.Is(err, fs.ErrNotExist) && path != "/"; at, err = stat(path) {
		path = filepath.Dir(path)
	}
	for err == nil && path != "/" {
		var above unix.Stat_t
		if above, err = stat(filepath.Dir(path)); err == nil && above.Dev != at.Dev {
			break
		}
		path = filepath.Dir(path)
	}
	return path, err
}
