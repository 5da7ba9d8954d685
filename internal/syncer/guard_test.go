package syncer

import (
	"fmt"
	"testing"

	"syncd/internal/durable"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/refusal"
)

func TestSizesWhoseSumOverflowsAreMoreThanFits(t *testing.T) {
	m, err := mirror.Open(t.TempDir(), &durable.Disk{})
	if err != nil {
		t.Fatal(err)
	}
	r := &run{Syncer: &Syncer{Config: Config{Mirror: m}}}
	for _, size := range []int64{1 << 50, 1 << 60} {
		j := &job{sizes: map[manifest.Digest]int64{}}
		for i := range 8192 { // of 1<<50 bytes: 1<<63 in all
			digest := manifest.Digest{Algorithm: manifest.SHA256, Hex: fmt.Sprintf("%064x", i)}
			j.plan.Missing = append(j.plan.Missing, manifest.File{Path: fmt.Sprint(i), Expected: digest})
			j.sizes[digest] = size
		}
		j.plan.Files = j.plan.Missing
		next := &job{sizes: map[manifest.Digest]int64{}}
		r.reserveSpace([]*job{j, next})
		if refusal.ReasonOf(j.err) != refusal.NoSpace || !next.open() {
			t.Errorf("8192 files of %d bytes: %v; the next: %v", size, j.err, next.err)
		}
		var report ManifestReport
		r.foresee(j, &report)
		if report.BytesDownloaded <= 0 {
			t.Errorf("%d bytes foreseen", report.BytesDownloaded)
		}
	}
}
