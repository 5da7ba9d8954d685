package download

import (
	"syncd/internal/fetcher"
	"syncd/internal/metrics"
	"syncd/internal/report/progress"
)

// watcher follows one download: it counts its bytes and guards the free space.
type watcher struct {
	manifest string
	assumed  bool // a file that is larger than expected ends
	growth   fetcher.Growth
	metrics  *metrics.Metrics
	arrived  func(bytes int64)
	download *progress.Download
}

// Announced checks the free space if the file is larger than expected.
func (w *watcher) Announced(size int64) error {
	if err := w.checkAssumed(size); err != nil {
		return err
	}
	w.download.Resize(size)
	return w.growth.Announced(size)
}

// Moved counts bytes, and ends the download of a file that would fill the disk.
func (w *watcher) Moved(bytes, done int64) error {
	w.download.Move(bytes, done)
	if bytes > 0 {
		w.metrics.Downloaded(w.manifest, bytes)
		w.arrived(bytes)
	}
	if err := w.checkAssumed(done); err != nil {
		return err
	}
	return w.growth.Reached(done)
}

// checkAssumed ends the download of a file that is larger than assumed.
func (w *watcher) checkAssumed(size int64) error {
	if w.assumed && size > w.growth.Expected {
		return ErrUnforeseen
	}
	return nil
}

// Received notes that the proof of the file no longer waits for the provider.
func (w *watcher) Received() { w.download.Received() }

// Resumed counts bytes of an unfinished download that are not downloaded again.
func (w *watcher) Resumed(bytes int64) { w.metrics.Resumed(w.manifest, bytes) }

// Mismatch counts a file whose digest was not the expected one.
func (w *watcher) Mismatch(error) { w.metrics.VerifyFailed(w.manifest) }
