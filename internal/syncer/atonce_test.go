package syncer_test

import (
	"fmt"
	"strings"
	"testing"

	"syncd/internal/fetcher"
	"syncd/internal/report"
)

// runningDownloads returns how many small and how many large files are being downloaded.
func (w *world) runningDownloads() (small, large int) {
	for _, f := range w.progress.Snapshot().Files {
		if strings.HasPrefix(f.Path, "large") {
			large++
		} else {
			small++
		}
	}
	return small, large
}

func TestManySmallFilesAreDownloadedBesideAFewLargeOnes(t *testing.T) {
	w := start(t, "data")
	content, gate := files{}, make(chan struct{})
	w.gates = map[string]chan struct{}{}
	for i := range 80 {
		content[fmt.Sprintf("small%02d.dat", i)] = fmt.Sprint("small ", i)
	}
	for i := range 8 {
		content[fmt.Sprintf("large%d.dat", i)] = fmt.Sprint(i) + strings.Repeat("much", fetcher.SmallFile/4)
	}
	for name := range content {
		w.gates[name] = gate
	}
	w.publish("data", "2026.09", content)
	w.cfg.Transfers = 3
	w.configure()
	r := w.background()
	eventually(t, "64 small files and 3 large ones are downloaded", func() bool {
		small, large := w.runningDownloads()
		return small == 64 && large == 3
	})
	close(gate)
	w.expect(r.wait(), "data", report.Updated)
	w.serves("data", content)
}
