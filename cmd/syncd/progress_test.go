package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"syncd/internal/emulator"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestProgressWithoutATerminalIsLines(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m")
	open := h.gatedFile(7 << 20)
	p := h.start("sync")
	p.wantProgress()
	open()
	same(h, "exit code", 0, p.wait())
	if strings.Contains(p.stderr.String(), "\x1b") {
		t.Errorf("escape sequences without a terminal: %q", p.stderr)
	}
	h.contains("stdout", p.stdout.String(), "generation 1 is served")
}

func (p *process) wantProgress() {
	p.h.Helper()
	p.h.eventually("a line of progress", func() bool {
		return regexp.MustCompile(`(?m)^syncd: 0 of 1 files, [0-9.]+ [KM]?i?B of 7.0 MiB`).MatchString(p.stderr.String())
	})
}

func TestSyncShowsTheDaemonsProgress(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m")
	open := h.gatedFile(7 << 20)
	daemon := h.daemon()
	p := h.start("sync")
	p.wantProgress()
	open()
	same(h, "exit code", 0, p.wait())
	daemon.terminate()
}

func TestBandwidthIsLimited(t *testing.T) {
	t.Parallel()
	h := newHost(t, "big")
	h.settings.more = "transfers: {bandwidth: 256KiB}"
	h.configure()
	h.provider.SetManifest("big", "2026.10", emulator.File{Name: "big.dat", Content: emulator.Random(7, 1<<20)})
	r := h.expect(0, "sync", "--json")
	var seconds float64
	if _, err := fmt.Sscanf(regexp.MustCompile(`"duration_seconds": [0-9.]+`).FindString(r.stdout), `"duration_seconds": %f`, &seconds); err != nil || seconds < 2.5 {
		t.Errorf("1 MiB at 256 KiB/s, 256 KiB of them at once, took %.1f s (%v)", seconds, err)
	}
}

func TestBarsAppearOnATerminal(t *testing.T) {
	t.Parallel()
	h := newHost(t, "big")
	h.provider.SetManifest("big", "2026.10", emulator.File{Name: "big.dat", Content: emulator.Random(7, 2<<20)})
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindSlow, Rate: 1 << 20, Host: emulator.HostDownload})
	screen, code := h.onTerminal("sync")
	same(h, "exit code", 0, code)
	h.contains("terminal", screen, "big/big.dat", "total", "iB/s", "/ 2.0 MiB", "generation 1 is served", "\x1b[")
	if !regexp.MustCompile(`\[=+>?-*\]`).MatchString(screen) {
		t.Errorf("no bar: %q", screen)
	}
	screen, _ = h.onTerminal("sync", "--quiet")
	same(h, "quiet", "", screen)
	screen, _ = h.onTerminal("sync")
	h.contains("terminal", screen, "unchanged")
}

// onTerminal runs a command on a new terminal and returns its output.
func (h *host) onTerminal(args ...string) (screen string, code int) {
	h.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		h.Skipf("NOT TESTED: no terminals here: %v", err)
	}
	defer master.Close()
	fd := int(master.Fd())
	h.must(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		h.Skipf("NOT TESTED: no terminals here: %v", err)
	}
	h.must(unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 140}))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		h.Skipf("NOT TESTED: no terminals here: %v", err)
	}
	cmd := h.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	err = cmd.Start()
	slave.Close()
	h.must(err)
	shown, _ := io.ReadAll(master) // ends with EIO when the last writer is gone
	_ = cmd.Wait()
	h.secretFree("terminal", string(shown))
	return string(shown), cmd.ProcessState.ExitCode()
}
