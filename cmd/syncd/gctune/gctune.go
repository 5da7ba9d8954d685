package gctune

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Between two collections the heap may grow by room, or by percent of the live heap
// if that is more. Above largeRoom it grows by that, or by leastPercent if that is more. Go's
// default is 100 percent and a heap of 4 MiB at least. With it, a sync of thousands of small
// files runs hundreds of collections, and a mirror of 100,000 files takes 50 MiB more.
const (
	room         = 12 << 20
	percent      = 50
	largeRoom    = 24 << 20
	leastPercent = 25
)

// Start tunes the collector for the life of the process. It leaves alone what the
// operator has set: GOGC the percentage, GOMEMLIMIT that and the limit.
func Start(getenv func(string) string) {
	if getenv("GOMEMLIMIT") != "" {
		return
	}
	limit(memlimit.FromCgroup)
	if getenv("GOGC") == "" {
		tune()
	}
}

// limitRatio is the part of the cgroup's limit for the heap. The rest is for stacks of
// the kernel, the program's own pages and the peaks between two collections.
const limitRatio = 0.9

// limit sets the runtime's soft limit from that of the cgroup. Where no limit can be
// read, there is none: a soft limit only helps, so that is no failure.
func limit(cgroup memlimit.Provider) {
	_, _ = memlimit.Set(memlimit.WithRatio(limitRatio), memlimit.WithProvider(cgroup))
}

// tune sets the percentage for the next collection, which then runs tune again: it
// finds the sentinel unused.
func tune() {
	debug.SetGCPercent(percentFor(liveHeap()))
	sentinel := new([16]byte)
	runtime.AddCleanup(sentinel, func(struct{}) { tune() }, struct{}{})
}

// percentFor is the allowed growth in percent of the live heap. The runtime never
// counts the live heap as less than 4 MiB.
func percentFor(live uint64) int {
	live = max(live, 4<<20)
	return int(max(100*room/live, min(percent, max(100*largeRoom/live, leastPercent))))
}

func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
