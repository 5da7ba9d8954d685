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

// buildDir holds the builds of this test run; TestMain removes it.
var buildDir = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "syncd-build-")
	if err != nil {
		panic(err)
	}
	return dir
})

// The builds with the tags of internal/disk/fsops and internal/disk/durable, each made once at its first use.
var (
	buildTorture = sync.OnceValues(func() (string, error) { return build("torture") })
	buildNofsync = sync.OnceValues(func() (string, error) { return build("nofsync") })
)

func build(tag string) (string, error) {
	binary := filepath.Join(buildDir(), tag)
	if out, err := exec.Command("go", "build", "-race", "-tags", tag, "-o", binary, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build -tags %s: %w\n%s", tag, err, out)
	}
	return binary, nil
}

// built returns the program of one of the builds above.
func built(t *testing.T, build func() (string, error)) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skipf("NOT TESTED: no Go toolchain: %v", err)
	}
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}
