//go:build !linux

package directio

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// Flag is none: only Linux has O_DIRECT.
const Flag = 0

// Drop does nothing: other systems have no such call.
func Drop(*os.File, int64, int64) {}

func readUncached(*os.File, []byte, int64) (int, error) { return 0, syscall.ENOSYS }

// readAt returns 0 at the end of the file, like pread(2).
func readAt(f *os.File, b []byte, at int64) (int, error) {
	n, err := f.ReadAt(b, at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (*Reader) setDirect(bool) error { return syscall.ENOSYS }
