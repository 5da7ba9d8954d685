package fsops

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Link gives the file oldName in the directory from a second name, newName in the
// directory to. Names have one segment. If the file system has no hard links, or the
// file has reached their limit, Link makes a copy with the same permissions and returns
// true: the bytes of a copy are not durable, even if the file is.
func Link(from *os.File, oldName string, to *os.File, newName string) (copied bool, err error) {
	err = HardLink(from, oldName, to, newName)
	if err == nil || !IsNoHardLink(err) {
		return false, err
	}
	return true, copyBetween(from, oldName, to, newName)
}

// HardLink is Link without a copy. IsNoHardLink tells whether a copy may succeed after
// its error.
func HardLink(from *os.File, oldName string, to *os.File, newName string) error {
	for _, name := range []string{oldName, newName} {
		if !isPlain(name) {
			return &fs.PathError{Op: "link", Path: name, Err: fs.ErrInvalid}
		}
	}
	return stepIn("link", to.Name(), newName, func() error {
		return linkError(from, oldName, to, newName, link(from, oldName, to, newName))
	})
}

// Clone gives the empty file to the content of from by reflink, which shares the blocks.
func Clone(from, to *os.File) error {
	return Step("clone", to.Name(), func() error { return clone(from, to) })
}

func linkError(from *os.File, oldName string, to *os.File, newName string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: "link", Old: filepath.Join(from.Name(), oldName), New: filepath.Join(to.Name(), newName), Err: err}
}

// IsNoHardLink is true if the file system refuses a hard link where a copy may succeed.
func IsNoHardLink(err error) bool {
	return slices.ContainsFunc([]error{
		syscall.EPERM, syscall.EMLINK, syscall.EXDEV, syscall.EOPNOTSUPP, syscall.ENOTSUP, syscall.ENOSYS, syscall.EINVAL,
	}, func(no error) bool { return errors.Is(err, no) })
}

// copyBetween copies by reflink, which shares the blocks, where the file system can.
func copyBetween(from *os.File, oldName string, to *os.File, newName string) error {
	src, err := openIn(from, oldName, os.O_RDONLY|nonblocking)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "copy", Path: src.Name(), Err: errNotRegular}
	}
	if err != nil {
		return err
	}
	dst, err := openIn(to, newName, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	defer dst.Close()
	if err := clone(src, dst); err != nil {
		if _, err := io.Copy(dst, src); err != nil {
			return err
		}
	}
	if err := Fchmod(dst, info.Mode().Perm()); err != nil {
		return err
	}
	return dst.Close()
}
