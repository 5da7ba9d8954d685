package fetcher

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/manifest"
)

// Fetches that are cancelled at random moments leave no goroutine, return their
// connections and call no Watcher afterwards. The last ones complete the files.
func TestCancelledFetchesReturnTheirConnections(t *testing.T) {
	rounds := 20
	if os.Getenv("SYNCD_TORTURE") == "full" {
		rounds = 200
	}
	source := &cappedSource{contents: map[string][]byte{}, rate: 10 * mib}
	var files []manifest.File
	for i, name := range []string{"a", "b", "c"} {
		content := readAll(t, emulator.Random(uint64(i), minSegmentedFile+int64(i)*mib))
		file := fileOf(t, content)
		file.Reference = renamed(file.Reference, name)
		source.contents[name] = content
		files = append(files, file)
	}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := New(source, open(t, dir), fourSegments)
		for round := range rounds {
			var running sync.WaitGroup
			for _, file := range files {
				running.Go(func() { fetchForAWhile(t, f, dir, file) })
			}
			running.Wait()
			if !f.connections.TryAcquire(4) || f.running.Load() != 0 {
				t.Fatalf("round %d: a connection is not returned, or %d files count as running", round, f.running.Load())
			}
			f.connections.Release(4)
		}
		for _, file := range files {
			if _, err := f.Fetch(t.Context(), file, -1, &watcher{}); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestFetchesThatWaitToCreateTheirFilesEndWithTheContext(t *testing.T) {
	dir, file := t.TempDir(), fileOf(t, []byte("x"))
	f := New(&cappedSource{contents: map[string][]byte{"": []byte("x")}, rate: mib}, open(t, dir), Config{})
	if !f.creating.TryAcquire(maxCreating) {
		t.Fatal("files are being created")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Millisecond, func() { cancel(errors.New("no more")) })
	if _, err := f.Fetch(ctx, file, 1, &watcher{}); err == nil || err.Error() != "no more" || len(fileNames(t, dir)) != 0 {
		t.Errorf("%v, files %q", err, fileNames(t, dir))
	}
	f.creating.Release(maxCreating)
	if _, err := f.Fetch(t.Context(), file, 1, &watcher{}); err != nil {
		t.Error(err)
	}
}

func fetchForAWhile(t *testing.T, f *Fetcher, dir string, file manifest.File) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.Int64N(int64(time.Second))))
	defer cancel()
	w := &endedWatcher{t: t}
	got, err := f.Fetch(ctx, file, -1, w)
	w.ended.Store(true)
	if err == nil {
		os.Remove(filepath.Join(dir, got.Name))
	}
}

// endedWatcher fails the test when it is called after the end of its Fetch.
type endedWatcher struct {
	t     *testing.T
	ended atomic.Bool
}

func (w *endedWatcher) check() {
	if w.ended.Load() {
		w.t.Error("the Watcher was called after Fetch returned")
	}
}

func (w *endedWatcher) Announced(int64) error    { w.check(); return nil }
func (w *endedWatcher) Moved(int64, int64) error { w.check(); return nil }
func (w *endedWatcher) Received()                { w.check() }
func (w *endedWatcher) Resumed(int64)            { w.check() }
func (w *endedWatcher) Mismatch(err error)       { w.t.Error(err) }
