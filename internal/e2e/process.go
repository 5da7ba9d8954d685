package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a syncd that keeps running.
type Process struct {
	Host           *Host
	Cmd            *exec.Cmd
	Stdout, Stderr *Buffer
	Done           chan struct{}
	Web            string           // base URL of a daemon
	read           int              // bytes of stderr that are in log
	log            []map[string]any // events
}

// Start starts a command that keeps running.
func (h *Host) Start(args ...string) *Process {
	h.Helper()
	p := &Process{Host: h, Cmd: h.commandOf(h.raced, args...), Stdout: &Buffer{}, Stderr: &Buffer{}, Done: make(chan struct{})}
	p.Cmd.Stdout, p.Cmd.Stderr = p.Stdout, p.Stderr
	h.Must(p.Cmd.Start())
	go func() {
		defer close(p.Done)
		_ = p.Cmd.Wait() // ProcessState has the outcome
	}()
	h.Cleanup(func() {
		_ = p.Cmd.Process.Kill()
		<-p.Done
		h.SecretFree("stdout of "+strings.Join(args, " "), p.Stdout.String())
		h.SecretFree("stderr of "+strings.Join(args, " "), p.Stderr.String())
		if strings.Contains(p.Stderr.String(), "DATA RACE") || h.Failed() {
			h.Logf("syncd %s wrote:\n%s%s", strings.Join(args, " "), p.Stdout, p.Stderr)
		}
	})
	return p
}

// Daemon starts `syncd run` and waits until it responds.
func (h *Host) Daemon() *Process {
	h.Helper()
	p := h.Start("run")
	p.Logged("started")
	p.Web = "http://" + p.Logged("listening")["address"].(string)
	return p
}

// SyncedDaemon is Daemon, and waits until its first sync is over.
func (h *Host) SyncedDaemon() *Process {
	h.Helper()
	p := h.Daemon()
	p.Logged("sync")
	return p
}

// Logged waits for a log event and returns it.
func (p *Process) Logged(message string) map[string]any {
	p.Host.Helper()
	return p.LoggedTimes(message, 1)
}

// LoggedTimes waits for the n-th event with a message.
func (p *Process) LoggedTimes(message string, n int) (event map[string]any) {
	p.Host.Helper()
	p.Host.Eventually(fmt.Sprintf("event %d %q in the log", n, message), func() bool {
		events := p.Events(message)
		if len(events) >= n {
			event = events[n-1]
			return true
		}
		select {
		case <-p.Done:
			p.Host.Fatalf("syncd ended (%v) before %q:\n%s", p.Cmd.ProcessState, message, p.Stderr)
		default:
		}
		return false
	})
	return event
}

// Events are the log events with a message.
func (p *Process) Events(message string) []map[string]any {
	for line := range strings.Lines(p.Stderr.String()[p.read:]) {
		var event map[string]any
		if !strings.HasSuffix(line, "\n") {
			break
		}
		if p.read += len(line); json.Unmarshal([]byte(line), &event) == nil {
			p.log = append(p.log, event)
		}
	}
	var found []map[string]any
	for _, event := range p.log {
		if event["message"] == message {
			found = append(found, event)
		}
	}
	return found
}

// Signal sends a signal to the process.
func (p *Process) Signal(s os.Signal) {
	p.Host.Helper()
	p.Host.Must(p.Cmd.Process.Signal(s))
}

// Wait returns the exit code, -1 after a signal.
func (p *Process) Wait() int {
	p.Host.Helper()
	select {
	case <-p.Done:
	case <-time.After(Patience):
		p.Host.Fatalf("syncd does not end:\n%s", p.Stderr)
	}
	return p.Cmd.ProcessState.ExitCode()
}

// Terminate ends a process as systemd does and requires exit code 0.
func (p *Process) Terminate() {
	p.Host.Helper()
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(); code != 0 {
		p.Host.Errorf("exit %d after SIGTERM, want 0:\n%s", code, p.Stderr)
	}
}

// Get sends a request to the web server of the daemon.
func (p *Process) Get(path string) (int, string) {
	p.Host.Helper()
	return p.Request(http.MethodGet, path, "")
}

// Request sends a request to the web server of the daemon.
func (p *Process) Request(method, path, body string) (int, string) {
	p.Host.Helper()
	req, err := http.NewRequest(method, p.Web+path, strings.NewReader(body))
	p.Host.Must(err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: Patience}
	res, err := client.Do(req)
	p.Host.Must(err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	p.Host.Must(err)
	p.Host.SecretFree(method+" "+path, string(answer))
	return res.StatusCode, string(answer)
}

// Buffer is a bytes.Buffer for a process that writes while a test reads.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write is called by the process.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String is all that was written until now.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
