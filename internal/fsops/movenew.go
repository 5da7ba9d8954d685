package fsops

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// MoveNew is Move to a name that must not exist: it never replaces a file.
func MoveNew(from *Dir, oldName string, to *Dir, newName string) error {
	err := stepIn("rename", to.root.Name(), newName, func() error {
		return from.call(func(fd int) error {
			return to.call(func(toFD int) error {
				return unix.Renameat2(fd, oldName, toFD, newName, unix.RENAME_NOREPLACE)
			})
		})
	})
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // of file systems such as NFS
		if _, err := to.Lstat(newName); errors.Is(err, fs.ErrNotExist) {
			return Move(from, oldName, to, newName)
		}
		err = fs.ErrExist
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from.Path(oldName), New: to.Path(newName), Err: err}
	}
	return nil
}
