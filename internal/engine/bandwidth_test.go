package engine

import (
	"testing"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/host/rate"
)

func TestAReloadChangesTheBandwidthOfDownloadsUnderWay(t *testing.T) {
	w := start(t, "one")
	const size = 8 << 20 // more than two hours at the first limit
	w.provider.SetManifest("one", "2026.09", emulator.File{Name: "one.dat", Content: emulator.Random(1, size)})
	w.cfg.Transfers.Bandwidth = rate.Always(1 << 10)
	e := w.open()
	defer e.Close()
	running := syncInBackground(e)
	for e.Progress().Manifests == nil || e.Progress().Manifests[0].BytesDone == 0 { // the test would time out
		time.Sleep(time.Millisecond)
	}
	next := *w.cfg
	next.Transfers.Bandwidth = rate.Timetable{}
	must(t, e.Configure(&next))
	if got := <-running; got.err != nil || !got.OK() || got.Manifests[0].BytesDownloaded != size {
		t.Errorf("result %+v, %v", got.Sync, got.err)
	}
}
