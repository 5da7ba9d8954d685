package fetcher

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/emulator"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

func TestContentReplacedBetweenAttempts(t *testing.T) {
	older, newer := emulator.Random(1, 3*mib), emulator.Random(2, 2*mib+1)
	t.Run("by the expected one", func(t *testing.T) {
		b := newFixture(t, newer, manifest.SHA256)
		b.publish(older)
		b.fault(emulator.Fault{Kind: emulator.KindTruncate, After: mib, Times: 1})
		b.fault(emulator.Fault{Kind: emulator.KindStatus, Status: 404})
		if _, _, err := b.fetch(patient, time.Minute); err == nil {
			t.Fatal("no error")
		}
		b.ClearFaults()
		b.publish(newer)
		got, w, err := b.fetch(patient, time.Minute)
		b.wantProven(got, err)
		b.wantRanges("", rangeFrom(mib), rangeFrom(mib))
		if w.mismatches != 0 {
			t.Error("the replaced content caused a mismatch")
		}
	})
	t.Run("by another one", func(t *testing.T) {
		b := newFixture(t, older, manifest.SHA256)
		b.interrupt(mib)
		b.publish(newer)
		_, w, err := b.fetch(patient, time.Minute)
		if refusal.ReasonOf(err) != refusal.HashMismatch || w.mismatches != 2 {
			t.Errorf("%d mismatches, %v", w.mismatches, err)
		}
	})
}

// A server that ignores If-Range sends the rest of the new content after the start of
// the old one.
func TestRestOfOtherContentIsNotDownloaded(t *testing.T) {
	older, newer := emulator.Random(1, 3*mib), emulator.Random(2, 2*mib+1)
	const date, later = "Thu, 01 Jan 2026 00:00:00 GMT", "Fri, 02 Jan 2026 00:00:00 GMT"
	tests := map[string]struct {
		kept       string // content of the validator's file
		headers    map[string]string
		ranges     []string
		mismatches int
	}{
		"another ETag":                {`{"validator":"\"x\""}`, map[string]string{"ETag": `"y"`}, []string{rangeFrom(mib), ""}, 0},
		"a weak ETag":                 {`{"validator":"\"x\""}`, map[string]string{"ETag": `W/"x"`}, []string{rangeFrom(mib), ""}, 0},
		"another ETag, old form":      {`"\"x\""`, map[string]string{"ETag": `"y"`}, []string{rangeFrom(mib), ""}, 0},
		"another date":                {`{"validator":"` + date + `"}`, map[string]string{"Last-Modified": later}, []string{rangeFrom(mib), ""}, 0},
		"another size":                {`{"validator":"\"x\"","total":3145728}`, nil, []string{rangeFrom(mib), ""}, 0},
		"another size, same ETag":     {`{"validator":"\"x\"","total":3145728}`, map[string]string{"ETag": `"x"`}, []string{rangeFrom(mib), ""}, 0},
		"no validator in the headers": {`{"validator":"\"x\"","total":2097153}`, nil, []string{rangeFrom(mib), ""}, 1},
		"the same ETag":               {`{"validator":"\"x\""}`, map[string]string{"ETag": `"x"`, "Last-Modified": later}, []string{rangeFrom(mib), ""}, 1},
		"the same date":               {`{"validator":"` + date + `"}`, map[string]string{"Last-Modified": date, "ETag": `W/"x"`}, []string{rangeFrom(mib), ""}, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, newer, manifest.SHA256)
			content := readAll(t, newer)
			var ranges []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ranges = append(ranges, r.Header.Get("Range"))
				r.Header.Del("If-Range")
				for name, value := range tt.headers {
					w.Header().Set(name, value)
				}
				http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
			}))
			defer server.Close()
			b.writePartial(readAll(t, older)[:mib], tt.kept)
			w := &watcher{}
			got, err := New(connect(t, server.URL, patient, time.Minute), open(t, b.dir), Config{}).Fetch(t.Context(), b.file, -1, w)
			b.wantProven(got, err)
			if diff := cmp.Diff(tt.ranges, ranges); diff != "" || w.mismatches != tt.mismatches {
				t.Errorf("%d mismatches, %s", w.mismatches, diff)
			}
			if wasted := w.moved - (2*mib + 1); wasted > 0 && tt.mismatches == 0 {
				t.Errorf("%d bytes of the other content were downloaded", wasted)
			}
		})
	}
}

func TestValidatorIsSavedWithTotal(t *testing.T) {
	b := newFixture(t, emulator.Random(2, 3*mib), manifest.SHA256)
	b.interrupt(mib)
	if v := parseValidator(readFile(t, b.path()+validatorSuffix)); v.Total != 3*mib || !strings.HasPrefix(v.Condition, `"`) {
		t.Errorf("kept %+v", v)
	}
}

func TestWrongRangesAreNotWritten(t *testing.T) {
	const size, kept = 2*mib + 9, mib
	tests := map[string]struct {
		contentRange string
		length       int64
		reason       refusal.Reason
		encoding     string
	}{
		"no Content-Range":       {"", size - kept, "", ""},
		"other unit":             {"items 1048576-2097160/2097161", size - kept, "", ""},
		"no start":               {"bytes */2097161", size - kept, "", ""},
		"before":                 {"bytes 0-2097160/2097161", size - kept, "", ""},
		"behind":                 {"bytes 1048577-2097160/2097161", size - kept, "", ""},
		"other total":            {"bytes 1048576-2097160/2097162", size - kept, "", ""},
		"total below start":      {"bytes 1048576-2097160/5", size - kept, "", ""},
		"negative":               {"bytes -1-2097160/2097161", size - kept, "", ""},
		"no number":              {"bytes x-y/z", size - kept, "", ""},
		"short of the end":       {"bytes 1048576-2097159/2097161", size - kept - 1, "", ""},
		"shorter body":           {"bytes 1048576-2097160/2097161", size - kept - 1, "", ""},
		"longer body":            {"bytes 1048576-2097160/2097161", size - kept + 1, "", ""},
		"other end":              {"bytes 1048576-2097159/*", size - kept - 1, "", ""},
		"other end, no length":   {"bytes 1048576-2097159/*", -1, "", ""},
		"other total, no length": {"bytes 1048576-2097161/2097162", -1, "", ""},
		"overflow":               {"bytes 99999999999999999999-2/3", size - kept, "", ""},
		"with the ID":            {"bytes " + testID, size - kept, "", ""},
		"encoded":                {"bytes 1048576-2097160/2097161", size - kept, refusal.BadShape, "gzip"},
		"encoded with the ID":    {"bytes 1048576-2097160/2097161", size - kept, refusal.BadShape, testID},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := readAll(t, emulator.Random(4, size))
			b := newFixture(t, emulator.Bytes(content), manifest.SHA256)
			b.interrupt(kept)
			var mu sync.Mutex
			var ranges []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				ranges = append(ranges, r.Header.Get("Range"))
				mu.Unlock()
				w.Header().Set("Content-Encoding", tt.encoding)
				if r.Header.Get("Range") == "" {
					w.Header().Del("Content-Encoding")
					w.Write(content)
					return
				}
				w.Header().Set("Content-Range", tt.contentRange)
				if tt.length >= 0 {
					w.Header().Set("Content-Length", fmt.Sprint(tt.length))
				}
				w.WriteHeader(http.StatusPartialContent)
				w.Write(make([]byte, max(tt.length, size-kept)))
			}))
			defer server.Close()
			w := &watcher{}
			got, err := New(connect(t, server.URL, patient, time.Minute), open(t, b.dir), Config{}).Fetch(t.Context(), b.file, -1, w)
			assertNoID(t, err)
			if tt.reason != "" {
				if refusal.ReasonOf(err) != tt.reason || b.partialSize() != kept {
					t.Errorf("%d bytes kept, %v", b.partialSize(), err)
				}
				return
			}
			b.wantProven(got, err)
			if diff := cmp.Diff([]string{rangeFrom(kept), ""}, ranges); diff != "" || w.mismatches != 0 {
				t.Errorf("%d mismatches, %s", w.mismatches, diff)
			}
		})
	}
}

func TestWeakETagsAreNotSentBack(t *testing.T) {
	content := readAll(t, emulator.Random(4, 2*mib))
	date := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, modified := range []time.Time{{}, date} {
		b := newFixture(t, emulator.Bytes(content), manifest.SHA256)
		var conditions []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conditions = append(conditions, r.Header.Get("If-Range"))
			w.Header().Set("ETag", `W/"weak"`)
			if len(conditions) > 1 {
				http.ServeContent(w, r, "", modified, bytes.NewReader(content))
				return
			}
			if !modified.IsZero() {
				w.Header().Set("Last-Modified", modified.Format(http.TimeFormat))
			}
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			w.Write(content[:mib])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}))
		got, err := New(connect(t, server.URL, patient, time.Minute), open(t, b.dir), Config{}).Fetch(t.Context(), b.file, -1, &watcher{})
		server.Close()
		b.wantProven(got, err)
		want := []string{"", ""}
		if !modified.IsZero() {
			want[1] = modified.Format(http.TimeFormat)
		}
		if diff := cmp.Diff(want, conditions); diff != "" {
			t.Error(diff)
		}
	}
}

func TestTooLongETagIsNotSentBack(t *testing.T) {
	content := readAll(t, emulator.Random(5, 3*mib))
	b := newFixture(t, emulator.Bytes(content), manifest.SHA256)
	var conditions []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conditions = append(conditions, r.Header.Get("Range")+r.Header.Get("If-Range"))
		w.Header().Set("ETag", `"`+strings.Repeat("e", 70_000)+`"`)
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		if len(conditions)%2 == 1 {
			w.Write(content[:2*mib])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		w.Write(content)
	}))
	defer server.Close()
	got, err := New(connect(t, server.URL, patient, time.Minute), open(t, b.dir), Config{}).Fetch(t.Context(), b.file, -1, &watcher{})
	b.wantProven(got, err)
	if diff := cmp.Diff([]string{"", ""}, conditions); diff != "" {
		t.Error(diff)
	}
}

// The Watcher must check the free space for the new size.
func TestReplacedContentIsAnnounced(t *testing.T) {
	older, newer := readAll(t, emulator.Random(1, 24*mib)), readAll(t, emulator.Random(2, 32*mib))
	b := newFixture(t, emulator.Bytes(newer), manifest.SHA256)
	partial := make([]byte, 12*mib)
	copy(partial, older[:2*mib])
	copy(partial[8*mib:], older[8*mib:12*mib])
	b.writePartial(partial, `{"validator":"\"e\"","total":25165824,"here":[[0,2097152],[8388608,12582912]]}`)
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
	got, err := New(connect(t, server.URL, patient, time.Minute), open(t, b.dir), Config{Files: 1, Segments: 1}).Fetch(t.Context(), b.file, -1, w)
	b.wantProven(got, err)
	if fmt.Sprint(w.announced) != fmt.Sprint([]int64{24 * mib, 32 * mib}) {
		t.Errorf("announced %v", w.announced)
	}
}

// After a kill, an empty file can still have the validator of an older content.
func TestTotalOfOlderContentIsForgotten(t *testing.T) {
	content := readAll(t, emulator.Random(4, 3*mib))
	for name, total := range map[string]int{"less": 1, "more": 9 * mib} {
		for length, fault := range map[string]emulator.Fault{"known": {Kind: emulator.KindChangeETag}, "unknown": {Kind: emulator.KindNoLength}} {
			t.Run(name+" "+length, func(t *testing.T) {
				b := newFixture(t, emulator.Bytes(content), manifest.SHA256)
				b.writePartial(nil, fmt.Sprintf(`{"validator":"\"e\"","total":%d}`, total))
				b.fault(fault)
				got, w, err := b.fetch(patient, time.Minute)
				b.wantProven(got, err)
				b.wantRanges("")
				if w.mismatches != 0 {
					t.Errorf("%d mismatches", w.mismatches)
				}
			})
		}
	}
}

func FuzzValidator(f *testing.F) {
	for _, text := range []string{`"\"e\""`, `{"validator":"\"e\"","total":9,"here":[[0,5],[7,9]]}`, `{"here":[[1]]}`, `{"here":null}`, `{"total":-1}`} {
		f.Add([]byte(text), int64(10))
	}
	f.Fuzz(func(t *testing.T, data []byte, size int64) {
		v := parseValidator(data)
		l := layout{size: max(v.Total, size, 0), present: clip(v.Present, max(size, 0))}
		l.check(t)
		text, err := json.Marshal(v)
		must(t, err)
		if again := parseValidator(text); !cmp.Equal(again, v, cmp.AllowUnexported(byteRange{})) {
			t.Errorf("%+v became %+v", v, again)
		}
	})
}
