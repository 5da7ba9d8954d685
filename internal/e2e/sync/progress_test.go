package sync_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

func TestProgressWithoutATerminalIsLines(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	open := h.GatedFile(7 << 20)
	p := h.Start("sync")
	wantProgress(p)
	open()
	e2e.Same(h, "exit code", 0, p.Wait())
	if strings.Contains(p.Stderr.String(), "\x1b") {
		t.Errorf("escape sequences without a terminal: %q", p.Stderr)
	}
	h.Contains("stdout", p.Stdout.String(), "generation 1 is served")
}

func wantProgress(p *e2e.Process) {
	p.Host.Helper()
	p.Host.Eventually("a line of progress", func() bool {
		return regexp.MustCompile(`(?m)^syncd: 0 of 1 files, [0-9.]+ [KM]?i?B of 7.0 MiB`).MatchString(p.Stderr.String())
	})
}

func TestSyncShowsTheDaemonsProgress(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	open := h.GatedFile(7 << 20)
	daemon := h.Daemon()
	p := h.Start("sync")
	wantProgress(p)
	open()
	e2e.Same(h, "exit code", 0, p.Wait())
	daemon.Terminate()
}

func TestBandwidthIsLimited(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "big")
	h.ConfigureWith("transfers: {bandwidth: 256KiB}")
	h.Provider.SetManifest("big", "2026.10", emulator.File{Name: "big.dat", Content: emulator.Random(7, 1<<20)})
	r := h.Expect(0, "sync", "--json")
	var seconds float64
	if _, err := fmt.Sscanf(regexp.MustCompile(`"duration_seconds": [0-9.]+`).FindString(r.Stdout), `"duration_seconds": %f`, &seconds); err != nil || seconds < 2.5 {
		t.Errorf("1 MiB at 256 KiB/s, 256 KiB of them at once, took %.1f s (%v)", seconds, err)
	}
}

func TestBarsAppearOnATerminal(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "big")
	h.Provider.SetManifest("big", "2026.10", emulator.File{Name: "big.dat", Content: emulator.Random(7, 2<<20)})
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindSlow, Rate: 1 << 20, Host: emulator.HostDownload})
	screen, code := e2e.OnTerminal(h, "sync")
	e2e.Same(h, "exit code", 0, code)
	h.Contains("terminal", screen, "big/big.dat", "total", "iB/s", "/ 2.0 MiB", "generation 1 is served", "\x1b[")
	if !regexp.MustCompile(`\[=+>?-*\]`).MatchString(screen) {
		t.Errorf("no bar: %q", screen)
	}
	screen, _ = e2e.OnTerminal(h, "sync", "--quiet")
	e2e.Same(h, "quiet", "", screen)
	screen, _ = e2e.OnTerminal(h, "sync")
	h.Contains("terminal", screen, "unchanged")
}
