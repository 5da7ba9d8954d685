package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"syncd/bench/internal/contender"
	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
	"syncd/internal/emulator"
)

// TestMain acts as a bare Go loop when a case starts it with -loop or -names.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "-loop" || os.Args[1] == "-names") {
		main()
		return
	}
	os.Exit(m.Run())
}

func buildSyncd(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "syncd")
	if out, err := exec.Command("go", "build", "-o", binary, "../cmd/syncd").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

// TestEveryCaseRunsAndWritesItsTable runs all cases with tiny workloads, so that the
// harness keeps working between real runs. Tools that are not installed are skipped.
func TestEveryCaseRunsAndWritesItsTable(t *testing.T) {
	binary := buildSyncd(t)
	report, err := os.ReadFile("../BENCHMARKS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			text, err := c.run(t.Context(), bench{binary: binary, dir: dir, runs: 1, shrink: 1000})
			if cannotRun(err) {
				t.Skipf("NOT TESTED: %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			copied := filepath.Join(dir, "BENCHMARKS.md")
			if err := os.WriteFile(copied, report, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := table.Replace(copied, c.name, text); err != nil {
				t.Fatal(err)
			}
			if written, _ := os.ReadFile(copied); !strings.Contains(string(written), text) {
				t.Errorf("table not written: %s", text)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "syncd-bench-*")); left != nil {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// TestASmallFileTakesFewSystemCalls holds what the number of files decides, not the time.
func TestASmallFileTakesFewSystemCalls(t *testing.T) {
	if missing := (contender.Contender{Needs: []string{"strace"}}).Missing(); missing != nil {
		t.Skip("NOT TESTED: no strace")
	}
	b := bench{binary: buildSyncd(t), work: t.TempDir(), shrink: 1}
	own, _, err := b.countCalls(t.Context(), provider.Repeat(3000, 4*provider.KiB), https)
	if cannotRun(err) {
		t.Skipf("NOT TESTED: %v", err)
	}
	if err != nil || own > maxCalls {
		t.Errorf("%.1f system calls a file, want at most %d: %v", own, maxCalls, err)
	}
}

func TestEveryContenderDetectsACorruptByte(t *testing.T) {
	b := bench{binary: buildSyncd(t), dir: t.TempDir(), work: t.TempDir(), shrink: 1000}
	e, err := provider.Emulate(t.Context(), b.work, provider.Repeat(10, 4*provider.KiB))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	others := []contender.Contender{contender.CurlDefaults(), contender.Aria("aria2 -x4 -s4", "-x4 -s4"), contender.BareLoop()}
	for _, c := range append(allContenders(b), others...) {
		if c.Missing() != nil {
			continue
		}
		e.ClearFaults()
		if _, err := b.runOnce(t.Context(), c, e); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		e.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload, Path: "*/" + e.Files()[7].Name})
		if _, err := b.runOnce(t.Context(), c, e); err == nil {
			t.Errorf("%s accepted a corrupt file", c.Name)
		}
	}
}

func TestRatiosAreMediansAgainstTheBestOfEachValue(t *testing.T) {
	samples := map[string][]measure.Sample{
		"syncd":   {{Wall: 2, CPU: 6}, {Wall: 20, CPU: 60}, {Wall: 90, CPU: 6}},
		"quick":   {{Wall: 1, CPU: 4}, {Wall: 10, CPU: 40}, {Wall: 10, CPU: 4}},
		"thrifty": {{Wall: 2, CPU: 3}, {Wall: 20, CPU: 30}, {Wall: 20, CPU: 3}},
	}
	p := pair{of: "syncd", against: []string{"quick", "missing", "thrifty"}}
	if wall, cpu, found := p.ratios(samples); !found || wall != 2 || cpu != 2 {
		t.Errorf("%v, %v, %v", wall, cpu, found)
	}
	if _, _, found := (pair{of: "syncd", against: []string{"missing"}}).ratios(samples); found {
		t.Error("found a contender that did not run")
	}
}
