package main

import (
	"errors"
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"syncd/internal/emulator"
)

// systemd is the receiving side of NOTIFY_SOCKET.
type systemd struct {
	h      *host
	socket *net.UnixConn
}

// underSystemd makes the daemons of a host send notifications.
func (h *host) underSystemd(environ ...string) *systemd {
	h.Helper()
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: h.path("notify"), Net: "unixgram"})
	h.must(err)
	h.Cleanup(func() { socket.Close() })
	h.environ = append(environ, "NOTIFY_SOCKET="+h.path("notify"))
	return &systemd{h, socket}
}

// told returns the next message, "" when none comes in time.
func (s *systemd) told(within time.Duration) string {
	s.h.Helper()
	s.h.must(s.socket.SetReadDeadline(time.Now().Add(within)))
	message := make([]byte, 4096)
	n, err := s.socket.Read(message)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ""
	}
	s.h.must(err)
	return string(message[:n])
}

// wait waits for a message that has a line, and returns the earlier ones.
func (s *systemd) wait(line string) (before []string) {
	s.h.Helper()
	for {
		switch message := s.told(patience); {
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
	h := newHost(t, "m")
	open := h.gatedFile(1000)
	s := h.underSystemd()
	p := h.start("run")
	for _, message := range s.wait("READY=1") {
		h.contains("before READY=1", message, "STATUS=") // only
	}
	same(h, "syncs that ended", 0, len(p.events("sync"))) // the provider delays the first one
	same(h, "daemon of the status", true, h.status().Daemon)
	p.web = "http://" + p.logged("listening")["address"].(string)
	code, _ := p.get("/healthz")
	same(h, "healthz", 200, code)
	same(h, "a second daemon", 1, h.syncd("run").code) // the lock is held

	h.downloading("file.dat")
	p.signal(syscall.SIGTERM)
	s.wait("STOPPING=1")
	same(h, "exit code", 0, p.wait())
	open()
}

func TestNoREADYWithoutAListener(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	h.must(err)
	defer taken.Close()
	s := h.underSystemd()
	config, err := os.ReadFile(h.path("syncd.yaml"))
	h.must(err)
	h.write("syncd.yaml", strings.ReplaceAll(string(config), "127.0.0.1:0", taken.Addr().String()), 0o644)
	h.contains("stderr", h.expect(1, "run").stderr, "http.listen")
	for message := s.told(time.Millisecond); message != ""; message = s.told(time.Millisecond) {
		if strings.Contains(message, "READY=1") {
			t.Errorf("told %q", message)
		}
	}
}

func TestBadWebConfigFailsBeforeREADY(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	s := h.underSystemd()
	config, err := os.ReadFile(h.path("syncd.yaml"))
	h.must(err)
	h.write("syncd.yaml", regexp.MustCompile(`(?m)^http: .*$`).ReplaceAllString(string(config), `http: {listen: "127.0.0.1:0", web_config: web.yml}`), 0o644)
	for name, text := range map[string]string{
		"none":            "",
		"no certificate":  "tls_server_config: {cert_file: nosuch.pem, key_file: nosuch.key}\n",
		"no hash":         "basic_auth_users: {alice: hunter2}\n",
		"not of its form": "basic_auth_users: hunter2\n",
		"unknown key":     "hunter2: hunter2\n",
	} {
		if text != "" {
			h.write("web.yml", text, 0o600)
		}
		for _, args := range [][]string{{"run"}, {"config", "check"}} {
			r := h.expect(2, args...)
			h.contains(name, r.stderr, "syncd.yaml: http.web_config: ", "; correct the file")
			if strings.Contains(r.stderr, "hunter2") {
				t.Errorf("%s: %s tells a password: %s", name, args, r.stderr)
			}
		}
		if err := os.Remove(h.path("web.yml")); text != "" {
			h.must(err)
		}
	}
	if message := s.told(time.Millisecond); message != "" {
		t.Errorf("systemd got the message %q", message)
	}
	same(h, "requests", 0, len(h.provider.Requests()))
}

// The interval is far below the sleeps of the loop, so only the watchdog wakes it.
const watchdogInterval = "WATCHDOG_USEC=200000"

func TestWatchdogIsFedWhileTheProviderHangs(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m")
	open := h.gatedFile(1000)
	s := h.underSystemd(watchdogInterval)
	p := h.daemon()
	h.downloading("file.dat")
	for range 5 {
		s.wait("WATCHDOG=1")
	}
	same(h, "syncs that ended", 0, len(p.events("sync")))
	open()
	p.logged("sync")
	p.terminate()
}

func TestDaemonRunsWithoutSystemd(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 500})
	h.environ = []string{"NOTIFY_SOCKET=" + h.path("nobody"), "WATCHDOG_USEC=soon"}
	p := h.daemon()
	p.logged("sync")
	p.terminate()
}
