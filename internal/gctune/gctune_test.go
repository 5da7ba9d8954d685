package gctune

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestPercentForGrantsRoomToSmallHeaps(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 4 << 20: 400, 8 << 20: 200, 16 << 20: 100, 32 << 20: 50, 1 << 30: 50} {
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
