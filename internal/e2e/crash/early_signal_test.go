package crash_test

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
	"time"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// early starts a command, and sends it a signal when the Go runtime has initialised a
// package. All that the command writes to stderr is read by the returned scanner.
func early(h *e2e.Host, sig syscall.Signal, pkg string, args ...string) (p *e2e.Process, lines *bufio.Scanner) {
	h.Helper()
	cmd := h.Command(args...)
	cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1")
	stderr, err := cmd.StderrPipe()
	h.Must(err)
	h.Must(cmd.Start())
	p = &e2e.Process{Host: h, Cmd: cmd, Stdout: &e2e.Buffer{}, Stderr: &e2e.Buffer{}, Done: make(chan struct{})}
	h.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, stderr)
		_ = cmd.Wait()
	})
	lines = bufio.NewScanner(io.TeeReader(stderr, p.Stderr))
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "init "+pkg+" @") {
			p.Signal(sig)
			return p, lines
		}
	}
	h.Fatalf("package %s is not initialised:\n%s", pkg, p.Stderr)
	return nil, nil
}

// awaits reads the log up to an event and returns it.
func awaits(p *e2e.Process, lines *bufio.Scanner, matches func(event map[string]any) bool) {
	p.Host.Helper()
	for lines.Scan() {
		var event map[string]any
		if bytes.HasPrefix(lines.Bytes(), []byte("{")) && json.Unmarshal(lines.Bytes(), &event) == nil && matches(event) {
			return
		}
	}
	p.Host.Fatalf("syncd ended: %v\n%s", p.Cmd.Wait(), p.Stderr)
}

// Nearly all packages are initialised after net, and main begins after the last of them.
func TestSignalsAtTheVeryStartOfTheDaemonAreServed(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"run"}, {"run", "--config", "syncd.yaml"}, {"--config=syncd.yaml", "run"}} {
		h := e2e.NewHost(t)
		p, lines := early(h, syscall.SIGHUP, "net", args...)
		awaits(p, lines, func(event map[string]any) bool { return event["message"] == "configuration reloaded" })
		p, lines = early(e2e.NewHost(t), syscall.SIGUSR1, "net", args...)
		awaits(p, lines, func(event map[string]any) bool { return event["message"] == "sync" && event["trigger"] == "signal" })
	}
}

func TestSIGHUPEndsOtherCommands(t *testing.T) {
	t.Parallel()
	own := make(chan os.Signal, 1)
	signal.Notify(own, syscall.SIGHUP) // below nohup, children would ignore it like this process
	t.Cleanup(func() { signal.Stop(own) })
	h := e2e.NewHost(t, "run")
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindDelay, Delay: time.Hour})
	for _, args := range [][]string{{"emulator"}, {"emulator", "run"}, {"--config", "run", "emulator"}, {"sync", "run"}} {
		isEnded := false
		for range 10 { // on a busy machine, a command may end before the signal arrives
			p, lines := early(h, syscall.SIGHUP, "net", args...)
			for lines.Scan() {
			}
			_ = p.Cmd.Wait()
			status := p.Cmd.ProcessState.Sys().(syscall.WaitStatus)
			if isEnded = status.Signal() == syscall.SIGHUP; isEnded {
				break
			}
		}
		if !isEnded {
			t.Errorf("%q is not ended by the signal", args)
		}
	}
}
