package directio

import (
	"errors"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Flag is the flag with which a file must be opened for a Writer.
const Flag = unix.O_DIRECT

// Drop removes n bytes of a file from the page cache, from offset at on; n = 0 means
// all that follow. Bytes that are not on the disk yet stay.
func Drop(f *os.File, at, n int64) {
	_ = unix.Fadvise(int(f.Fd()), at, n, unix.FADV_DONTNEED)
}

// dontCache (RWF_DONTCACHE, Linux 6.14) has the kernel drop the pages that it read for
// this call. Pages that were in the page cache before are used, and stay.
const dontCache = 0x80

// lacksDontCache is set once the kernel, or a file system, refused dontCache.
var lacksDontCache atomic.Bool

// readUncached makes one read with dontCache. It returns io.EOF at the end of the file.
func readUncached(f *os.File, b []byte, at int64) (int, error) {
	if lacksDontCache.Load() {
		return 0, unix.EOPNOTSUPP
	}
	for {
		n, err := unix.Preadv2(int(f.Fd()), [][]byte{b}, at, dontCache)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case isRefused(err):
			lacksDontCache.Store(true)
		case err == nil && n == 0:
			return 0, io.EOF
		}
		if err != nil {
			return 0, &os.PathError{Op: "read", Path: f.Name(), Err: err}
		}
		return n, nil
	}
}

func readAt(f *os.File, b []byte, at int64) (int, error) { return unix.Pread(int(f.Fd()), b, at) }

// setDirect switches direct I/O for the file on or off.
func (r *Reader) setDirect(on bool) error {
	flags, err := unix.FcntlInt(r.file.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	flags &^= unix.O_DIRECT
	if on {
		flags |= unix.O_DIRECT
	}
	_, err = unix.FcntlInt(r.file.Fd(), unix.F_SETFL, flags)
	return err
}
