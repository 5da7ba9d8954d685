//go:build !windows

package fsops

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// open opens a file or directory below d. A name with one segment takes one system call,
// which refuses a symlink. os.Root would add twelve for thousands of small files: it asks
// the poller about each of them.
func (h *handle) open(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if !isPlain(name) {
		return h.root.OpenFile(name, flag, perm)
	}
	opened, err := h.openPlain(name, flag, perm)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(opened), filepath.Join(h.path, name)), nil
}

func (h *handle) openPlain(name string, flag int, perm fs.FileMode) (opened int, err error) {
	err = h.call(func(fd int) (err error) {
		opened, err = openat(fd, name, flag, perm)
		return err
	})
	return opened, err
}

// Use opens a file for the system calls that do makes. It costs less than an os.File.
func (d *Dir) Use(name string, do func(fd int) error) error {
	if !isPlain(name) {
		f, err := d.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return do(int(f.Fd()))
	}
	fd, err := d.openPlain(name, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return do(fd)
}
