package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"syncd/internal/disk/fsops"
)

// socketName is the socket's name in the state folder.
const socketName = "syncd.sock"

// listen opens the socket in the state folder of a data directory. The caller holds
// the lock of that directory, so a socket that is there was left by a crash: it is
// replaced. Closing the listener removes the socket, also when the folder was moved.
func listen(stateDir string) (net.Listener, error) {
	path, dir, err := shortPath(stateDir)
	if err != nil {
		return nil, err
	}
	if err := checkOwn(dir); err != nil {
		dir.Close()
		return nil, err
	}
	listener, err := listenAt(path)
	if err != nil {
		dir.Close()
		return nil, err
	}
	return &dirListener{Listener: ownListener{listener}, dir: dir}, nil
}

// checkOwn refuses the folder of another user, who could put a link to a file of root in the
// place of the socket: its mode is changed by its name. A path that this user opened safely
// before may lead there by now.
func checkOwn(dir *os.File) error {
	info, err := dir.Stat()
	if err != nil {
		return err
	}
	if uid, _, ok := fsops.OwnerOf(info); ok && uid != os.Geteuid() {
		return fmt.Errorf("control socket: %s belongs to user %d instead of user %d: %w", dir.Name(), uid, os.Geteuid(), fs.ErrPermission)
	}
	return nil
}

func listenAt(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return nil, fmt.Errorf("control socket: %w", err)
	}
	return listener, nil
}

// connect connects to the control socket. It refuses a symlink, and a server of a user who
// is not trusted, see checkServer.
func connect(ctx context.Context, stateDir string) (net.Conn, error) {
	path, dir, err := shortPath(stateDir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("%s is not a socket: remove it", filepath.Join(stateDir, socketName))
	}
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := checkServer(conn, stateDir); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// dirListener keeps its folder open, because the path of its socket leads through the
// folder's descriptor.
type dirListener struct {
	net.Listener
	dir *os.File
}

// Close removes the socket.
func (l *dirListener) Close() error {
	defer l.dir.Close()
	return l.Listener.Close()
}
