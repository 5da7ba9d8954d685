package control

import (
	"fmt"
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

// maxPath is the number of bytes that the address of a Unix socket holds.
const maxPath = 103

// shortPath names the socket by its path. The caller must close the folder. It refuses a
// symlink in its place.
func shortPath(stateDir string) (path string, dir *os.File, err error) {
	path = filepath.Join(stateDir, socketName)
	if len(path) > maxPath {
		return "", nil, fmt.Errorf("%s has %d bytes, and macOS allows %d for a socket: choose a shorter data_dir", path, len(path), maxPath)
	}
	dir, err = os.OpenFile(stateDir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	return path, dir, err
}
