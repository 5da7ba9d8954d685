package control

import (
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

func peerOf(fd int) (uid int, err error) {
	peer, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(peer.Uid), nil
}

// shortPath names the socket by its path, which may have 103 bytes. The caller must close
// the folder. It refuses a symlink in its place.
func shortPath(stateDir string) (path string, dir *os.File, err error) {
	dir, err = os.OpenFile(stateDir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	return filepath.Join(stateDir, socketName), dir, err
}
