package fetcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/manifest"
)

func TestRetryRequestsOnlyMissingBytes(t *testing.T) {
	for _, size := range []int64{4 * mib, 1000} { // also below minSavedSize
		cut := size / 4
		b := newFixture(t, emulator.Random(9, size), manifest.SHA256)
		b.fault(emulator.Fault{Kind: emulator.KindTruncate, After: cut, Times: 2})
		got, w, err := b.fetch(patient, time.Minute)
		b.wantProven(got, err)
		b.wantRanges("", rangeFrom(cut), rangeFrom(2*cut))
		all := b.downloads()
		for i, sent := range []int64{cut, cut, 2 * cut} {
			if all[i].BytesSent != sent {
				t.Errorf("request %d sent %d bytes, want %d", i, all[i].BytesSent, sent)
			}
		}
		if all[1].Header.Get("If-Range") == "" || all[0].Header.Get("If-Range") != "" {
			t.Errorf("If-Range %q", all[1].Header.Get("If-Range"))
		}
		if want := (&watcher{moved: size, done: size, announced: []int64{size, size, size}, resumed: 3 * cut}); !equal(w, want) {
			t.Errorf("watcher got %+v, want %+v", w, want)
		}
	}
}

func TestNextProcessResumesDownload(t *testing.T) {
	const size, kept = 3 * mib, 2*mib + 3
	for _, algorithm := range []manifest.Algorithm{manifest.SHA256, manifest.SHA1, manifest.MD5} {
		b := newFixture(t, emulator.Random(2, size), algorithm)
		b.interrupt(kept)
		got, w, err := b.fetch(patient, time.Minute)
		b.wantProven(got, err)
		b.wantRanges(rangeFrom(kept))
		if n := b.downloads()[0]; n.BytesSent != size-kept || n.Status != http.StatusPartialContent {
			t.Errorf("%s: status %d, %d bytes sent", algorithm, n.Status, n.BytesSent)
		}
		if want := (&watcher{moved: size - kept, done: size, announced: []int64{size}, resumed: kept}); !equal(w, want) {
			t.Errorf("%s: watcher got %+v, want %+v", algorithm, w, want)
		}
	}
}

func TestDamagedPartialFilesAreNeverTrusted(t *testing.T) {
	const size, kept = 3 * mib, 2 * mib
	edit := func(change func(t *testing.T, b *fixture, f *os.File)) func(*testing.T, *fixture) {
		return func(t *testing.T, b *fixture) {
			f, err := os.OpenFile(b.path(), os.O_RDWR, 0)
			must(t, err)
			defer f.Close()
			change(t, b, f)
		}
	}
	validator := func(text string) func(*testing.T, *fixture) {
		return func(t *testing.T, b *fixture) {
			must(t, os.WriteFile(b.path()+validatorSuffix, []byte(text), 0o600))
		}
	}
	tests := map[string]struct {
		damage     func(*testing.T, *fixture)
		ranges     []string
		mismatches int
	}{
		"garbled": {edit(func(t *testing.T, _ *fixture, f *os.File) {
			if _, err := f.WriteAt([]byte("garbled"), 1000); err != nil {
				t.Fatal(err)
			}
		}), []string{rangeFrom(kept), ""}, 1},
		"zeroes at its end, as after a power loss": {edit(func(t *testing.T, _ *fixture, f *os.File) {
			must(t, errors.Join(f.Truncate(kept-5000), f.Truncate(kept)))
		}), []string{rangeFrom(kept), ""}, 1},
		"shorter": {edit(func(t *testing.T, _ *fixture, f *os.File) {
			must(t, f.Truncate(mib))
		}), []string{rangeFrom(mib)}, 0},
		"empty": {edit(func(t *testing.T, _ *fixture, f *os.File) {
			must(t, f.Truncate(0))
		}), []string{""}, 0},
		"as long as the file": {edit(func(t *testing.T, _ *fixture, f *os.File) {
			must(t, f.Truncate(size))
		}), []string{""}, 0},
		"longer than the file": {edit(func(t *testing.T, _ *fixture, f *os.File) {
			must(t, f.Truncate(2*size))
		}), []string{""}, 0},
		"whole": {edit(func(t *testing.T, b *fixture, f *os.File) {
			if _, err := f.Write(readAll(t, b.content)); err != nil {
				t.Fatal(err)
			}
		}), nil, 0},
		"whole, without validator": {func(t *testing.T, b *fixture) {
			must(t, errors.Join(os.WriteFile(b.path(), readAll(t, b.content), 0o600), os.Remove(b.path()+validatorSuffix)))
		}, nil, 0},
		"without validator": {func(t *testing.T, b *fixture) {
			must(t, os.Remove(b.path()+validatorSuffix))
		}, []string{""}, 0},
		"with another validator":         {validator(`"\"other\""`), []string{rangeFrom(kept)}, 0}, // the server sends the whole file
		"with a date":                    {validator(`"Thu, 01 Jan 2026 00:00:00 GMT"`), []string{rangeFrom(kept)}, 0},
		"with a torn validator":          {validator(`"\"abc`), []string{""}, 0},
		"with an empty validator":        {validator(``), []string{""}, 0},
		"with a strange validator":       {validator(`["a"]`), []string{""}, 0},
		"with one of control characters": {validator(`"\"a\u0000\""`), []string{""}, 0},
		"with one that is too long":      {validator(`{"validator":"\"` + strings.Repeat("e", maxCondition) + `\""}`), []string{""}, 0},
		"with a wrong size":              {validator(`{"validator":"\"other\"","total":5}`), []string{""}, 0},
		"with a larger size":             {validator(`{"validator":"\"other\"","total":5000000}`), []string{rangeFrom(kept)}, 0},
		"with a total of 0":              {validator(`{"validator":"\"other\"","total":0}`), []string{rangeFrom(kept)}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, emulator.Random(2, size), manifest.SHA256)
			b.interrupt(kept)
			tt.damage(t, b)
			got, w, err := b.fetch(patient, time.Minute)
			b.wantProven(got, err)
			b.wantRanges(tt.ranges...)
			if w.mismatches != tt.mismatches || w.done != size {
				t.Errorf("watcher got %+v", w)
			}
		})
	}
}

func TestCompleteReadOnlyPartialFileIsUsed(t *testing.T) {
	b := newFixture(t, emulator.Random(2, 2*mib), manifest.SHA256)
	must(t, os.WriteFile(b.path(), readAll(t, b.content), 0o400))
	got, err := New(connect(t, b.URL(), patient, time.Minute), open(t, b.dir), Config{}).Fetch(t.Context(), b.file, -1, &watcher{})
	if err != nil || got.Object.Size != 2*mib || len(b.Requests()) != 0 {
		t.Errorf("%+v after %d requests, %v", got, len(b.Requests()), err)
	}
}

func TestMismatchOfResumedBytesDoesNotCount(t *testing.T) {
	b := newFixture(t, emulator.Random(2, 3*mib), manifest.SHA256)
	b.interrupt(2 * mib)
	b.writePartial(make([]byte, 2*mib), string(readFile(t, b.path()+validatorSuffix))) // as after a power cut
	b.fault(emulator.Fault{Kind: emulator.KindCorrupt, After: 5, Skip: 1, Times: 1})
	got, w, err := b.fetch(patient, time.Minute)
	b.wantProven(got, err)
	b.wantRanges(rangeFrom(2*mib), "", "")
	if w.mismatches != 2 {
		t.Errorf("%d mismatches", w.mismatches)
	}
}

func TestCancelledFetchKeepsItsBytes(t *testing.T) {
	b := newFixture(t, emulator.Random(2, 3*mib), manifest.SHA256)
	b.fault(emulator.Fault{Kind: emulator.KindStall, After: 2 * mib})
	cause := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	w := &cancellingWatcher{at: 2 * mib, cancel: func() { cancel(cause) }}
	_, err := New(connect(t, b.URL(), patient, time.Minute), open(t, b.dir), Config{}).Fetch(ctx, b.file, -1, w)
	if err != cause || b.partialSize() != 2*mib {
		t.Errorf("%d bytes kept, %v", b.partialSize(), err)
	}
	b.ClearFaults()
	b.ResetRequests()
	if _, err := New(connect(t, b.URL(), patient, time.Minute), open(t, b.dir), Config{}).Fetch(ctx, b.file, -1, w); !errors.Is(err, context.Canceled) && err != cause {
		t.Errorf("with a cancelled context: %v", err)
	}
	got, _, err := b.fetch(patient, time.Minute)
	b.wantProven(got, err)
	b.wantRanges(rangeFrom(2 * mib))
}

func TestBytesBeyondKnownRangesAreCutOff(t *testing.T) {
	const size = 2 * mib
	content := readAll(t, emulator.Random(4, size))
	for name, here := range map[string]string{
		"behind present bytes": "[[0,1048576]]",
		"beyond the total":     "[[0,1048576],[2097152,3145728]]",
		"no present bytes":     "[]",
		"in no order":          "[[5,6],[1,2]]",
		"huge numbers":         "[[0,1048576],[1048577,9223372036854775807]]",
		"negative numbers":     "[[-9223372036854775808,9223372036854775807]]",
		"overlaps":             "[[0,1048576],[1,2097152]]",
	} {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t, emulator.Bytes(content), manifest.SHA256)
			b.writePartial(append(bytes.Clone(content[:mib]), make([]byte, 4*mib)...), `{"validator":"\"e\"","total":2097152,"here":`+here+`}`)
			url := rangeServer(t, content, func(w http.ResponseWriter, from, to int) {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, size))
				w.WriteHeader(http.StatusPartialContent)
				w.Write(content[from:to])
			})
			got, err := New(connect(t, url, patient, time.Minute), open(t, b.dir), fourSegments).Fetch(t.Context(), b.file, -1, &watcher{})
			b.wantProven(got, err)
		})
	}
}

func TestPlantedPartialFileChangesNothingElsewhere(t *testing.T) {
	for name, plant := range map[string]func(victim, path string) error{"symlink": os.Symlink, "hard link": os.Link} {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t, emulator.Random(2, 2*mib), manifest.SHA256)
			victim := filepath.Join(filepath.Dir(b.dir), "victim-"+filepath.Base(b.dir))
			must(t, errors.Join(os.WriteFile(victim, []byte("content"), 0o640), plant(victim, b.path())))
			defer os.Remove(victim)
			got, _, err := b.fetch(patient, time.Minute)
			b.wantProven(got, err)
			if info, err := os.Stat(victim); err != nil || info.Mode().Perm() != 0o640 || string(readFile(t, victim)) != "content" {
				t.Errorf("the victim changed: %v, %v", info, err)
			}
		})
	}
}
