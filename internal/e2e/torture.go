package e2e

import (
	"cmp"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Times is how often a test repeats something. `make torture` sets
// SYNCD_TORTURE=full for the full number.
func Times(ci, full int) int {
	if os.Getenv("SYNCD_TORTURE") == "full" {
		return full
	}
	return ci
}

// tortureSeed repeats the random choices of a run, but not its timing.
const tortureSeed = "SYNCD_TORTURE_SEED"

// Reliability logs a figure of a test at its end, for RELIABILITY.md.
func Reliability(t *testing.T, name, did string, times int) {
	t.Helper()
	lost := "0"
	if t.Failed() {
		lost = "something, see above"
	}
	t.Logf("RELIABILITY %s: %s: %d times, lost %s", name, did, times, lost)
}

// NewRandom returns a source of random choices for one test.
func NewRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv(tortureSeed), strconv.FormatUint(rand.Uint64(), 10)), 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", tortureSeed, err)
	}
	t.Logf("%s=%d", tortureSeed, seed)
	name := fnv.New64a()
	_, _ = io.WriteString(name, t.Name()) // never fails
	return rand.New(rand.NewPCG(seed, name.Sum64()))
}
