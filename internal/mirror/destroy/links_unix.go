//go:build unix

package destroy

import (
	"os"
	"syscall"
)

// namesOf is how many names an open file has, and its inode.
func namesOf(f *os.File) (links int, inode uint64) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return int(st.Nlink), st.Ino
}
