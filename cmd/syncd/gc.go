package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The heap may grow by gcRoom between collections, and beyond that by gcPercent of
// what is in use. With Go's own setting, twice what is in use and 4 MiB at least, a
// sync of thousands of small files is collected hundreds of times, and a mirror of
// 100,000 files takes 50 MiB more.
const (
	gcRoom    = 16 << 20
	gcPercent = 50
)

// tuneGC sets the collector as above for the life of the process. GOGC and
// GOMEMLIMIT, as the Go runtime knows them, have their way.
func tuneGC(getenv func(string) string) {
	if getenv("GOGC") == "" && getenv("GOMEMLIMIT") == "" {
		tuneAfterEach()
	}
}

// tuneAfterEach sets the percentage for the next collection, and does so again
// after it: that is when the runtime finds the sentinel unused.
func tuneAfterEach() {
	debug.SetGCPercent(percentFor(liveHeap()))
	sentinel := new([16]byte)
	runtime.AddCleanup(sentinel, func(struct{}) { tuneAfterEach() }, struct{}{})
}

// percentFor is the growth, in percent of the bytes in use. The runtime also takes
// it of the 4 MiB with which it begins.
func percentFor(live uint64) int {
	return int(max(gcPercent, 100*gcRoom/max(live, 4<<20)))
}

func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
