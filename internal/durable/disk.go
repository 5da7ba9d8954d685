// Package durable makes changes to a file system that survive a power cut: a
// function that returns nil has put its change on stable storage, in the order
// write, fsync, rename, fsync of the parent. Atomic replacement is by rename(2)
// within one directory; nothing is promised across file systems.
package durable

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// tempPrefix marks what is unfinished. A crash leaves such names behind, and
// SweepTemps finds them.
const tempPrefix = ".tmp-"

// Disk makes durable changes. The zero value is ready; safe for concurrent use.
type Disk struct {
	// Warn, if set, is told once when the file system refuses to sync directories.
	Warn func(message string)

	warned sync.Once
}

// IsFull is true for errors of a file system that has no room, or none for this user.
func IsFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// TempName returns a name beside path that nothing else uses.
func TempName(path string) string {
	return filepath.Join(filepath.Dir(path), tempPrefix+filepath.Base(path)+"-"+rand.Text()[:10])
}

// SweepTemps removes what a crash left in dir under a temporary name. A dir
// that does not exist has no leftovers.
func SweepTemps(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), tempPrefix) {
			err = errors.Join(err, RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	return err
}

// SyncDir makes the entries of dir durable. Some network file systems answer
// EINVAL to it; then the order of operations is all there is, and Warn is told.
func (d *Disk) SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	err = step("fsync-dir", dir, func() error { return fsync(f) })
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		d.warned.Do(func() {
			if d.Warn != nil {
				d.Warn(fmt.Sprintf("the file system of %s cannot sync directories: a power cut may lose the newest swap, never tear it", dir))
			}
		})
		return nil
	}
	return err
}

// SyncTree syncs every directory below root and root itself, the deepest first.
// The files in them must be durable already.
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
	for i := len(dirs) - 1; i >= 0; i-- { // WalkDir names parents before their children
		if err := d.SyncDir(dirs[i]); err != nil {
			return err
		}
	}
	return nil
}

// WriteFile creates a file that must not exist yet, with perm whatever the umask,
// from what write makes piece by piece, and makes its bytes durable, not its name:
// call SyncDir on the parent, or rename the whole directory.
func (d *Disk) WriteFile(path string, perm fs.FileMode, write func(io.Writer) error) error {
	f, err := OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer f.Close()
	err = step("write", path, func() error {
		buffer := bufio.NewWriterSize(f, 64<<10)
		if err := write(buffer); err != nil {
			return err
		}
		return buffer.Flush()
	})
	if err != nil {
		return err
	}
	return finish(f, perm)
}

// Chmod sets a file's permissions and makes them, and its bytes, durable.
func (d *Disk) Chmod(path string, perm fs.FileMode) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return finish(f, perm)
}

// Rename moves oldPath to its final name and syncs the parents of both.
func (d *Disk) Rename(oldPath, newPath string) error {
	if err := Rename(oldPath, newPath); err != nil {
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

// ReplaceSymlink points link at target in one step, whether it exists or not.
func (d *Disk) ReplaceSymlink(target, link string) error {
	temp := TempName(link)
	if err := Symlink(target, temp); err != nil {
		os.Remove(temp)
		return err
	}
	if err := d.Rename(temp, link); err != nil {
		os.Remove(temp)
		return err
	}
	return nil
}

// RemoveTree removes dir so that a crash half-way leaves a temporary name, never
// a final name with half its content.
func (d *Disk) RemoveTree(dir string) error {
	if strings.HasPrefix(filepath.Base(dir), tempPrefix) {
		return RemoveAll(dir)
	}
	temp := TempName(dir)
	if err := Rename(dir, temp); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return RemoveAll(temp)
}
