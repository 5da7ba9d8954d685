package syncer_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"syncd/internal/emulator"
	"syncd/internal/report"
	"syncd/internal/report/progress"
	"syncd/internal/report/request"
)

// interrupt starts a sync whose large download hangs half-way, and ends it there.
func interrupt(t *testing.T, w *world) {
	fault := w.provider.AddFault(emulator.Fault{Kind: emulator.KindStall, Host: emulator.HostDownload, Path: "*/large.dat", After: large / 2})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := w.syncer.Sync(ctx, request.Sync{Demand: true})
		done <- err
	}()
	eventually(t, "half of it is there", func() bool {
		s := w.progress.Snapshot()
		return len(s.Files) == 1 && s.Files[0].Done == large/2 && s.Manifests[0].FilesDone == 1
	})
	equal(t, "state", w.status().Manifests[0].State, report.StateSyncing)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the sync ended with %v, want the context's error", err)
	}
	w.provider.RemoveFault(fault)
}

func TestACancelledSyncPublishesNothingAndTheNextContinues(t *testing.T) {
	w := start(t, "data")
	w.provider.SetManifest("data", "2026.09", emulator.File{Name: "large.dat", Content: emulator.Random(7, large)},
		emulator.File{Name: "small.dat", Content: emulator.Text("small")})
	interrupt(t, w)
	if w.generation() != 0 || w.status().Manifests[0].State != report.StatePending {
		t.Errorf("generation %d, state %s", w.generation(), w.status().Manifests[0].State)
	}
	partials, err := filepath.Glob(filepath.Join(w.dir, "partial", "sha256-*[0-9a-f]"))
	must(t, err)
	if len(partials) != 1 {
		t.Fatalf("partial files %v, want one", partials)
	}
	info, err := os.Stat(partials[0])
	must(t, err)
	equal(t, "kept bytes", info.Size(), int64(large/2))

	w.restart()
	m := w.expect(w.demand(), "data", report.Updated)
	equal(t, "downloads", w.downloads(), []string{"large.dat"})
	equal(t, "bytes downloaded", m.BytesDownloaded, int64(large/2))
	ranges := map[string]bool{}
	for _, r := range w.provider.Requests() {
		ranges[r.Header.Get("Range")] = true
	}
	if !ranges["bytes=3145728-"] {
		t.Errorf("ranges asked: %v", ranges)
	}
}

func TestACancelledSyncIsNoFailureOfTheManifest(t *testing.T) {
	w := served(t)
	w.provider.SetManifest("data", "2026.10", emulator.File{Name: "large.dat", Content: emulator.Random(7, large)},
		emulator.File{Name: "small.dat", Content: emulator.Text("small")})
	before := w.state("data")
	interrupt(t, w)
	equal(t, "remembered", w.state("data"), before)
	w.serves("data", september())
	w.expect(w.poll(), "data", report.Updated)
}

func TestASyncThatIsCancelledBeforeItsSwapIsNoFailureOfTheManifest(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	before := w.state("data")
	_, err := w.syncer.Sync(endsAtPublish{context.Background(), w.progress}, request.Sync{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the sync ended with %v, want the context's error", err)
	}
	equal(t, "remembered", w.state("data"), before)
	w.serves("data", september())
	w.restart()
	w.expect(w.poll(), "data", report.Updated)
	equal(t, "downloads", len(w.downloads()), 0)
	w.serves("data", october())
}

// endsAtPublish is a context that ends when the sync begins to publish.
type endsAtPublish struct {
	context.Context
	progress *progress.Tracker
}

func (c endsAtPublish) Err() error {
	for _, m := range c.progress.Snapshot().Manifests {
		if m.Phase == "publishing" {
			return context.Canceled
		}
	}
	return nil
}
