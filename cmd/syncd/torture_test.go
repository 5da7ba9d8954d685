package main

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// tortureSeed repeats the random choices of a run, but not its timing.
const tortureSeed = "SYNCD_TORTURE_SEED"

// reliability logs a figure of a test at its end, for RELIABILITY.md.
func reliability(t *testing.T, name, did string, times int) {
	t.Helper()
	lost := "0"
	if t.Failed() {
		lost = "something, see above"
	}
	t.Logf("RELIABILITY %s: %s: %d times, lost %s", name, did, times, lost)
}

// newRandom returns a source of random choices for one test.
func newRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv(tortureSeed), strconv.FormatUint(rand.Uint64(), 10)), 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", tortureSeed, err)
	}
	t.Logf("%s=%d", tortureSeed, seed)
	name := fnv.New64a()
	io.WriteString(name, t.Name())
	return rand.New(rand.NewPCG(seed, name.Sum64()))
}

// buildDir holds the build of this test run; TestMain removes it.
var buildDir = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "syncd-build-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // other users run the program, too
	}
	if err != nil {
		panic(err)
	}
	return dir
})

// build makes the program of commands at its first use, with the tag of
// internal/disk/fsops that lets the environment kill or fail it at any change on disk.
var build = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(buildDir(), "syncd")
	if out, err := exec.Command("go", "build", "-tags", "torture", "-o", binary, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
})

func hasToolchain() bool {
	_, err := exec.LookPath("go")
	return err == nil
}

// built is the program; the test binary if there is no toolchain.
func built(t *testing.T) string {
	t.Helper()
	if !hasToolchain() {
		return testBinary(t)
	}
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

func testBinary(t *testing.T) string {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// needsTorture skips a test that needs the tag torture.
func (h *host) needsTorture() {
	h.Helper()
	if !hasToolchain() {
		h.Skip("NOT TESTED: no Go toolchain")
	}
}
