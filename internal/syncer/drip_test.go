package syncer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/fetcher"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/report/status"
)

// running is a sync in the background.
type running struct {
	world *world
	stop  context.CancelFunc
	done  chan struct{}

	// Read after done.
	result report.Sync
	err    error
}

// background starts a sync on demand that ends with the test at the latest.
func (w *world) background(names ...string) *running {
	w.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r := &running{world: w, stop: stop, done: make(chan struct{})}
	s := w.syncer
	go func() {
		defer close(r.done)
		r.result, r.err = s.Sync(ctx, request.Sync{Trigger: "command", Demand: true, Manifests: names})
	}()
	w.Cleanup(func() { stop(); <-r.done })
	return r
}

func (r *running) wait() report.Sync {
	r.world.Helper()
	<-r.done
	must(r.world, r.err)
	return r.result
}

// downloading waits until a file of a manifest is being downloaded.
func (w *world) downloading(name string) {
	w.Helper()
	eventually(w, name+" downloads", func() bool {
		return slices.ContainsFunc(w.progress.Snapshot().Files, func(f report.FileProgress) bool { return f.Manifest == name })
	})
}

// drip makes every download of a manifest's files come byte by byte.
func (w *world) drip(pattern string) {
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindSlow, Rate: 1, Host: emulator.HostDownload, Path: pattern})
}

// dripping is a world in whose background the manifest slow downloads drop by drop,
// and data is served.
func dripping(t *testing.T) (*world, *running) {
	w := start(t, "data", "slow")
	w.publish("data", "2026.09", september())
	w.publish("slow", "2026.09", files{"1.drip": "a content that comes byte by byte"})
	w.expect(w.demand("data"), "data", report.Updated)
	w.drip("*.drip")
	slow := w.background("slow")
	w.downloading("slow")
	return w, slow
}

func TestADrippingFileHoldsUpNoReleaseOfTheSameSync(t *testing.T) {
	w := start(t, "data", "none", "slow")
	w.publish("data", "2026.09", september())
	drops := files{} // more than there are slots, small ones and large ones
	for i := range 70 {
		drops[fmt.Sprintf("%02d.drip", i)] = fmt.Sprint("a content that comes byte by byte: ", i)
	}
	for i := range 6 {
		drops[fmt.Sprintf("large%d.drip", i)] = fmt.Sprint(i) + strings.Repeat("drip", fetcher.SmallFile/4)
	}
	w.publish("slow", "2026.09", drops)
	w.drip("*.drip")
	w.cfg.PublishAfter = time.Millisecond
	w.configure()
	slow := w.background()
	eventually(t, "data is served", func() bool { return len(w.tree("data")) == 4 })
	eventually(t, "the others are done", func() bool {
		states := map[string]report.State{}
		for _, m := range w.status().Manifests {
			states[m.Name] = m.State
		}
		return states["data"] == report.StateInSync && states["none"] == report.StateFailed && states["slow"] == report.StateSyncing
	})
	if w.state("data").SyncedAt.IsZero() || w.state("none").Failure == nil {
		t.Errorf("not recorded: %+v, %+v", w.state("data"), w.state("none"))
	}
	equal(t, "syncs", w.metric("syncd_sync_runs_total", "manifest=data", "result=updated"), 1.0)
	w.provider.ClearFaults()
	slow.stop()
	<-slow.done
	if !errors.Is(slow.err, context.Canceled) || len(slow.result.Manifests) != 2 || !slow.result.Changed {
		t.Errorf("the stopped sync: %+v, %v", slow.result, slow.err)
	}
}

func TestADrippingListHoldsUpNoReleaseOfTheSameSync(t *testing.T) {
	w := start(t, "data", "slow")
	w.publish("data", "2026.09", september())
	w.publish("slow", "2026.09", files{"a.dat": "a"})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindSlow, Rate: 1, Path: "/Manifest/*/slow"})
	w.cfg.PublishAfter = time.Millisecond
	w.configure()
	slow := w.background()
	eventually(t, "data is served", func() bool { return len(w.tree("data")) == 4 })
	select {
	case <-slow.done:
		t.Errorf("slow's sync ended: %+v, %v", slow.result, slow.err)
	default:
	}
}

func TestASyncThatPublishesTwiceReportsEverythingAtItsEnd(t *testing.T) {
	w := start(t, "data", "slow")
	w.publish("data", "2026.09", september())
	w.publish("slow", "2026.09", files{"late.dat": "late"})
	gate := w.gate("late.dat")
	w.cfg.PublishAfter = time.Millisecond
	w.configure()
	all := w.background()
	eventually(t, "data is served", func() bool { return w.generation() == 1 })
	close(gate)
	result := all.wait()
	w.expect(result, "data", report.Updated)
	w.expect(result, "slow", report.Updated)
	equal(t, "generation", []any{result.Generation, result.Changed}, []any{2, true})
	history, err := status.History(w.cfg.Mirror, w.cfg.Store, 10)
	must(t, err)
	var entries [][]string
	for _, e := range history.Entries {
		var names []string
		for _, m := range e.Manifests {
			names = append(names, m.Name)
		}
		entries = append(entries, names)
	}
	equal(t, "history", entries, [][]string{{"slow"}, {"data"}})
}

func TestADrippingFileHoldsUpNoSyncOfAnotherManifest(t *testing.T) {
	w, _ := dripping(t)
	w.publish("data", "2026.10", october())
	w.expect(w.demand("data"), "data", report.Updated)
	w.serves("data", october())
}

func TestADrippingFileHoldsUpNoRollback(t *testing.T) {
	w, slow := dripping(t)
	w.publish("data", "2026.10", october())
	w.expect(w.demand("data"), "data", report.Updated)
	w.rollback(request.Rollback{Manifests: []string{"data"}})
	w.serves("data", september())
	select {
	case <-slow.done:
		t.Errorf("slow's sync ended: %v", slow.err)
	default:
	}
}

func TestADrippingFileHoldsUpNoRepair(t *testing.T) {
	w, _ := dripping(t)
	w.corrupt("data/a.dat")
	if result := w.repair(); len(result.Damage) != 1 || !result.OK() {
		t.Errorf("report %+v", result)
	}
	w.serves("data", september())
}

func TestADrippingFileDelaysNoSecondLookAtAMismatch(t *testing.T) {
	w := start(t, "data", "slow")
	w.publish("data", "2026.09", september())
	w.publish("slow", "2026.09", files{"1.drip": "a content that comes byte by byte"})
	w.staleDigest("ab")
	w.drip("*.drip")
	w.cfg.PublishAfter = time.Millisecond
	w.configure()
	slow := w.background()
	eventually(t, "data is served", func() bool { return len(w.tree("data")) == 4 })
	w.serves("data", september())
	select {
	case <-slow.done:
		t.Errorf("slow's sync ended: %+v, %v", slow.result, slow.err)
	default:
	}
}

// Of a content that two manifests want, one download goes on while one of them starts
// its plan over. Either of them may have begun it.
func TestASecondLookTakesADownloadThatAnotherManifestBegan(t *testing.T) {
	w := start(t, "data", "other")
	w.publish("data", "2026.09", files{"b.dat": "b", "late.dat": "late"})
	w.publish("other", "2026.09", files{"late.dat": "late"})
	late := w.gate("late.dat")
	w.staleDigest("ab")
	all := w.background()
	eventually(t, "b.dat does not match twice", func() bool { return len(w.downloads()) >= 2 })
	close(late)
	result := all.wait()
	data, other := w.expect(result, "data", report.Updated), w.expect(result, "other", report.Updated)
	equal(t, "downloads", w.downloads(), []string{"b.dat", "b.dat", "b.dat", "late.dat"})
	equal(t, "files downloaded", data.FilesDownloaded+other.FilesDownloaded, 2)
	equal(t, "files reused", data.FilesReused+other.FilesReused, 1)
}
