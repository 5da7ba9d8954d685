package adopt

import (
	"os"

	"golang.org/x/sys/unix"

	"syncd/internal/disk/fsops"
)

// isMovable is true for a file of this user with one name, on the file system of into.
func isMovable(file *os.File, into *fsops.Dir) bool {
	var st, dir unix.Stat_t
	if unix.Fstat(int(file.Fd()), &st) != nil || unix.Fstat(int(into.Self().Fd()), &dir) != nil {
		return false
	}
	return st.Nlink == 1 && int(st.Uid) == os.Geteuid() && st.Dev == dir.Dev
}

// lease fails while a program has the file open for writing.
func lease(file *os.File) error {
	_, err := unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	return err
}

func isLeased(file *os.File) bool {
	kind, err := unix.FcntlInt(file.Fd(), unix.F_GETLEASE, 0)
	return err == nil && kind == unix.F_RDLCK
}
