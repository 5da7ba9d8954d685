package fetcher

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/emulator"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/verify"
)

// fourSegments is the default configuration.
var fourSegments = Config{Files: 4, Segments: 4}

// limitRate caps the rate of each connection, in bytes per second.
func (b *fixture) limitRate(rate int64) { b.fault(emulator.Fault{Kind: emulator.KindSlow, Rate: rate}) }

func (b *fixture) fetchSegmented(ctx context.Context, watch Watcher) (verify.Proven, error) {
	b.t.Helper()
	return New(connect(b.t, b.URL(), patient, time.Minute), open(b.t, b.dir), fourSegments).Fetch(ctx, b.file, -1, watch)
}

func TestCappedConnectionsGetWorkers(t *testing.T) {
	const size, rate = 40*mib + 7, mib
	content := readAll(t, emulator.Random(8, size))
	for _, algorithm := range []manifest.Algorithm{manifest.SHA256, manifest.MD5} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			source := &cappedSource{contents: map[string][]byte{"": content}, rate: rate}
			expected := digestOf(t, emulator.Bytes(content), algorithm)
			w, begin := &watcher{}, time.Now()
			if _, err := New(source, open(t, dir), fourSegments).Fetch(t.Context(), manifest.File{Expected: expected}, -1, w); err != nil {
				t.Fatal(err)
			}
			if want := (&watcher{moved: size, done: size, announced: []int64{size}}); !equal(w, want) || w.resumed != 0 {
				t.Errorf("%s: watcher got %+v", algorithm, w)
			}
			if alone := size / rate * time.Second; time.Since(begin) > alone/3 {
				t.Errorf("%s: %v, alone %v: ranges %q", algorithm, time.Since(begin), alone, source.asked)
			}
		})
	}
}

func TestUnsafeSegmentsAreNotUsed(t *testing.T) {
	tests := map[string]struct {
		size      int64
		change    func(*transport.Response) error
		transfers Config
	}{
		"no validator": {24 * mib, func(res *transport.Response) error {
			res.Header.Del("ETag")
			return nil
		}, fourSegments},
		"a weak one": {24 * mib, func(res *transport.Response) error {
			res.Header.Set("ETag", `W/"e"`)
			return nil
		}, fourSegments},
		"a date": {24 * mib, func(res *transport.Response) error {
			res.Header.Del("ETag")
			res.Header.Set("Last-Modified", "Thu, 01 Oct 2026 00:00:00 GMT")
			return nil
		}, fourSegments},
		"no length": {24 * mib, func(res *transport.Response) error {
			res.Length = -1
			return nil
		}, fourSegments},
		"a small file":   {minSegmentedFile - 1, nil, fourSegments},
		"not configured": {24 * mib, nil, Config{Files: 4, Segments: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, dir := readAll(t, emulator.Random(8, tt.size)), t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				source := &cappedSource{contents: map[string][]byte{"": content}, rate: mib, change: tt.change}
				if _, err := New(source, open(t, dir), tt.transfers).Fetch(t.Context(), fileOf(t, content), -1, &watcher{}); err != nil {
					t.Error(err)
				}
				if len(source.asked) != 1 || source.asked[0] != "" {
					t.Errorf("ranges %q", source.asked)
				}
			})
		})
	}
}

func TestNextProcessFetchesOnlyTheGaps(t *testing.T) {
	const size = 48 * mib
	content := readAll(t, emulator.Random(8, size))
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		source, file := &cappedSource{contents: map[string][]byte{"": content}, rate: mib}, fileOf(t, content)
		cause := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		if _, err := New(source, open(t, dir), fourSegments).Fetch(ctx, file, -1, &cancellingWatcher{at: size / 2, cancel: func() { cancel(cause) }}); err != cause {
			t.Fatal(err)
		}
		kept := parseValidator(readFile(t, filepath.Join(dir, Name(file.Expected)+validatorSuffix)))
		if len(kept.Present) < 2 {
			t.Fatalf("no gaps: %v", kept.Present)
		}
		next := &watcher{}
		if _, err := New(source, open(t, dir), fourSegments).Fetch(t.Context(), file, -1, next); err != nil {
			t.Fatal(err)
		}
		if next.mismatches != 0 || next.moved > size/2+mib || next.resumed+next.moved != size {
			t.Errorf("%d bytes arrived, %d were resumed", next.moved, next.resumed)
		}
	})
}

func TestWrongCheckpointCostsACleanStart(t *testing.T) {
	const size = 20 * mib
	content := readAll(t, emulator.Random(8, size))
	for name, kept := range map[string]string{
		"bytes that are missing":     `{"validator":"%s","total":20971520,"here":[[0,1048576],[4194304,8388608]]}`,
		"beyond the end of the file": `{"validator":"%s","total":20971520,"here":[[0,1048576],[18874368,20971520]]}`,
		"in no order":                `{"validator":"%s","total":20971520,"here":[[4194304,8388608],[0,1048576]]}`,
		"none":                       `{"validator":"%s","total":20971520,"here":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, emulator.Bytes(content), manifest.SHA256)
			b.interrupt(8 * mib)
			etag := parseValidator(readFile(t, b.path()+validatorSuffix)).Condition
			partial := make([]byte, 8*mib) // like after a power cut, only the first bytes are right
			copy(partial, content[:mib])
			b.writePartial(partial, fmt.Sprintf(kept, strings.ReplaceAll(etag, `"`, `\"`)))
			got, err := b.fetchSegmented(t.Context(), &watcher{})
			b.wantProven(got, err)
		})
	}
}

func TestWatcherErrorInWorkerEndsFetch(t *testing.T) {
	b := newFixture(t, emulator.Random(8, 40*mib), manifest.SHA256)
	b.limitRate(16 * mib)
	no := refusal.New(refusal.NoSpace, "enough")
	_, err := b.fetchSegmented(t.Context(), &failingWatcher{at: 20 * mib, err: no})
	if !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
}

// failingWatcher returns err once `at` bytes are present.
type failingWatcher struct {
	watcher
	at  int64
	err error
}

func (r *failingWatcher) Moved(_, done int64) error {
	if done >= r.at {
		return r.err
	}
	return nil
}

func TestContentReplacedDuringSegmentsIsNotMixed(t *testing.T) {
	older, newer := readAll(t, emulator.Random(1, 32*mib)), readAll(t, emulator.Random(2, 32*mib))
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		source := &cappedSource{contents: map[string][]byte{"": older}, rate: mib, newer: newer}
		w := &watcher{}
		got, err := New(source, open(t, dir), fourSegments).Fetch(t.Context(), fileOf(t, newer), -1, w)
		if err != nil || got.Object.Size != int64(len(newer)) || w.mismatches != 0 {
			t.Errorf("%+v, %d mismatches, %v: ranges %q", got, w.mismatches, err, source.asked)
		}
	})
}

func TestFilesGetConnectionsBeforeSegments(t *testing.T) {
	large, small := readAll(t, emulator.Random(8, 32*mib)), readAll(t, emulator.Random(9, mib))
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		source := &cappedSource{contents: map[string][]byte{"large": large, "small": small}, rate: mib}
		f := New(source, open(t, dir), fourSegments)
		fetch := func(name string) {
			file := fileOf(t, source.contents[name])
			file.Reference = renamed(file.Reference, name)
			if _, err := f.Fetch(t.Context(), file, -1, &watcher{}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		var running sync.WaitGroup
		var isOver atomic.Bool
		running.Go(func() {
			fetch("large")
			isOver.Store(true)
		})
		time.Sleep(time.Second) // on the fake clock
		if synctest.Wait(); source.requests() != fourSegments.Files {
			t.Errorf("the large file does not use all connections: ranges %q", source.asked)
		}
		fetch("small")
		if isOver.Load() {
			t.Error("the small file waited until the large one ended")
		}
		running.Wait()
	})
}

func TestTooLargeDownloadLeavesNothing(t *testing.T) {
	content, dir := readAll(t, emulator.Random(8, 24*mib)), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		source := &cappedSource{contents: map[string][]byte{"": content}, rate: mib}
		no := refusal.New(refusal.TooLarge, "enough")
		if _, err := New(source, open(t, dir), fourSegments).Fetch(t.Context(), fileOf(t, content), -1, &failingWatcher{at: 13*mib + 5, err: no}); !errors.Is(err, no) {
			t.Error(err)
		}
	})
	if left := fileNames(t, dir); len(left) > 0 {
		t.Errorf("leftover files: %q", left)
	}
}
