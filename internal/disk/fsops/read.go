package fsops

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Open opens a file or directory for reading. It waits for no FIFO that took its place.
func (d *Dir) Open(name string) (*os.File, error) {
	if d == nil {
		return nil, missing("open", name)
	}
	f, err := d.open(name, os.O_RDONLY|nonblocking, 0)
	return f, d.err(err)
}

// OpenToWrite opens an existing file for writing, with further flags. The caller knows
// that it is a regular file. Opening changes nothing, so it is no step.
func (d *Dir) OpenToWrite(name string, flag int) (*os.File, error) {
	if d == nil {
		return nil, missing("open", name)
	}
	f, err := d.open(name, os.O_WRONLY|nonblocking|flag, 0)
	return f, d.err(err)
}

// OpenRegular opens a file for reading and refuses anything else: opening a FIFO would
// block for ever, and a symlink is never followed.
func (d *Dir) OpenRegular(name string) (*os.File, error) {
	if d == nil {
		return nil, missing("open", name)
	}
	if !isPlain(name) { // os.Root follows symlinks below the directory
		if info, err := d.Info(name); err == nil && !info.IsRegular() {
			return nil, &fs.PathError{Op: "open", Path: d.Path(name), Err: errNotRegular}
		}
	}
	f, err := d.open(name, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, d.err(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: d.Path(name), Err: errNotRegular}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

var errNotRegular = errors.New("it is not a regular file")

// Stat describes a file and follows symlinks below the directory.
func (d *Dir) Stat(name string) (fs.FileInfo, error) {
	if d == nil {
		return nil, missing("stat", name)
	}
	info, err := d.root.Stat(name)
	return info, d.err(err)
}

// Lstat describes a file or symlink.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) {
	if d == nil {
		return nil, missing("lstat", name)
	}
	info, err := d.root.Lstat(name)
	return info, d.err(err)
}

// Readlink returns the target of a symlink.
func (d *Dir) Readlink(name string) (string, error) {
	if d == nil {
		return "", missing("readlink", name)
	}
	target, err := d.root.Readlink(name)
	return target, d.err(err)
}

// Names lists the names in a directory, sorted. Unlike ReadDir, it looks at no entry.
func (d *Dir) Names(name string) ([]string, error) {
	dir, err := d.OpenList(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// ReadDir lists a directory with the types of its entries, sorted by name.
func (d *Dir) ReadDir(name string) ([]fs.DirEntry, error) {
	dir, err := d.OpenList(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, d.err(err)
}

// OpenList opens a directory to list or to sync it. It waits for no FIFO that took its place.
func (d *Dir) OpenList(name string) (*os.File, error) {
	if d == nil {
		return nil, missing("open", name)
	}
	dir, err := d.open(name, os.O_RDONLY|directoryOnly|nonblocking, 0)
	return dir, d.err(err)
}

// EachEntry calls visit for each entry of a directory, in no order, until its first error.
// It holds few entries at a time, however many there are.
func (d *Dir) EachEntry(name string, visit func(fs.DirEntry) error) error {
	dir, err := d.OpenList(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(1000)
		for _, entry := range entries {
			if err := visit(entry); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return d.err(err)
		}
	}
}

// Walk calls visit for a directory and everything below it. It follows no symlinks.
func (d *Dir) Walk(name string, visit func(name string, entry fs.DirEntry)) error {
	err := fs.WalkDir(d.root.FS(), name, func(name string, entry fs.DirEntry, err error) error {
		if err == nil {
			visit(name, entry)
		}
		return err
	})
	return d.err(err)
}
