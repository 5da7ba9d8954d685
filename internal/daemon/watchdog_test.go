package daemon

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// notifications is the receiving side of NOTIFY_SOCKET.
type notifications struct {
	t      *testing.T
	socket *net.UnixConn
}

func listenForNotifications(t *testing.T) *notifications {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	must(t, err)
	t.Cleanup(func() { socket.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return &notifications{t, socket}
}

// next returns the next message, or "" when none arrives in time.
func (n *notifications) next(within time.Duration) string {
	n.t.Helper()
	must(n.t, n.socket.SetReadDeadline(time.Now().Add(within)))
	message := make([]byte, 4096)
	size, err := n.socket.Read(message)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ""
	}
	must(n.t, err)
	return string(message[:size])
}

// waitForWatchdog waits until the loop has fed the watchdog.
func (n *notifications) waitForWatchdog() {
	n.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if strings.Contains(n.next(time.Until(end)), "WATCHDOG=1") {
			return
		}
	}
	n.t.Fatal("the watchdog was not fed")
}

func TestStuckLoopDoesNotFeedTheWatchdog(t *testing.T) {
	n := listenForNotifications(t)
	t.Setenv("WATCHDOG_USEC", "200000")
	w := start(t, "one")
	r := w.run()
	n.waitForWatchdog()

	r.mu.Lock() // reading the configuration hangs
	r.hup <- syscall.SIGHUP
	for n.next(time.Millisecond) != "" { // drop earlier messages
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		if message := n.next(time.Until(end)); strings.Contains(message, "WATCHDOG=1") {
			t.Errorf("a stuck loop sent %q", message)
		}
	}
	r.mu.Unlock()
	n.waitForWatchdog()
	r.stop()
}
