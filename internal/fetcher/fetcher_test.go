package fetcher

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/verify"
)

func TestFetchEverySizeAndAlgorithm(t *testing.T) {
	for _, algorithm := range []manifest.Algorithm{manifest.SHA256, manifest.SHA1, manifest.MD5} {
		for _, size := range []int64{0, 1, bufferSize - 1, bufferSize, bufferSize + 1, 2 * bufferSize, minSavedSize - 1, minSavedSize, minSavedSize + 1} {
			t.Run(fmt.Sprint(algorithm, " ", size), func(t *testing.T) {
				t.Parallel()
				b := newFixture(t, emulator.Random(1, size), algorithm)
				got, w, err := b.fetch(patient, time.Minute)
				b.wantProven(got, err)
				if want := (&watcher{moved: size, done: size, announced: []int64{size}}); !equal(w, want) {
					t.Errorf("watcher got %+v, want %+v", w, want)
				}
				b.wantRanges("")
				if n := b.downloads()[0]; n.BytesSent != size || n.Header.Get("Accept-Encoding") != "identity" || n.Header.Get("Referer") != "" || n.RawQuery != "" {
					t.Errorf("request %+v", n)
				}
			})
		}
	}
}

func TestWatcherErrorEndsFetch(t *testing.T) {
	b := newFixture(t, emulator.Random(2, 2*mib), manifest.SHA256)
	b.interrupt(mib)
	no := refusal.New(refusal.NoSpace, "2 MiB wanted, 1 MiB free")
	w := &watcher{refuse: no}
	_, err := New(connect(t, b.URL(), patient, time.Minute), open(t, b.dir), Config{}).Fetch(t.Context(), b.file, -1, w)
	if err != no || !slices.Equal(w.announced, []int64{2 * mib}) || len(b.downloads()) != 1 || b.partialSize() != mib {
		t.Errorf("announced %d, %d requests, %d bytes kept, %v", w.announced, len(b.downloads()), b.partialSize(), err)
	}
}

func TestManyFilesShareOneFetcher(t *testing.T) {
	b := newFixture(t, emulator.Random(1, 1), manifest.SHA256)
	var files []emulator.File
	for i := range 12 {
		files = append(files, emulator.File{Name: fmt.Sprint(i), Content: emulator.Random(uint64(i), int64(i)*200_000)})
	}
	b.SetManifest("m", "2026.10", files...)
	b.fault(emulator.Fault{Kind: emulator.KindTruncate, After: 100_000, Times: 5})
	f := New(connect(t, b.URL(), patient, time.Minute), open(t, b.dir), Config{})
	var running sync.WaitGroup
	for i, file := range files {
		want := digestOf(t, file.Content, manifest.SHA1)
		running.Go(func() {
			got, err := f.Fetch(t.Context(), manifest.File{Reference: manifest.Parts{Class: manifest.Data, Release: "2026.10", Name: fmt.Sprint(i)}.Reference(), Expected: want}, -1, &watcher{})
			if err != nil || got.Object.Size != file.Content.Size() {
				t.Errorf("%d: %+v, %v", i, got, err)
				return
			}
			if _, err := verify.File(t.Context(), open(t, b.dir), got.Name, want); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	running.Wait()
}
