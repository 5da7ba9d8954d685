package fsops

import (
	"fmt"
	"os"
	"path/filepath"
)

// RealPath is the path of an open directory, without symlinks. On Linux the kernel tells it:
// the path by which the directory was opened may lead elsewhere by now.
func RealPath(d *Dir) (path string, err error) {
	err = d.call(func(fd int) (err error) {
		path, err = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		return err
	})
	if err != nil {
		return filepath.EvalSymlinks(d.path)
	}
	return path, nil
}
