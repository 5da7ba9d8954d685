package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"syncd/bench/internal/provider"
)

// A tiny run of real processes writes both tables, so that the program keeps working
// between real runs.
func TestARunWritesItsTables(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "syncd")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/syncd").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := run{binary: binary, work: t.TempDir(), followers: 2, files: 2, size: provider.MiB / 4}
	result, err := r.measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if result.provider != 1 {
		t.Errorf("the provider sent %v releases for one", result.provider)
	}
	page, err := os.ReadFile("../../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "fleet.md")
	if err := os.WriteFile(path, page, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := report(path, r, result); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"One upstream and 2 followers", "| layout | 10 hosts | 200 hosts | 10000 hosts |", " (1, 10000) |"} {
		if !strings.Contains(string(written), text) {
			t.Errorf("docs/fleet.md has no %q", text)
		}
	}
}
