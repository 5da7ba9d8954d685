package fsops

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/windows"
)

// Windows has neither flag.
const (
	nonblocking   = 0
	directoryOnly = 0
)

// IsFull is true for errors of a file system that is full, or over this user's quota.
func IsFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) || errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}

// OwnerOf returns false: access lists say who may use a file.
func OwnerOf(fs.FileInfo) (uid, gid int, ok bool) { return -1, -1, false }

// CheckWritable is nil: only an attempt shows whether access lists let this user write.
func CheckWritable(string) error { return nil }

func hasPerm(*os.File, fs.FileMode) bool { return false }

func hasGroup(*os.File, int) bool { return true }

// exchange refuses: Windows cannot exchange two directories in one step.
func exchange(*Dir, string, *Dir, string) error { return syscall.ENOSYS }

// move waits until the disk has the new name: Windows cannot make a directory durable.
func move(from *Dir, oldName string, to *Dir, newName string) error {
	return moveFile(from.Path(oldName), to.Path(newName), windows.MOVEFILE_REPLACE_EXISTING)
}

func moveNew(from *Dir, oldName string, to *Dir, newName string) error {
	return moveFile(from.Path(oldName), to.Path(newName), 0)
}

func moveFile(from, to string, flags uint32) error {
	old, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return err
	}
	name, err := windows.UTF16PtrFromString(to)
	if err != nil {
		return err
	}
	return windows.MoveFileEx(old, name, flags|windows.MOVEFILE_WRITE_THROUGH)
}

func link(from *os.File, oldName string, to *os.File, newName string) error {
	return os.Link(filepath.Join(from.Name(), oldName), filepath.Join(to.Name(), newName))
}

// clone refuses, and the caller copies.
func clone(_, _ *os.File) error { return syscall.EOPNOTSUPP }

// StartWriteBack does nothing: Windows has no such call.
func StartWriteBack(*os.File, int64, int64) {}

// IsMountPoint is false: a mounted folder is a reparse point there, as a symlink is.
func IsMountPoint(string) bool { return false }

// MountPoint returns "/" for every path: nothing is remembered.
func MountPoint(string) (string, error) { return "/", nil }

func openIn(dir *os.File, name string, flag int) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir.Name(), name), flag, 0o600)
}

func (h *handle) open(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return h.root.OpenFile(name, flag, perm)
}

// Use opens a file for the system calls that do makes.
func (d *Dir) Use(name string, do func(fd int) error) error {
	f, err := d.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return do(int(f.Fd()))
}

// remove falls back to a path: Wine and some drivers lack the call of os.Root.
func remove(d *Dir, name string) error {
	err := d.root.Remove(name)
	if errors.Is(err, windows.ERROR_INVALID_FUNCTION) {
		return removePath(d, name)
	}
	return err
}

func removePath(d *Dir, name string) error {
	err := os.Remove(d.Path(name))
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		path.Path = name
	}
	return err
}

func removeAll(d *Dir, name string) error {
	err := d.root.RemoveAll(name)
	if !errors.Is(err, windows.ERROR_INVALID_FUNCTION) {
		return err
	}
	if info, err := d.Lstat(name); err == nil && info.IsDir() {
		names, err := d.Names(name)
		if err != nil {
			return err
		}
		for _, entry := range names {
			if err := removeAll(d, filepath.Join(name, entry)); err != nil {
				return err
			}
		}
	}
	return removePath(d, name)
}

// volumeOf describes a volume, which is never mounted for reading alone.
func volumeOf(d *Dir) (volume, error) {
	if d == nil {
		return volume{}, missing("volume", ".")
	}
	path, err := windows.UTF16PtrFromString(d.Path())
	if err != nil {
		return volume{}, err
	}
	var free, size uint64
	if err := windows.GetDiskFreeSpaceEx(path, &free, &size, nil); err != nil {
		return volume{}, &fs.PathError{Op: "volume", Path: d.Path(), Err: err}
	}
	return volume{size: int64(size), free: int64(free), inodes: -1}, nil
}
