package fetcher

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/host/rate"
	"syncd/internal/manifest"
)

func TestMemoryIsConstant(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: this moves 256 MiB, too much for -short")
	}
	const size = 256 * mib
	b := newFixture(t, emulator.Random(5, size), manifest.SHA256)
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	w := &memoryWatcher{}
	got, err := New(connect(t, b.URL(), patient, time.Minute), open(t, b.dir), Config{}).Fetch(t.Context(), b.file, -1, w) // the figure includes the emulator's memory
	if err != nil || got.Object.Size != size {
		t.Fatalf("%+v, %v", got, err)
	}
	if used := w.peak - before.HeapInuse; w.peak > before.HeapInuse && used > 24*mib {
		t.Errorf("%d KiB were in use for %d MiB", used>>10, size/mib)
	}
}

// memoryWatcher samples the memory in use.
type memoryWatcher struct {
	watcher
	looked int64
	peak   uint64
}

func (w *memoryWatcher) Moved(_, done int64) error {
	if done < w.looked+8*mib {
		return nil
	}
	w.looked = done
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	w.peak = max(w.peak, now.HeapInuse)
	return nil
}

func limit(perSecond int64) *rate.Budget {
	return rate.NewBudget(rate.Always(perSecond))
}

func TestBandwidthLimitIsShared(t *testing.T) {
	const perSecond = 64 << 10
	contents := [][]byte{readAll(t, emulator.Random(1, mib)), readAll(t, emulator.Random(2, 2*mib))}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		source := &memorySource{named: map[string][]byte{}}
		f := New(source, open(t, dir), Config{Files: 2, Bandwidth: limit(perSecond)})
		for _, content := range contents {
			source.named[fileOf(t, content).Expected.Hex()] = content
		}
		begin := time.Now()
		var running sync.WaitGroup
		for _, content := range contents {
			file := fileOf(t, content)
			file.Reference = renamed(file.Reference, file.Expected.Hex())
			running.Go(func() {
				if _, err := f.Fetch(t.Context(), file, -1, &watcher{}); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		// The burst is what one second brings.
		if want := time.Duration(3*mib-perSecond) * time.Second / perSecond; time.Since(begin).Round(time.Millisecond) != want {
			t.Errorf("%v, want %v", time.Since(begin), want)
		}
	})
}

func TestDeadlineUnderBandwidthLimitIsNoEndOfFile(t *testing.T) {
	content := readAll(t, emulator.Random(1, mib))
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		// Between two bytes, so that the deadline and a byte are never due at the same time.
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour+time.Second/2)
		defer cancel()
		file := fileOf(t, content)
		w := &watcher{}
		_, err := New(&memorySource{content: content}, open(t, dir), Config{Bandwidth: limit(1)}).Fetch(ctx, file, -1, w)
		if !errors.Is(err, context.DeadlineExceeded) || w.mismatches != 0 || w.done != int64(time.Hour/time.Second)+1 { // the burst is one byte
			t.Errorf("%+v, %v", w, err)
		}
	})
}
