package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// socketName is the socket's name in the state folder.
const socketName = "syncd.sock"

// listen opens the socket in the state folder of a data directory. The caller holds
// the lock of that directory, so a socket that is there was left by a crash: it is
// replaced. Closing the listener removes the socket.
func listen(stateDir string) (net.Listener, error) {
	path, closeDir, err := shortPath(stateDir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = closeDir() }()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	listener.SetUnlinkOnClose(false) // its path leads through a descriptor that is closed by then
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return nil, fmt.Errorf("control socket: %w", err)
	}
	return &removingListener{Listener: ownListener{listener}, path: filepath.Join(stateDir, socketName)}, nil
}

// connect connects to the control socket. It refuses a symlink, and a server of a user who
// is not trusted, see checkServer.
func connect(ctx context.Context, stateDir string) (net.Conn, error) {
	path, closeDir, err := shortPath(stateDir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = closeDir() }()
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

// removingListener removes its socket when it closes.
type removingListener struct {
	net.Listener
	path string
}

func (l *removingListener) Close() error {
	os.Remove(l.path)
	return l.Listener.Close()
}

// shortPath names the socket by way of its folder's descriptor. The address of a
// Unix socket holds 107 bytes, and many a data directory's path is longer.
func shortPath(stateDir string) (path string, closeDir func() error, err error) {
	dir, err := os.OpenFile(stateDir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), socketName), dir.Close, nil
}
