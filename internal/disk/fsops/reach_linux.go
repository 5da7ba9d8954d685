package fsops

import (
	"fmt"
	"io/fs"
	"os"
)

// Reach returns where an opened file lies, without links. It is an error if this thread cannot
// reach the file there. A thread with another user's permissions may have opened it by a link of
// /proc, such as /proc/self/cwd/name: those lead past folders that only the user who started
// this process may enter.
func Reach(f *os.File) (path string, err error) {
	opened, err := f.Stat()
	if err != nil {
		return "", err
	}
	if path, err = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd())); err != nil {
		return "", err
	}
	if found, err := os.Stat(path); err != nil || !os.SameFile(found, opened) {
		return "", &fs.PathError{Op: "open", Path: f.Name(), Err: fs.ErrPermission}
	}
	return path, nil
}
