package fsops

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// tempPrefix marks unfinished files and directories. A crash leaves some behind,
// and SweepTemps removes them.
const tempPrefix = ".tmp-"

// IsTemp is true for temporary names.
func IsTemp(name string) bool { return strings.HasPrefix(filepath.Base(name), tempPrefix) }

// TempName returns a unique temporary name in the directory of name.
func TempName(name string) string {
	return filepath.Join(filepath.Dir(name), tempPrefix+filepath.Base(name)+"-"+rand.Text()[:10])
}

// SweepTemps removes everything in a directory that has a temporary name. A missing
// directory is no error.
func (d *Dir) SweepTemps(dir string) error {
	names, err := d.Names(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		if IsTemp(name) {
			err = errors.Join(err, d.RemoveAll(filepath.Join(dir, name)))
		}
	}
	return err
}

// RemoveTree renames a tree to a temporary name and removes it. A crash half-way
// therefore never leaves the final name with half of its content. A missing tree is
// no error.
func (d *Dir) RemoveTree(name string) error {
	if IsTemp(name) {
		return d.RemoveAll(name)
	}
	temp := TempName(name)
	if err := d.Rename(name, temp); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return d.RemoveAll(temp)
}

// Discard removes a temporary file or tree after a failure, which is not one of the
// steps of a change. What it cannot remove, SweepTemps removes later.
func (d *Dir) Discard(temp string) { _ = removeAll(d, temp) }

// DiscardFile is Discard for a file or a symlink, in a folder where others may write: they
// could have put a tree in its place.
func DiscardFile(d *Dir, temp string) { _ = remove(d, temp) }

// RemoveFolder removes the folder with the name in parent, which is open as folder and holds
// files only, and closes it. Who can write in parent may have put another tree in its place:
// that stays, and is an error.
func RemoveFolder(parent *Dir, name string, folder *Dir) error {
	names, err := folder.Names(".")
	for _, file := range names {
		err = errors.Join(err, folder.Remove(file))
	}
	return errors.Join(err, folder.Close(), parent.Remove(name))
}
