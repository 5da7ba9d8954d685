package fsops

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// MoveNew is Move to a name that must not exist: it never replaces a file.
func MoveNew(from *Dir, oldName string, to *Dir, newName string) error {
	err := stepIn("rename", to.path, newName, func() error {
		return moveNew(from, oldName, to, newName)
	})
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.ENOTSUP) { // of file systems such as NFS
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
