// Package fsops holds the single steps by which syncd changes the file system:
// create, write, rename, link, remove. Nothing in it is durable by itself: a power
// cut may undo any step, until package durable syncs the file and its directory.
//
// Every change that recovery must cope with goes through Step. A build with the
// tag torture kills the process, or fails, at each of them in turn.
package fsops

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// IsFull is true for errors of a file system that is full, or over this user's quota.
func IsFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// EnsureDir creates a directory unless it exists. It sets the permissions perm in both
// cases, whatever the umask: an earlier attempt may have ended between the two steps.
func EnsureDir(path string, perm fs.FileMode) error {
	err := Step("mkdir", path, func() error { return os.Mkdir(path, perm) })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return Chmod(path, perm)
}

// OpenFile is os.OpenFile as a step, for files that it may create.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	var f *os.File
	err := Step("create", path, func() (err error) {
		f, err = os.OpenFile(path, flag, perm)
		return err
	})
	if err != nil && f != nil {
		f.Close()
		return nil, err
	}
	return f, err
}

// CreateFile creates a file with the bytes that write produces. The file must not exist
// yet. It gets the permissions perm whatever the umask.
func CreateFile(path string, perm fs.FileMode, write func(io.Writer) error) error {
	f, err := OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer f.Close()
	err = Step("write", path, func() error {
		buffer := bufio.NewWriterSize(f, 64<<10)
		if err := write(buffer); err != nil {
			return err
		}
		return buffer.Flush()
	})
	if err != nil {
		return err
	}
	if err := Fchmod(f, perm); err != nil {
		return err
	}
	return f.Close()
}

// Truncate changes the size of a file as a step.
func Truncate(f *os.File, size int64) error {
	return Step("truncate", f.Name(), func() error { return f.Truncate(size) })
}

// Rename is os.Rename as a step.
func Rename(oldPath, newPath string) error {
	return Step("rename", newPath, func() error { return os.Rename(oldPath, newPath) })
}

// Symlink is os.Symlink as a step.
func Symlink(target, path string) error {
	return Step("symlink", path, func() error { return os.Symlink(target, path) })
}

// Chmod is os.Chmod as a step.
func Chmod(path string, perm fs.FileMode) error {
	return Step("chmod", path, func() error { return os.Chmod(path, perm) })
}

// Fchmod sets the permissions of an open file as a step.
func Fchmod(f *os.File, perm fs.FileMode) error {
	return Step("chmod", f.Name(), func() error { return f.Chmod(perm) })
}

// Remove is os.Remove as a step.
func Remove(path string) error {
	return Step("remove", path, func() error { return os.Remove(path) })
}

// RemoveAll is os.RemoveAll as a step.
func RemoveAll(path string) error {
	return Step("remove", path, func() error { return os.RemoveAll(path) })
}

// StartWriteBack asks the disk to begin writing n bytes of a file from offset on,
// and does not wait. A later fsync then has less to do, and reports any error.
func StartWriteBack(f *os.File, offset, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), offset, n, unix.SYNC_FILE_RANGE_WRITE)
}
