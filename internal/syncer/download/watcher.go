package download

import (
	"github.com/dustin/go-humanize"

	"syncd/internal/disk/space"
	"syncd/internal/manifest/refusal"
	"syncd/internal/metrics"
	"syncd/internal/report/progress"
)

// watcher follows one download: it counts its bytes and guards the free space.
type watcher struct {
	manifest string
	free     func() (space.Amount, error)
	metrics  *metrics.Metrics
	arrived  func(bytes int64)
	download *progress.Download

	metadataSize int64 // -1 when unknown
	size         int64 // expected now
	done         int64
	checkedAt    int64 // done when the free space was last checked
}

// Announced checks the free space if the file is larger than expected.
func (w *watcher) Announced(size int64) error {
	w.download.Resize(size)
	if size <= w.size {
		return nil
	}
	w.size = size
	free, err := w.free()
	if err != nil {
		return err
	}
	free.Inodes = -1 // the file exists
	if need := space.OfContent(size - w.done); !space.Fits(need, free) {
		return space.Refuse(need, free, "")
	}
	return nil
}

// Moved counts bytes, and ends the download of a file that would fill the disk.
func (w *watcher) Moved(bytes, done int64) error {
	w.done = done
	w.download.Move(bytes, done)
	if bytes > 0 {
		w.metrics.Downloaded(w.manifest, bytes)
		w.arrived(bytes)
	}
	return w.checkUnexpected()
}

// While a file goes beyond its expected size, the free space is checked after each
// unexpectedStep, and unexpectedSpare stays free for others.
const unexpectedStep, unexpectedSpare = 64 << 20, 256 << 20

func (w *watcher) checkUnexpected() error {
	if w.done <= max(w.size, w.checkedAt+unexpectedStep) {
		return nil
	}
	w.checkedAt = w.done
	if w.metadataSize >= 0 && w.done > 2*w.metadataSize+unexpectedStep {
		return refusal.New(refusal.TooLarge, "received %s of a file whose size is %s by its Metadata", humanize.IBytes(uint64(w.done)), humanize.IBytes(uint64(w.metadataSize)))
	}
	free, err := w.free()
	if err != nil {
		return err
	}
	if free.Bytes < unexpectedSpare {
		return refusal.New(refusal.NoSpace, "received %s of a file without an announced size, and %s are left free: make room on the disk of data_dir",
			humanize.IBytes(uint64(w.done)), humanize.IBytes(uint64(free.Bytes)))
	}
	return nil
}

// Received notes that the proof of the file no longer waits for the provider.
func (w *watcher) Received() { w.download.Received() }

// Resumed counts bytes of an unfinished download that are not downloaded again.
func (w *watcher) Resumed(bytes int64) { w.metrics.Resumed(w.manifest, bytes) }

// Mismatch counts a file whose digest was not the expected one.
func (w *watcher) Mismatch(error) { w.metrics.VerifyFailed(w.manifest) }
