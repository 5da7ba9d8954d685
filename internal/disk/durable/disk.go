package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"syncd/internal/disk/fsops"
)

// Disk makes durable changes. The zero value is ready; safe for concurrent use.
type Disk struct {
	// Warn, if set, is called once when the file system refuses to sync directories.
	Warn func(message string)

	warned sync.Once

	syncing sync.Mutex // held by a syncfs; guards refused
	refused bool       // a syncfs has failed
}

// SyncFile makes the bytes and permissions of a file durable. After an error the
// file may have lost bytes, and a second SyncFile may report success all the same:
// write a new file.
func SyncFile(f *os.File) error {
	return fsops.Step("fsync", f.Name(), func() error { return fsync(f) })
}

// SyncDir makes the entries of a directory durable. Some network file systems answer
// EINVAL. Then only the order of the steps protects against a crash, and SyncDir
// calls Warn and returns nil.
func (d *Disk) SyncDir(dir *fsops.Dir, name string) error {
	f, err := dir.OpenList(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return d.syncDir(f)
}

func (d *Disk) syncDir(f *os.File) error {
	path := filepath.Clean(f.Name()) // without the /. of a directory that is synced by itself
	err := fsops.Step("fsync-dir", path, func() error { return fsyncDir(f) })
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		d.warned.Do(func() {
			if d.Warn != nil {
				d.Warn(fmt.Sprintf("the file system of %s cannot sync directories: a power cut may undo the newest publish, but never leaves half of one", path))
			}
		})
		return nil
	}
	return err
}

// Rename gives a file or directory another name and syncs the parents of both. The
// content must be durable already.
func (d *Disk) Rename(dir *fsops.Dir, oldName, newName string) error {
	if err := dir.Rename(oldName, newName); err != nil {
		return err
	}
	if err := d.SyncDir(dir, filepath.Dir(newName)); err != nil {
		return err
	}
	if filepath.Dir(oldName) == filepath.Dir(newName) {
		return nil
	}
	return d.SyncDir(dir, filepath.Dir(oldName))
}

// ReplaceFile creates or replaces a file with the bytes that write produces, in one
// step for readers. It gets the permissions perm whatever the umask.
func (d *Disk) ReplaceFile(dir *fsops.Dir, name string, perm fs.FileMode, write func(io.Writer) error) error {
	return d.replace(dir, name, d.Rename, wholeFile(dir, perm, write))
}

// NewFile is ReplaceFile for a name that must not exist: it replaces no file. The error is
// fs.ErrExist if there is one.
func (d *Disk) NewFile(dir *fsops.Dir, name string, perm fs.FileMode, write func(io.Writer) error) error {
	return d.replace(dir, name, d.moveNew, wholeFile(dir, perm, write))
}

// wholeFile creates files and makes their bytes durable.
func wholeFile(dir *fsops.Dir, perm fs.FileMode, write func(io.Writer) error) func(temp string) error {
	return func(temp string) error {
		if err := dir.CreateFile(temp, perm, write); err != nil {
			return err
		}
		return withFile(dir, temp, SyncFile)
	}
}

// moveNew is Rename within a folder to a name that must not exist.
func (d *Disk) moveNew(dir *fsops.Dir, oldName, newName string) error {
	if err := fsops.MoveNew(dir, oldName, dir, newName); err != nil {
		return err
	}
	err := d.SyncDir(dir, filepath.Dir(newName))
	if err != nil {
		fsops.DiscardFile(dir, newName)
	}
	return err
}

// ReplaceSymlink creates or replaces a symlink, in one step for readers.
func (d *Disk) ReplaceSymlink(dir *fsops.Dir, target, name string) error {
	return d.replace(dir, name, d.Rename, func(temp string) error { return dir.Symlink(target, temp) })
}

// replace creates a temporary file and gives it its name. If that fails, no temporary
// file stays: repeated attempts would fill the disk.
func (d *Disk) replace(dir *fsops.Dir, name string, rename func(dir *fsops.Dir, temp, name string) error, create func(temp string) error) error {
	temp := fsops.TempName(name)
	err := create(temp)
	if err == nil {
		err = rename(dir, temp, name)
	}
	if err != nil {
		fsops.DiscardFile(dir, temp)
	}
	return err
}
