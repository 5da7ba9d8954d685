package control

import (
	"cmp"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"

	"syncd/internal/disk/fsops"
)

// peerUID is the user of the process at the other end of a Unix socket: of a client
// when it connected, of a server when it began to listen.
func peerUID(conn net.Conn) (uid int, err error) {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, fmt.Errorf("%T is no Unix socket", conn)
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { uid, failed = peerOf(int(fd)) })
	return uid, cmp.Or(err, failed)
}

// ownListener accepts connections of this process's user and of root.
type ownListener struct{ net.Listener }

func (l ownListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if uid, err := peerUID(conn); err == nil && (uid == 0 || uid == os.Geteuid()) {
			return conn, nil
		}
		conn.Close()
	}
}

// checkServer is nil when the engine may run as the user who listens: this one, root, or
// the owner of the data directory.
func checkServer(conn net.Conn, stateDir string) error {
	uid, err := peerUID(conn)
	if err != nil {
		return err
	}
	owners, err := ownersOf(stateDir)
	if err != nil {
		return err
	}
	if uid == 0 || uid == os.Geteuid() || slices.Contains(owners, uid) {
		return nil
	}
	return fmt.Errorf("%s belongs to a process of user %d, who does not own the data directory: find out who runs it, and remove the socket", filepath.Join(stateDir, socketName), uid)
}

// ownersOf returns the owner of the data directory. One that root has given to a group
// counts the owner of its state folder too.
func ownersOf(stateDir string) ([]int, error) {
	dataDir, err := os.Stat(filepath.Dir(stateDir))
	if err != nil {
		return nil, err
	}
	state, err := os.Lstat(stateDir)
	if err != nil {
		return nil, err
	}
	owner := uidOf(dataDir)
	if owner == 0 {
		return []int{uidOf(state)}, nil
	}
	return []int{owner}, nil
}

func uidOf(info fs.FileInfo) int {
	if uid, _, ok := fsops.OwnerOf(info); ok {
		return uid
	}
	return 0
}
