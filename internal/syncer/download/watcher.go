package download

import (
	"syncd/internal/fetcher"
	"syncd/internal/metrics"
	"syncd/internal/report/progress"
)

// watcher follows one download: it counts its bytes and guards the free space.
type watcher struct {
	manifest string
	growth   fetcher.Growth
	metrics  *metrics.Metrics
	arrived  func(bytes int64)
	download *progress.Download
}

// Announced checks the free space if the file is larger than expected.
func (w *watcher) Announced(size int64) error {
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
	return w.growth.Reached(done)
}

// Received notes that the proof of the file no longer waits for the provider.
func (w *watcher) Received() { w.download.Received() }

// Resumed counts bytes of an unfinished download that are not downloaded again.
func (w *watcher) Resumed(bytes int64) { w.metrics.Resumed(w.manifest, bytes) }

// Mismatch counts a file whose digest was not the expected one.
func (w *watcher) Mismatch(error) { w.metrics.VerifyFailed(w.manifest) }
