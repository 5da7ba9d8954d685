package control

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// peerUID is the user of the process at the other end of a Unix socket: of a client
// when it connected, of a server when it began to listen.
func peerUID(conn net.Conn) (int, error) {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, fmt.Errorf("%T is no Unix socket", conn)
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return 0, err
	}
	return int(peer.Uid), nil
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
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return 0
}
