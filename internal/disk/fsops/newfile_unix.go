//go:build !windows

package fsops

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// NewFile is a new file. It costs fewer system calls and less memory than an os.File, which
// counts for thousands of small ones. Safe for concurrent use, except Close.
type NewFile struct {
	fd   int
	path string

	mu   sync.Mutex
	file *os.File // set by OS, and the owner of fd from then on
}

// Create creates a file with a name of one segment that does not exist, as a step.
func Create(d *Dir, name string, perm fs.FileMode) (*NewFile, error) {
	f := &NewFile{fd: -1, path: filepath.Join(d.path, name)}
	err := d.step("create", name, func() (err error) {
		f.fd, err = d.openPlain(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		return err
	})
	if err != nil {
		if f.fd >= 0 {
			f.Close()
		}
		return nil, &fs.PathError{Op: "open", Path: f.path, Err: err}
	}
	return f, nil
}

// WriteAt writes all of b at an offset.
func (f *NewFile) WriteAt(b []byte, at int64) (written int, err error) {
	for written < len(b) {
		n, err := unix.Pwrite(f.fd, b[written:], at+int64(written))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return written, &fs.PathError{Op: "write", Path: f.path, Err: err}
		}
		written += n
	}
	return written, nil
}

// HasPerm is true if the file has these permissions.
func (f *NewFile) HasPerm(perm fs.FileMode) bool { return descriptorHasPerm(f.fd, perm) }

// OS returns the file as an os.File, which Close closes.
func (f *NewFile) OS() *os.File {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		f.file = os.NewFile(uintptr(f.fd), f.path)
	}
	return f.file
}

// Close closes the file.
func (f *NewFile) Close() {
	if f.file != nil {
		f.file.Close()
		return
	}
	_ = unix.Close(f.fd) // an error says nothing about the bytes, which fsync or syncfs tells
}
