package control

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func peerOf(fd int) (uid int, err error) {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(peer.Uid), nil
}

// shortPath names the socket by way of its folder's descriptor, which the caller must
// close. The address of a Unix socket holds 107 bytes, and many a data directory's path
// is longer. It refuses a symlink in the place of the folder.
func shortPath(stateDir string) (path string, dir *os.File, err error) {
	dir, err = os.OpenFile(stateDir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), socketName), dir, nil
}
