package gctune

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

func TestPercentForGrantsRoomToSmallHeaps(t *testing.T) {
	for live, want := range map[uint64]int{0: 300, 4 << 20: 300, 8 << 20: 150, 12 << 20: 100, 24 << 20: 50, 48 << 20: 50, 64 << 20: 37, 96 << 20: 25, 1 << 30: 25} {
		if got := percentFor(live); got != want {
			t.Errorf("live heap of %d bytes: %d percent, want %d", live, got, want)
		}
	}
}

func TestStartLeavesTheEnvironmentsSettings(t *testing.T) {
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		Start(func(asked string) string { return map[string]string{name: "1"}[asked] })
		if got := debug.SetGCPercent(77); got != 77 {
			t.Errorf("with %s set: %d percent, want no change", name, got)
		}
	}
}

func TestTheSoftLimitIsNineTenthsOfTheCgroups(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	limit(memlimit.Limit(1000 << 20))
	if got := debug.SetMemoryLimit(-1); got != 900<<20 {
		t.Errorf("limit of %d MiB, want 900", got>>20)
	}
	limit(func() (uint64, error) { return 0, memlimit.ErrNoLimit })
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("without a cgroup's limit: %d bytes, want none", got)
	}
}

func TestStartLeavesTheOperatorsLimit(t *testing.T) {
	before := debug.SetMemoryLimit(777 << 20)
	defer debug.SetMemoryLimit(before)
	Start(func(asked string) string { return map[string]string{"GOMEMLIMIT": "777MiB"}[asked] })
	if got := debug.SetMemoryLimit(-1); got != 777<<20 {
		t.Errorf("limit of %d MiB, want 777", got>>20)
	}
}

func TestEachCollectionTunesAgain(t *testing.T) {
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	tune()
	for range 1000 {
		debug.SetGCPercent(77)
		runtime.GC()
		runtime.Gosched()
		if debug.SetGCPercent(77) != 77 {
			return
		}
	}
	t.Error("no collection tuned again")
}
