//go:build linux

package httpserver

import (
	"errors"
	"io"
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sendPart is how many bytes of a file one call sends. The call keeps a processor of Go's
// scheduler busy, so it must be short: a MiB of the page cache takes about 0.1 ms.
const sendPart = 1 << 20

// sendCached sends what the page cache has of a file, from the file's position on. It returns at
// the first bytes that come from the disk, or when all of src is sent.
//
// It makes system calls that Go's scheduler does not see. Package net announces each sendfile,
// which wakes the scheduler's monitor. Every 20 µs that looks whether the call lasts, and takes
// a seventh of the CPU time of downloads. A call that waits for a disk must be announced.
func sendCached(to *net.TCPConn, src *io.LimitedReader) (sent int64, err error) {
	file, isFile := src.R.(syscall.Conn)
	if !isFile {
		return 0, nil
	}
	from, err := file.SyscallConn()
	if err != nil {
		return 0, err
	}
	socket, err := to.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = from.Control(func(file uintptr) {
		position, _, errno := unix.RawSyscall(unix.SYS_LSEEK, file, 0, unix.SEEK_CUR)
		if errno != 0 {
			return
		}
		wait := socket.Write(func(socket uintptr) (done bool) {
			n, done, err := sendNow(socket, file, int64(position)+sent, src.N)
			sent, src.N, failed = sent+n, src.N-n, err
			return done
		})
		failed = errors.Join(wait, failed)
	})
	return sent, errors.Join(err, failed)
}

// sendNow sends what the socket takes now. done is false if it takes more later.
func sendNow(socket, file uintptr, position, most int64) (sent int64, done bool, err error) {
	for sent < most {
		part := min(most-sent, sendPart)
		if !isCached(file, position+sent) || !isCached(file, position+sent+part-1) {
			break
		}
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDFILE, socket, file, 0, uintptr(part), 0, 0)
		switch {
		case errno == unix.EAGAIN:
			return sent, false, nil
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return sent, true, errno
		case n == 0: // the file is shorter than it was
			return sent, true, nil
		}
		sent += int64(n)
	}
	return sent, true, nil
}

// isCached says of one byte whether the page cache has it. sendNow asks about both ends of a part:
// the page cache has nearly always all that lies between them, and otherwise the call is longer.
// It is false on file systems that cannot tell.
func isCached(file uintptr, position int64) bool {
	var room [1]byte
	to := unix.Iovec{Base: &room[0]}
	to.SetLen(len(room))
	n, _, errno := unix.RawSyscall6(unix.SYS_PREADV2, file, uintptr(unsafe.Pointer(&to)), 1, uintptr(position), uintptr(position>>32), unix.RWF_NOWAIT)
	return errno == 0 && n == 1
}
