package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"syncd/bench/internal/provider"
)

var buildDir string // "" if no test needs the program

var built = sync.OnceValues(func() (binary string, err error) {
	if buildDir, err = os.MkdirTemp("", "syncd-fleet-test-"); err != nil {
		return "", err
	}
	binary = filepath.Join(buildDir, "syncd")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/syncd").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return binary, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(buildDir)
	os.Exit(code)
}

// build builds syncd once for all tests.
func build(t *testing.T) string {
	t.Helper()
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// A tiny run of real processes writes its tables, so that the program keeps working
// between real runs.
func TestARunWritesItsTables(t *testing.T) {
	t.Parallel()
	r := run{binary: build(t), work: t.TempDir(), followers: 2, files: 2, size: provider.MiB / 4}
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

// A small run of regions, and of hosts that only poll, so that the program keeps working between
// real runs.
func TestRegionsAndPollersRun(t *testing.T) {
	t.Parallel()
	binary := build(t)
	r := &regions{binary: binary, work: filepath.Join(t.TempDir(), "regions"), followers: 2, files: 2, size: provider.MiB / 4, rate: "4MiB", poll: time.Second, cut: time.Second}
	result, err := r.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if result.links[name] < 1 {
			t.Errorf("%s took %v of the release", name, result.links[name])
		}
	}
	if text := r.table(result); !strings.Contains(text, "polls until the stop is at the root") {
		t.Error(text)
	}
	p := pollingRun{binary: binary, work: t.TempDir(), hosts: 5, each: 100 * time.Millisecond, lasts: time.Second}
	polls, err := p.run(t.Context())
	if err != nil || polls.polls == 0 || polls.cpu == 0 {
		t.Errorf("%+v, %v", polls, err)
	}
}

// Ten thousand hosts of which none fails get the release no later than with some that do.
func TestFailedHostsHoldUpARegion(t *testing.T) {
	in, g := example(), regionalAssumptions()
	all := g
	all.Failed = 0
	dead := g
	dead.Failed = 0.3
	for _, c := range in.carriers() {
		some, none, many := throughRegions(in, g, c, 10_000), throughRegions(in, all, c, 10_000), throughRegions(in, dead, c, 10_000)
		if none.last > some.last || some.begins > some.running || some.last < in.Release/in.prove() {
			t.Errorf("%s: %+v, without failures %+v", c.name, some, none)
		}
		if many.begins < dead.Recovery {
			t.Errorf("%s: a ring begins without the proof of 80 %%: %+v", c.name, many)
		}
	}
}
