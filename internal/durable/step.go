package durable

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Every change of a file system that recovery has to answer for is one step, made
// by this package, so that a build with the tag torture can end the process or
// fail at each of them. The functions below are bare steps: nothing is synced.

// Mkdir is os.Mkdir as a step.
func Mkdir(path string, perm fs.FileMode) error {
	return step("mkdir", path, func() error { return os.Mkdir(path, perm) })
}

// OpenFile is os.OpenFile as a step, for files that may have to be created.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	var f *os.File
	err := step("create", path, func() (err error) {
		f, err = os.OpenFile(path, flag, perm)
		return err
	})
	if err != nil && f != nil {
		f.Close()
		return nil, err
	}
	return f, err
}

// Truncate changes the size of a file as a step.
func Truncate(f *os.File, size int64) error {
	return step("truncate", f.Name(), func() error { return f.Truncate(size) })
}

// Rename is os.Rename as a step; Disk.Rename syncs too.
func Rename(oldPath, newPath string) error {
	return step("rename", newPath, func() error { return os.Rename(oldPath, newPath) })
}

// Symlink is os.Symlink as a step.
func Symlink(target, path string) error {
	return step("symlink", path, func() error { return os.Symlink(target, path) })
}

// Chmod is os.Chmod as a step.
func Chmod(path string, perm fs.FileMode) error {
	return step("chmod", path, func() error { return os.Chmod(path, perm) })
}

// Fchmod sets the permissions of an open file as a step.
func Fchmod(f *os.File, perm fs.FileMode) error {
	return step("chmod", f.Name(), func() error { return f.Chmod(perm) })
}

// Remove is os.Remove as a step.
func Remove(path string) error {
	return step("remove", path, func() error { return os.Remove(path) })
}

// RemoveAll is os.RemoveAll as a step.
func RemoveAll(path string) error {
	return step("remove", path, func() error { return os.RemoveAll(path) })
}

// SyncFile makes the bytes of a file durable. After an error nothing is known of
// them, and another try could report success for bytes that were dropped: write a
// new file.
func SyncFile(f *os.File) error {
	return step("fsync", f.Name(), func() error { return fsync(f) })
}

// StartWriteBack has the disk begin to write n bytes of a file from offset on, and
// does not wait: a later SyncFile finds less to do. It promises nothing.
func StartWriteBack(f *os.File, offset, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), offset, n, unix.SYNC_FILE_RANGE_WRITE) // SyncFile tells what went wrong
}

// Commit runs the transaction of a database at path as a step.
func Commit(path string, transaction func() error) error {
	return step("commit", path, transaction)
}
