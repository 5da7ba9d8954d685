package fetcher

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"syncd/internal/config"
	"syncd/internal/emulator"
	"syncd/internal/manifest"
)

// answering serves ranges in its own way, and the whole as it is.
func answering(t *testing.T, content []byte, segment func(w http.ResponseWriter, from, to int)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"e"`)
		asked := r.Header.Get("Range")
		if asked == "" {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
			return
		}
		var from int
		to := len(content)
		first, last, _ := strings.Cut(strings.TrimPrefix(asked, "bytes="), "-")
		fmt.Sscan(first, &from)
		if last != "" {
			fmt.Sscan(last, &to)
			to++
		}
		segment(w, from, to)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A body without a length can hold more than its Content-Range says. Nothing of
// that may reach the disk: what lies there may be hashed already.
func TestABodyLongerThanItsRangeIsCutOff(t *testing.T) {
	const size = 24 * mib
	content := readAll(t, emulator.Random(4, size))
	for name, here := range map[string]string{
		"before the end":     "[[0,1048576]]",
		"before other bytes": "[[0,1048576],[4194304,25165824]]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, emulator.Bytes(content), manifest.SHA256)
			b.leave(content, `{"validator":"\"e\"","total":25165824,"here":`+here+`}`)
			url := answering(t, content, func(w http.ResponseWriter, from, to int) {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, size))
				w.WriteHeader(http.StatusPartialContent)
				w.(http.Flusher).Flush()
				w.Write(content[from:to])
				w.Write(bytes.Repeat([]byte("wrong"), mib))
			})
			w := &watcher{}
			got, err := New(connect(t, url, patient, time.Minute), b.dir, segmented).Fetch(t.Context(), b.file, w)
			b.proven(got, err)
			if w.mismatches != 0 {
				t.Errorf("%d mismatches", w.mismatches)
			}
		})
	}
}

func TestAPartialFileLongerThanItsContentIsCutOff(t *testing.T) {
	const size = 2 * mib
	content := readAll(t, emulator.Random(4, size))
	for name, here := range map[string]string{
		"behind what is there": "[[0,1048576]]",
		"beyond the total":     "[[0,1048576],[2097152,3145728]]",
		"nothing known":        "[]",
		"in no order":          "[[5,6],[1,2]]",
		"huge numbers":         "[[0,1048576],[1048577,9223372036854775807]]",
		"negative numbers":     "[[-9223372036854775808,9223372036854775807]]",
		"overlaps":             "[[0,1048576],[1,2097152]]",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, emulator.Bytes(content), manifest.SHA256)
			b.leave(append(bytes.Clone(content[:mib]), make([]byte, 4*mib)...), `{"validator":"\"e\"","total":2097152,"here":`+here+`}`)
			url := answering(t, content, func(w http.ResponseWriter, from, to int) {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, size))
				w.WriteHeader(http.StatusPartialContent)
				w.Write(content[from:to])
			})
			got, err := New(connect(t, url, patient, time.Minute), b.dir, segmented).Fetch(t.Context(), b.file, &watcher{})
			b.proven(got, err)
		})
	}
}

// A server without ranges must not be asked for everything again by each look at
// whether more connections help: a long transfer would never end.
func TestSegmentsThatAreRefusedCostNothing(t *testing.T) {
	const size = 18 * mib
	content := readAll(t, emulator.Random(4, size))
	for name, segment := range map[string]http.HandlerFunc{
		"the whole": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"e"`)
			w.Write(content)
		},
		"another validator": func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("If-Range")
			w.Header().Set("ETag", `"f"`)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
		},
		"less": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"e"`)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-9/%d", size))
			w.WriteHeader(http.StatusPartialContent)
			w.Write(content[:10])
		},
		"no range": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, emulator.Bytes(content), manifest.SHA256)
			got, w, asked, err := b.fetchBeside(content, segment)
			b.proven(got, err)
			if w.moved != size || len(asked) < 2 || len(asked) > segmented.Segments {
				t.Errorf("%d bytes came, ranges %q", w.moved, asked)
			}
		})
	}
}

// The free space must be looked at for a content that takes another's place.
func TestAContentThatReplacesAnotherIsAnnounced(t *testing.T) {
	older, newer := readAll(t, emulator.Random(1, 24*mib)), readAll(t, emulator.Random(2, 32*mib))
	b := newBed(t, emulator.Bytes(newer), manifest.SHA256)
	partial := make([]byte, 12*mib)
	copy(partial, older[:2*mib])
	copy(partial[8*mib:], older[8*mib:12*mib])
	b.leave(partial, `{"validator":"\"e\"","total":25165824,"here":[[0,2097152],[8388608,12582912]]}`)
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, etag := older, `"e"`
		if requests++; requests > 1 {
			content, etag = newer, `"f"`
		}
		w.Header().Set("ETag", etag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	defer server.Close()
	w := &watcher{}
	got, err := New(connect(t, server.URL, patient, time.Minute), b.dir, config.Transfers{Files: 1, Segments: 1}).Fetch(t.Context(), b.file, w)
	b.proven(got, err)
	if fmt.Sprint(w.announced) != fmt.Sprint([]int64{24 * mib, 32 * mib}) {
		t.Errorf("announced %v", w.announced)
	}
}

func TestAServerThatRefusesSegmentsIsNotAskedAgain(t *testing.T) {
	p := pace{limit: 4}
	p.look(mib, 1)
	if p.wanted != 4 {
		t.Fatalf("%d connections wanted", p.wanted)
	}
	p.refuse()
	for range 10 * restTicks {
		if p.look(mib, 1); p.wanted != 1 {
			t.Fatalf("%d connections wanted", p.wanted)
		}
	}
}

// What a provider serves whole must arrive, also where its ranges are broken in
// a way that only the digest shows.
func TestRangesWithWrongBytesCostOneMismatch(t *testing.T) {
	content := readAll(t, emulator.Random(4, 18*mib))
	b := newBed(t, emulator.Bytes(content), manifest.SHA256)
	got, w, asked, err := b.fetchBeside(content, func(w http.ResponseWriter, r *http.Request) {
		serve(w, r, make([]byte, len(content)))
	})
	b.proven(got, err)
	if w.mismatches != 1 || asked[len(asked)-1] != "" {
		t.Errorf("%d mismatches, ranges %q", w.mismatches, asked)
	}
}

// An empty file can have a validator still that tells the size of an older content.
func TestTheSizeOfAnOlderContentIsForgotten(t *testing.T) {
	content := readAll(t, emulator.Random(4, 3*mib))
	for name, total := range map[string]int{"less": 1, "more": 9 * mib} {
		for length, fault := range map[string]emulator.Fault{"told": {Kind: emulator.KindChangeETag}, "not told": {Kind: emulator.KindNoLength}} {
			t.Run(name+" "+length, func(t *testing.T) {
				b := newBed(t, emulator.Bytes(content), manifest.SHA256)
				b.leave(nil, fmt.Sprintf(`{"validator":"\"e\"","total":%d}`, total))
				b.fault(fault)
				got, w, err := b.fetch(patient, time.Minute)
				b.proven(got, err)
				b.wantRanges("")
				if w.mismatches != 0 {
					t.Errorf("%d mismatches", w.mismatches)
				}
			})
		}
	}
}
