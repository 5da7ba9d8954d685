package syncer

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"

	"syncd/internal/manifest"
	"syncd/internal/refusal"
	"syncd/internal/report"
	"syncd/internal/verify"
)

// bring fetches one file for a manifest. size is foreseen, -1 when unknown; arrived
// is told of bytes as they come.
func (s *Syncer) bring(ctx context.Context, name string, file manifest.File, size int64, arrived func(int64)) (verify.Proven, error) {
	watch := &watcher{Syncer: s, name: name, told: size, size: size, arrived: arrived, download: s.progress.StartDownload(name, file.Path, size)}
	defer watch.download.Finish()
	fetched, err := s.Fetcher.Fetch(ctx, file, watch)
	if err != nil {
		return verify.Proven{}, fmt.Errorf("fetch %s: %w", file.Path, noSpace(err))
	}
	return fetched, nil
}

// watcher follows one download.
type watcher struct {
	*Syncer
	name     string
	arrived  func(bytes int64)
	download *report.Download
	told     int64 // by Metadata, -1 for not
	size     int64 // foreseen
	done     int64
	looked   int64 // done when the free space was last looked at
}

// Announced checks a size that nobody foresaw against the free space.
func (w *watcher) Announced(size int64) error {
	w.download.Resize(size)
	if size <= w.size {
		return nil
	}
	w.size = size
	free, err := w.Mirror.Free()
	if err != nil {
		return err
	}
	free.Inodes = -1 // the file exists
	if need := spaceFor(size - w.done); !fits(need, free) {
		return noRoom(need, free, "")
	}
	return nil
}

// Moved counts, and guards the disk against a file without an end.
func (w *watcher) Moved(bytes, done int64) error {
	w.done = done
	w.download.Move(bytes, done)
	if bytes > 0 {
		w.Metrics.Downloaded(w.name, bytes)
		w.arrived(bytes)
	}
	return w.checkUnforeseen()
}

// Of a file whose end nobody announced, the space is looked at after so many
// bytes, and so much of it stays free for others.
const unforeseenStep, unforeseenSpare = 64 << 20, 256 << 20

func (w *watcher) checkUnforeseen() error {
	if w.done <= max(w.size, w.looked+unforeseenStep) {
		return nil
	}
	w.looked = w.done
	if w.told >= 0 && w.done > 2*w.told+unforeseenStep {
		return refusal.New(refusal.TooLarge, "%s arrived of a file of which Metadata says that it has %s", humanize.IBytes(uint64(w.done)), humanize.IBytes(uint64(w.told)))
	}
	free, err := w.Mirror.Free()
	if err != nil {
		return err
	}
	if free.Bytes < unforeseenSpare {
		return refusal.New(refusal.NoSpace, "%s arrived of a file without an announced size, and %s are left free: free space in data_dir",
			humanize.IBytes(uint64(w.done)), humanize.IBytes(uint64(free.Bytes)))
	}
	return nil
}

// Resumed counts what need not come again.
func (w *watcher) Resumed(bytes int64) { w.Metrics.Resumed(w.name, bytes) }

// Mismatch counts a digest that was not the promised one.
func (w *watcher) Mismatch(error) { w.Metrics.VerifyFailed(w.name) }
