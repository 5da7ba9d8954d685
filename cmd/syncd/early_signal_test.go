package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// early starts a command, and sends it a signal when the Go runtime has initialised a
// package. All that the command writes to stderr is read by the returned scanner.
func (h *host) early(sig syscall.Signal, pkg string, args ...string) (p *process, lines *bufio.Scanner) {
	h.Helper()
	cmd := h.command(args...)
	cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1")
	stderr, err := cmd.StderrPipe()
	h.must(err)
	h.must(cmd.Start())
	p = &process{h: h, cmd: cmd, stdout: &buffer{}, stderr: &buffer{}, done: make(chan struct{})}
	h.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, stderr)
		_ = cmd.Wait()
	})
	lines = bufio.NewScanner(io.TeeReader(stderr, p.stderr))
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "init "+pkg+" @") {
			p.signal(sig)
			return p, lines
		}
	}
	h.Fatalf("package %s is not initialised:\n%s", pkg, p.stderr)
	return nil, nil
}

// awaits reads the log up to an event and returns it.
func (p *process) awaits(lines *bufio.Scanner, matches func(event map[string]any) bool) {
	p.h.Helper()
	for lines.Scan() {
		var event map[string]any
		if bytes.HasPrefix(lines.Bytes(), []byte("{")) && json.Unmarshal(lines.Bytes(), &event) == nil && matches(event) {
			return
		}
	}
	p.h.Fatalf("syncd ended: %v\n%s", p.cmd.Wait(), p.stderr)
}

// Nearly all packages are initialised after net, and main begins after the last of them.
func TestSignalsAtTheVeryStartOfTheDaemonAreServed(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"run"}, {"run", "--config", "syncd.yaml"}, {"--config=syncd.yaml", "run"}} {
		h := newHost(t)
		p, lines := h.early(syscall.SIGHUP, "net", args...)
		p.awaits(lines, func(event map[string]any) bool { return event["message"] == "configuration reloaded" })
		p, lines = newHost(t).early(syscall.SIGUSR1, "net", args...)
		p.awaits(lines, func(event map[string]any) bool { return event["message"] == "sync" && event["trigger"] == "signal" })
	}
}

func TestSIGHUPEndsOtherCommands(t *testing.T) {
	t.Parallel()
	own := make(chan os.Signal, 1)
	signal.Notify(own, syscall.SIGHUP) // below nohup, children would ignore it like this process
	t.Cleanup(func() { signal.Stop(own) })
	h := newHost(t)
	for _, args := range [][]string{{"emulator"}, {"emulator", "run"}, {"--config", "run", "emulator"}, {"sync", "run"}} {
		p, lines := h.early(syscall.SIGHUP, "net", args...)
		for lines.Scan() {
		}
		_ = p.cmd.Wait()
		if status := p.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGHUP {
			t.Errorf("%q: %v", args, p.cmd.ProcessState)
		}
	}
}
