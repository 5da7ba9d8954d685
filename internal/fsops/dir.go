package fsops

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Dir is an open directory. It stays the same one when its path leads elsewhere.
// Names are relative to it and never lead out of it, not even by way of a symlink.
// A nil Dir is a missing directory. Safe for concurrent use.
type Dir struct {
	root *os.Root
	file *os.File // the same directory, for system calls that os.Root lacks
}

// OpenDir opens the directory at path, which may be a symlink.
func OpenDir(path string) (*Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return newDir(root)
}

// newDir takes root over.
func newDir(root *os.Root) (*Dir, error) {
	file, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Dir{root: root, file: file}, nil
}

// OpenDir opens a directory below d. It refuses a symlink in its place.
func (d *Dir) OpenDir(name string) (*Dir, error) {
	info, err := d.Lstat(name)
	if err != nil {
		return nil, err
	}
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, d.err(err)
	}
	sub, err := newDir(root)
	if err != nil {
		return nil, err
	}
	if opened, err := sub.file.Stat(); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(err, sub.Close(), &fs.PathError{Op: "open", Path: d.Path(name), Err: unix.ENOTDIR})
	}
	return sub, nil
}

// Close closes the directory.
func (d *Dir) Close() error {
	if d == nil {
		return nil
	}
	return errors.Join(d.file.Close(), d.root.Close())
}

// Path joins the directory's own path and names, for messages.
func (d *Dir) Path(names ...string) string {
	return filepath.Join(append([]string{d.root.Name()}, names...)...)
}

// Self is the directory as a file, to sync it. Close closes it.
func (d *Dir) Self() *os.File { return d.file }

// err gives an error of os.Root the whole path and the usual name of its operation.
func (d *Dir) err(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return &fs.PathError{Op: strings.TrimSuffix(path.Op, "at"), Path: d.Path(path.Path), Err: path.Err}
	case errors.As(err, &link):
		return &os.LinkError{Op: strings.TrimSuffix(link.Op, "at"), Old: d.Path(link.Old), New: d.Path(link.New), Err: link.Err}
	}
	return err
}

func (d *Dir) missing(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// Open opens a file or directory for reading.
func (d *Dir) Open(name string) (*os.File, error) {
	if d == nil {
		return nil, d.missing("open", name)
	}
	f, err := d.root.Open(name)
	return f, d.err(err)
}

// OpenRegular opens a file for reading and refuses anything else: opening a FIFO would
// block for ever.
func (d *Dir) OpenRegular(name string) (*os.File, error) {
	if d == nil {
		return nil, d.missing("open", name)
	}
	f, err := d.root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
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
		return nil, d.missing("stat", name)
	}
	info, err := d.root.Stat(name)
	return info, d.err(err)
}

// Lstat describes a file or symlink.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) {
	if d == nil {
		return nil, d.missing("lstat", name)
	}
	info, err := d.root.Lstat(name)
	return info, d.err(err)
}

// Readlink returns the target of a symlink.
func (d *Dir) Readlink(name string) (string, error) {
	if d == nil {
		return "", d.missing("readlink", name)
	}
	target, err := d.root.Readlink(name)
	return target, d.err(err)
}

// Names lists the names in a directory, sorted. Unlike ReadDir, it looks at no entry.
func (d *Dir) Names(name string) ([]string, error) {
	dir, err := d.Open(name)
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
	if d == nil {
		return nil, d.missing("open", name)
	}
	entries, err := fs.ReadDir(d.root.FS(), name)
	return entries, d.err(err)
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

// Move renames a file in one directory to a name in another. Unlike the other methods,
// it resolves newName by one system call and follows symlinks on the way: only the
// caller's user may be able to write in to and the directories below it.
func Move(from *Dir, oldName string, to *Dir, newName string) error {
	return Step("rename", to.Path(newName), func() error {
		err := unix.Renameat(int(from.file.Fd()), oldName, int(to.file.Fd()), newName)
		if err != nil {
			return &os.LinkError{Op: "rename", Old: from.Path(oldName), New: to.Path(newName), Err: err}
		}
		return nil
	})
}

// Statfs describes the file system.
func (d *Dir) Statfs() (st unix.Statfs_t, err error) {
	if d == nil {
		return st, d.missing("statfs", ".")
	}
	if err := unix.Fstatfs(int(d.file.Fd()), &st); err != nil {
		return st, &fs.PathError{Op: "statfs", Path: d.Path(), Err: err}
	}
	return st, nil
}

// Chtimes sets the modification time of a file or directory.
func (d *Dir) Chtimes(name string, at time.Time) error {
	return d.err(d.root.Chtimes(name, time.Time{}, at))
}
