package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Link gives the file oldName in the directory from a second name, newName in the
// directory to; names are of one segment. Where the file system or its limit on
// links forbids that, the content is shared by reflink, else copied, and made
// durable; the copy gets its permissions.
func (d *Disk) Link(from *os.File, oldName string, to *os.File, newName string) error {
	path := filepath.Join(to.Name(), newName)
	for _, name := range []string{oldName, newName} {
		if !filepath.IsLocal(name) || filepath.Base(name) != name {
			return &fs.PathError{Op: "link", Path: name, Err: fs.ErrInvalid}
		}
	}
	err := step("link", path, func() error {
		return linkError(from, oldName, path, unix.Linkat(int(from.Fd()), oldName, int(to.Fd()), newName, 0))
	})
	if err == nil || !isNoLink(err) {
		return err
	}
	return copyBetween(from, oldName, to, newName)
}

func linkError(from *os.File, oldName, newPath string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: "link", Old: filepath.Join(from.Name(), oldName), New: newPath, Err: err}
}

// isNoLink is true when the file system has no more hard links to give, or none
// at all; any other failure would meet a copy too.
func isNoLink(err error) bool {
	return slices.ContainsFunc([]error{
		unix.EPERM, unix.EMLINK, unix.EXDEV, unix.EOPNOTSUPP, unix.ENOSYS, unix.EINVAL,
	}, func(no error) bool { return errors.Is(err, no) })
}

func copyBetween(from *os.File, oldName string, to *os.File, newName string) error {
	src, err := openIn(from, oldName, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := openIn(to, newName, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	defer dst.Close()
	if err := unix.IoctlFileClone(int(dst.Fd()), int(src.Fd())); err != nil {
		if _, err := io.Copy(dst, src); err != nil {
			return err
		}
	}
	info, err := src.Stat()
	if err != nil {
		return err
	}
	return finish(dst, info.Mode().Perm())
}

// openIn opens a file in an open directory, and follows no symlink.
func openIn(dir *os.File, name string, flag int) (*os.File, error) {
	path := filepath.Join(dir.Name(), name)
	fd, err := unix.Openat(int(dir.Fd()), name, flag|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// finish makes a written file durable, permissions included, and closes it.
func finish(f *os.File, perm fs.FileMode) error {
	if err := step("chmod", f.Name(), func() error { return f.Chmod(perm) }); err != nil {
		return err
	}
	if err := SyncFile(f); err != nil {
		return err
	}
	return f.Close()
}
