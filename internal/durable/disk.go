// Package durable makes changes to a file system that survive a power cut: when a
// function returns nil, its change is on stable storage, in the order write, fsync,
// rename, fsync of the parent. A replacement is atomic, by rename(2) within one
// directory. Nothing is promised across file systems. The steps themselves are in
// package fsops.
package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"syncd/internal/fsops"
)

// Disk makes durable changes. The zero value is ready; safe for concurrent use.
type Disk struct {
	// Warn, if set, is called once when the file system refuses to sync directories.
	Warn func(message string)

	warned sync.Once
}

// SyncFile makes the bytes and permissions of a file durable. After an error the
// file may have lost bytes, and a second SyncFile may report success all the same:
// write a new file.
func SyncFile(f *os.File) error {
	return fsops.Step("fsync", f.Name(), func() error { return fsync(f) })
}

// SyncDir makes the entries of dir durable. Some network file systems answer
// EINVAL. Then only the order of the steps protects against a crash, and SyncDir
// calls Warn and returns nil.
func (d *Disk) SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	err = fsops.Step("fsync-dir", dir, func() error { return fsync(f) })
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		d.warned.Do(func() {
			if d.Warn != nil {
				d.Warn(fmt.Sprintf("the file system of %s cannot sync directories: a power cut may undo the newest publish, but never leaves half of one", dir))
			}
		})
		return nil
	}
	return err
}

// SyncTree makes the entries of every directory below root and of root itself
// durable, the deepest first. Sync the bytes of new files before.
func (d *Disk) SyncTree(root string) error {
	var dirs []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i := len(dirs) - 1; i >= 0; i-- { // WalkDir visits parents before their children
		if err := d.SyncDir(dirs[i]); err != nil {
			return err
		}
	}
	return nil
}

// Rename moves oldPath to newPath and syncs the parents of both. The content must
// be durable already.
func (d *Disk) Rename(oldPath, newPath string) error {
	if err := fsops.Rename(oldPath, newPath); err != nil {
		return err
	}
	if err := d.SyncDir(filepath.Dir(newPath)); err != nil {
		return err
	}
	if filepath.Dir(oldPath) == filepath.Dir(newPath) {
		return nil
	}
	return d.SyncDir(filepath.Dir(oldPath))
}

// ReplaceFile creates or replaces the file at path with the bytes that write
// produces, in one step for readers. It gets the permissions perm whatever the
// umask.
func (d *Disk) ReplaceFile(path string, perm fs.FileMode, write func(io.Writer) error) error {
	return d.replace(path, func(temp string) error {
		if err := fsops.CreateFile(temp, perm, write); err != nil {
			return err
		}
		return withFile(temp, SyncFile)
	})
}

// ReplaceSymlink creates or replaces the symlink at path, in one step for readers.
func (d *Disk) ReplaceSymlink(target, path string) error {
	return d.replace(path, func(temp string) error { return fsops.Symlink(target, temp) })
}

// replace creates a temporary file and renames it to path. If that fails, no
// temporary file stays: repeated attempts would fill the disk.
func (d *Disk) replace(path string, create func(temp string) error) error {
	temp := fsops.TempName(path)
	err := create(temp)
	if err == nil {
		err = d.Rename(temp, path)
	}
	if err != nil {
		os.Remove(temp)
	}
	return err
}
