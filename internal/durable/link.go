package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Link gives the file oldName, within root, a second name. Where the file system or
// its limit on links forbids that, the content is shared by reflink, else
// copied, and made durable; the copy gets its permissions.
func (d *Disk) Link(root *os.Root, oldName, newName string) error {
	err := step("link", newName, func() error { return root.Link(oldName, newName) })
	if err == nil || !isNoLink(err) {
		return err
	}
	return d.copyWithin(root, oldName, newName)
}

// isNoLink is true when the file system has no more hard links to give, or none
// at all; any other failure would meet a copy too.
func isNoLink(err error) bool {
	return slices.ContainsFunc([]error{
		unix.EPERM, unix.EMLINK, unix.EXDEV, unix.EOPNOTSUPP, unix.ENOSYS, unix.EINVAL,
	}, func(no error) bool { return errors.Is(err, no) })
}

func (d *Disk) copyWithin(root *os.Root, oldName, newName string) error {
	src, err := root.Open(oldName)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := root.OpenFile(newName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
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
