package fsops

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Dir is an open directory. It stays the same one when its path leads elsewhere.
// Names are relative to it and never lead out of it, not even by way of a symlink.
// A nil Dir is a missing directory. Safe for concurrent use.
type Dir struct{ handle }

// handle is an open directory of the operating system. It is never nil.
type handle struct {
	root *os.Root
	path string
	file *os.File        // the same directory, for system calls that os.Root lacks
	conn syscall.RawConn // of file
}

// OpenDir opens the directory at path, which may be a symlink. It waits for no FIFO that took
// its place.
func OpenDir(path string) (*Dir, error) {
	root, err := os.OpenRoot(onlyDir(path))
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		failed.Path = path
	}
	if err != nil {
		return nil, err
	}
	return newDir(root)
}

// onlyDir is a path that leads nowhere but to a directory: opening another kind of file, such
// as a FIFO, fails at once.
func onlyDir(path string) string { return filepath.Clean(path) + string(filepath.Separator) }

// newDir takes root over.
func newDir(root *os.Root) (*Dir, error) {
	file, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, file.Close(), root.Close())
	}
	return &Dir{handle{root: root, path: filepath.Clean(root.Name()), file: file, conn: conn}}, nil
}

// call runs a system call on the directory's descriptor, which stays open until it ends. After
// Close it returns an error: the number may belong to another file by then.
func (h *handle) call(do func(fd int) error) (err error) {
	if closed := h.conn.Control(func(fd uintptr) { err = do(int(fd)) }); closed != nil {
		return closed
	}
	return err
}

// OpenDir opens a directory below d. It refuses a symlink in its place, and waits for no FIFO.
func (d *Dir) OpenDir(name string) (*Dir, error) {
	info, err := d.Lstat(name)
	if err != nil {
		return nil, err
	}
	root, err := d.root.OpenRoot(onlyDir(name))
	if err != nil {
		return nil, d.err(err)
	}
	sub, err := newDir(root)
	if err != nil {
		return nil, err
	}
	if opened, err := sub.file.Stat(); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(err, sub.Close(), &fs.PathError{Op: "open", Path: d.Path(name), Err: syscall.ENOTDIR})
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
	return filepath.Join(append([]string{d.path}, names...)...)
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

func missing(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// isPlain is true for one path segment that is not the parent directory.
func isPlain(name string) bool {
	return filepath.IsLocal(name) && filepath.Base(name) == name
}
