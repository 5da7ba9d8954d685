package syncer

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/space"
	"syncd/internal/golive"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/metrics"
	"syncd/internal/mirror"
	"syncd/internal/mirror/lifespan"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/report/progress"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

func TestSizesThatWouldOverflowAreRefused(t *testing.T) {
	m, err := mirror.Open(t.TempDir(), &durable.Disk{})
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := store.Open(m.Root(), "syncd.db", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	room, err := staging.Open(m, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	shared := NewShared()
	r := New(Config{Shared: shared, Directory: golive.NewDirectory(func() error { return nil }, shared), Config: golive.Config{
		Mirror: m, Store: s, Staging: room, Lifespans: &lifespan.Register{}, Metrics: metrics.New(prometheus.NewRegistry(), "test", metrics.Probes{}),
	}}, &progress.Tracker{}).newRun(t.Context(), request.Sync{}, nil)
	for _, size := range []int64{1 << 50, 1 << 60} {
		p := &planned{}
		for i := range 8192 { // of 1<<50 bytes: 1<<63 in all
			digest := manifest.ObjectID{byte(i), byte(i >> 8)}.Digest()
			p.missing = append(p.missing, &manifest.File{Path: fmt.Sprint(i), Expected: digest})
			p.files = append(p.files, *p.missing[i])
		}
		p.contents = manifest.ContentsOf(p.files)
		p.sizes = manifest.NewTable[int64](p.contents)
		for i := range p.files {
			p.sizes.Put(p.files[i].Expected, size)
		}
		j, next := &job{entry: noEntry()}, &job{entry: noEntry()}
		j.setPlan(p, nil)
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if (wave{r, []*job{j}}).reserveSpace(stopped); !j.open() {
			t.Errorf("after the stop room was looked for, and made: %v", j.ended().err)
		}
		wave{r, []*job{j, next}}.reserveSpace(t.Context())
		if refusal.ReasonOf(j.ended().err) != refusal.NoSpace || !next.open() {
			t.Errorf("8192 files of %d bytes: %v; the next: %v", size, j.ended().err, next.ended().err)
		}
		var result report.ManifestResult
		predict(j, &result)
		if result.BytesDownloaded <= 0 {
			t.Errorf("%d bytes foreseen", result.BytesDownloaded)
		}
	}
}

func TestADryRunDoesNotCountWhatASyncOfItsManifestReserved(t *testing.T) {
	shared := NewShared()
	running := &run{jobs: []*job{{target: targetOf("data")}, {target: targetOf("other")}}}
	for i, j := range running.jobs {
		j.reserve(space.Amount{Bytes: 1 << i})
	}
	shared.begin(running)
	dry := []*job{{target: targetOf("data")}}
	if got := shared.Reserved(namesOfJobs(dry)); got.Bytes != 2 {
		t.Errorf("%d bytes are reserved by others, want 2", got.Bytes)
	}
}
