package emulator

import (
	"net"
	"syscall"
	"unsafe"
)

// unsent returns how many bytes the other side has not acknowledged yet, which
// only the kernel knows.
func unsent(c *net.TCPConn) int {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	var n int32
	_ = raw.Control(func(fd uintptr) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCOUTQ, uintptr(unsafe.Pointer(&n))); errno != 0 {
			n = 0
		}
	}) // a closed connection has nothing to send
	return int(n)
}
