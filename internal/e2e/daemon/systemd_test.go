package daemon_test

import (
	"errors"
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// systemd is the receiving side of NOTIFY_SOCKET.
type systemd struct {
	h      *e2e.Host
	socket *net.UnixConn
}

// underSystemd makes the daemons of a host send notifications.
func underSystemd(h *e2e.Host, environ ...string) *systemd {
	h.Helper()
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: h.Path("notify"), Net: "unixgram"})
	h.Must(err)
	h.Cleanup(func() { socket.Close() })
	h.Environ = append(environ, "NOTIFY_SOCKET="+h.Path("notify"))
	return &systemd{h, socket}
}

// told returns the next message, "" when none comes in time.
func (s *systemd) told(within time.Duration) string {
	s.h.Helper()
	s.h.Must(s.socket.SetReadDeadline(time.Now().Add(within)))
	message := make([]byte, 4096)
	n, err := s.socket.Read(message)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ""
	}
	s.h.Must(err)
	return string(message[:n])
}

// wait waits for a message that has a line, and returns the earlier ones.
func (s *systemd) wait(line string) (before []string) {
	s.h.Helper()
	for {
		switch message := s.told(e2e.Patience); {
		case message == "":
			s.h.Fatalf("no %s; told: %q", line, before)
		case strings.Contains("\n"+message+"\n", "\n"+line+"\n"):
			return before
		default:
			before = append(before, message)
		}
	}
}

func TestSystemdGetsREADYAndSTOPPING(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	open := h.GatedFile(1000)
	s := underSystemd(h)
	p := h.Start("run")
	for _, message := range s.wait("READY=1") {
		h.Contains("before READY=1", message, "STATUS=") // only
	}
	e2e.Same(h, "syncs that ended", 0, len(p.Events("sync"))) // the provider delays the first one
	e2e.Same(h, "daemon of the status", true, h.Status().Daemon)
	p.Web = "http://" + p.Logged("listening")["address"].(string)
	code, _ := p.Get("/healthz")
	e2e.Same(h, "healthz", 200, code)
	e2e.Same(h, "a second daemon", 1, h.Syncd("run").Code) // the lock is held

	downloading(h, "file.dat")
	p.Signal(syscall.SIGTERM)
	s.wait("STOPPING=1")
	e2e.Same(h, "exit code", 0, p.Wait())
	open()
}

func TestNoREADYWithoutAListener(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	h.Must(err)
	defer taken.Close()
	s := underSystemd(h)
	config := h.Read("syncd.yaml")
	h.Write("syncd.yaml", strings.ReplaceAll(string(config), "127.0.0.1:0", taken.Addr().String()), 0o644)
	h.Contains("stderr", h.Expect(1, "run").Stderr, "http.listen")
	for message := s.told(time.Millisecond); message != ""; message = s.told(time.Millisecond) {
		if strings.Contains(message, "READY=1") {
			t.Errorf("told %q", message)
		}
	}
}

func TestBadWebConfigFailsBeforeREADY(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	s := underSystemd(h)
	config := h.Read("syncd.yaml")
	h.Write("syncd.yaml", regexp.MustCompile(`(?m)^http: .*$`).ReplaceAllString(string(config), `http: {listen: "127.0.0.1:0", web_config: web.yml}`), 0o644)
	for name, text := range map[string]string{
		"none":            "",
		"no certificate":  "tls_server_config: {cert_file: nosuch.pem, key_file: nosuch.key}\n",
		"no hash":         "basic_auth_users: {alice: hunter2}\n",
		"not of its form": "basic_auth_users: hunter2\n",
		"unknown key":     "hunter2: hunter2\n",
	} {
		if text != "" {
			h.Write("web.yml", text, 0o600)
		}
		for _, args := range [][]string{{"run"}, {"config", "check"}} {
			r := h.Expect(2, args...)
			h.Contains(name, r.Stderr, "syncd.yaml:8:43: http.web_config: ", "; correct the file")
			if strings.Contains(r.Stderr, "hunter2") {
				t.Errorf("%s: %s tells a password: %s", name, args, r.Stderr)
			}
		}
		if err := os.Remove(h.Path("web.yml")); text != "" {
			h.Must(err)
		}
	}
	if message := s.told(time.Millisecond); message != "" {
		t.Errorf("systemd got the message %q", message)
	}
	e2e.Same(h, "requests", 0, len(h.Provider.Requests()))
}

// The interval is far below the sleeps of the loop, so only the watchdog wakes it.
const watchdogInterval = "WATCHDOG_USEC=200000"

func TestWatchdogIsFedWhileTheProviderHangs(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	open := h.GatedFile(1000)
	s := underSystemd(h, watchdogInterval)
	p := h.Daemon()
	downloading(h, "file.dat")
	for range 5 {
		s.wait("WATCHDOG=1")
	}
	e2e.Same(h, "syncs that ended", 0, len(p.Events("sync")))
	open()
	p.Logged("sync")
	p.Terminate()
}

func TestDaemonRunsWithoutSystemd(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 500})
	h.Environ = []string{"NOTIFY_SOCKET=" + h.Path("nobody"), "WATCHDOG_USEC=soon"}
	p := h.SyncedDaemon()
	p.Terminate()
}
