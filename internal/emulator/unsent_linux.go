package emulator

import (
	"net"
	"syscall"
	"unsafe"
)

// unsent asks the kernel how many bytes the client's host has not acknowledged.
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
	}) // it fails on a closed connection, which has nothing to send
	return int(n)
}
