package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/emulator"
)

// TestMain acts as the bare Go loop when a case starts it with -loop.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-loop" {
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
			table, err := c.run(t.Context(), bench{syncd: binary, dir: dir, runs: 1, shrink: 1000})
			if err != nil {
				t.Fatal(err)
			}
			copied := filepath.Join(dir, "BENCHMARKS.md")
			if err := os.WriteFile(copied, report, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := replaceTable(copied, c.name, table); err != nil {
				t.Fatal(err)
			}
			if text, _ := os.ReadFile(copied); !strings.Contains(string(text), table) {
				t.Errorf("table not written: %s", table)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "syncd-bench-*")); left != nil {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestEveryContenderDetectsACorruptByte(t *testing.T) {
	b := bench{syncd: buildSyncd(t), dir: t.TempDir(), work: t.TempDir(), shrink: 1000}
	s, err := b.serve(t.Context(), repeat(10, 4*kib), link{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.emulator.Close()
	for _, c := range append(allContenders(b), aria("aria2 -x4 -s4", "-x4 -s4"), bareLoop()) {
		if c.missing() != nil {
			continue
		}
		s.emulator.ClearFaults()
		if _, err := b.runOnce(t.Context(), c, s); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		s.emulator.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload, Path: "*/" + s.files[7].name})
		if _, err := b.runOnce(t.Context(), c, s); err == nil {
			t.Errorf("%s accepted a corrupt file", c.name)
		}
	}
}

func TestTargetIsComparedWithRoundedValue(t *testing.T) {
	for name, row := range map[string]struct {
		figure figure
		want   string
	}{
		"met":                   {figure{value: 0.5, format: "%.2f", target: 1}, "0.50 | ≤ 1.00 | yes"},
		"met when rounded":      {figure{value: 1.004, format: "%.2f", target: 1}, "1.00 | ≤ 1.00 | yes"},
		"missed":                {figure{value: 1.006, format: "%.2f", target: 1}, "1.01 | ≤ 1.00 | **no**"},
		"without a target":      {figure{value: 3, format: "%.2f"}, "3.00 | | "},
		"rounded to an integer": {figure{value: 64.4, format: "%.0f", target: 64}, "64 | ≤ 64 | yes"},
	} {
		if got := row.figure.cells(); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

func TestBestOfTakesEachValueByItself(t *testing.T) {
	all := map[string]sample{"quick": {wall: 1, cpu: 4}, "thrifty": {wall: 2, cpu: 3}}
	best, found := bestOf(all, []string{"quick", "missing", "thrifty"})
	if !found || best.wall != 1 || best.cpu != 3 {
		t.Errorf("%+v, %v", best, found)
	}
	if _, found := bestOf(all, []string{"missing"}); found {
		t.Error("found a contender that did not run")
	}
}

func TestSpreadGrowsFromSmallestToLargest(t *testing.T) {
	sizes := spread(60, kib, 128*mib)
	if len(sizes) != 60 || sizes[0] != kib || sizes[59] != 128*mib {
		t.Errorf("%d sizes from %d to %d", len(sizes), sizes[0], sizes[len(sizes)-1])
	}
}
