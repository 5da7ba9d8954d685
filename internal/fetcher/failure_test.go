package fetcher

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/emulator"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/verify"
)

func TestFetchSurvivesTransientFaults(t *testing.T) {
	const size, cut = mib + 17, mib / 2 // above minSavedSize even after two cuts
	first := map[string]emulator.Fault{
		"truncated at once":      {Kind: emulator.KindTruncate},
		"truncated after a byte": {Kind: emulator.KindTruncate, After: 1},
		"truncated":              {Kind: emulator.KindTruncate, After: cut + 5},
		"truncated at the end":   {Kind: emulator.KindTruncate, After: size - 1},
		"reset at once":          {Kind: emulator.KindReset},
		"reset":                  {Kind: emulator.KindReset, After: cut},
		"stalled at once":        {Kind: emulator.KindStall},
		"stalled":                {Kind: emulator.KindStall, After: cut},
		"status 408":             {Kind: emulator.KindStatus, Status: 408},
		"status 425":             {Kind: emulator.KindStatus, Status: 425},
		"status 429":             {Kind: emulator.KindStatus, Status: 429},
		"status 500":             {Kind: emulator.KindStatus, Status: 500, Shape: "html"},
		"status 503":             {Kind: emulator.KindStatus, Status: 503},
		"no length":              {Kind: emulator.KindNoLength},
		"no ranges":              {Kind: emulator.KindNoRanges},
		"no validators":          {Kind: emulator.KindNoValidators},
		"another ETag":           {Kind: emulator.KindChangeETag},
		"bad range":              {Kind: emulator.KindBadRange},
		"slow":                   {Kind: emulator.KindSlow, Rate: 100 * mib},
		"delayed":                {Kind: emulator.KindDelay, Delay: time.Millisecond},
	}
	for name, fault := range first {
		for times := 1; times <= 2; times++ {
			for _, then := range []string{"", emulator.KindNoRanges, emulator.KindNoValidators, emulator.KindNoLength, emulator.KindChangeETag, emulator.KindBadRange} {
				t.Run(fmt.Sprint(name, " ", times, " ", then), func(t *testing.T) {
					t.Parallel()
					b := newFixture(t, emulator.Random(7, size), manifest.SHA256)
					b.keepCache = times == 2
					again := fault
					again.Times = times
					b.fault(again)
					if then != "" {
						b.fault(emulator.Fault{Kind: then})
					}
					stall := time.Minute
					if fault.Kind == emulator.KindStall {
						stall = shortStall
					}
					got, w, err := b.fetch(patient, stall)
					b.wantProven(got, err)
					if w.done != size || w.mismatches != 0 {
						t.Errorf("watcher got %+v", w)
					}
				})
			}
		}
	}
}

func TestLastingFaultsReturnTheirOwnError(t *testing.T) {
	tests := map[string]struct {
		fault  emulator.Fault
		kind   transport.Kind
		status int // -1 for any: on a busy machine, a stall can hit before the headers
		reason refusal.Reason
	}{
		"truncated":      {emulator.Fault{Kind: emulator.KindTruncate}, transport.Transient, 200, ""},
		"reset":          {emulator.Fault{Kind: emulator.KindReset}, transport.Transient, 0, ""},
		"stalled":        {emulator.Fault{Kind: emulator.KindStall}, transport.Transient, -1, ""},
		"status 500":     {emulator.Fault{Kind: emulator.KindStatus, Status: 500, Shape: "echo"}, transport.Transient, 500, ""},
		"status 429":     {emulator.Fault{Kind: emulator.KindStatus, Status: 429}, transport.Transient, 429, ""},
		"status 401":     {emulator.Fault{Kind: emulator.KindStatus, Status: 401}, transport.Licence, 401, ""},
		"status 404":     {emulator.Fault{Kind: emulator.KindStatus, Status: 404, Shape: "html"}, transport.NotFound, 404, ""},
		"status 418":     {emulator.Fault{Kind: emulator.KindStatus, Status: 418}, transport.Rejected, 418, ""},
		"status 416":     {emulator.Fault{Kind: emulator.KindStatus, Status: 416}, transport.Rejected, 416, ""},
		"redirects":      {emulator.Fault{Kind: emulator.KindRedirect, Location: "self"}, transport.Rejected, 0, ""},
		"to plain http":  {emulator.Fault{Kind: emulator.KindRedirect, Location: "http://192.0.2.1/"}, transport.Malformed, 0, refusal.Insecure},
		"unexpected 206": {emulator.Fault{Kind: emulator.KindStatus, Status: 206, Body: "x"}, -1, 0, refusal.BadShape},
		"202":            {emulator.Fault{Kind: emulator.KindStatus, Status: 202, Body: "x"}, -1, 0, refusal.BadShape},
		"HTML":           {emulator.Fault{Kind: emulator.KindShape, Shape: "html"}, -1, 0, refusal.HashMismatch},
		"error object":   {emulator.Fault{Kind: emulator.KindShape, Shape: "error"}, -1, 0, refusal.HashMismatch},
		"empty body":     {emulator.Fault{Kind: emulator.KindShape, Shape: "empty"}, -1, 0, refusal.HashMismatch},
		"corrupt":        {emulator.Fault{Kind: emulator.KindCorrupt, After: mib}, -1, 0, refusal.HashMismatch},
		"corrupt at end": {emulator.Fault{Kind: emulator.KindCorrupt, After: 2*mib - 1}, -1, 0, refusal.HashMismatch},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, emulator.Random(3, 2*mib), manifest.SHA256)
			b.fault(tt.fault)
			stall := time.Minute
			if tt.fault.Kind == emulator.KindStall {
				stall = shortStall
			}
			got, w, err := b.fetch(quick, stall)
			assertNoID(t, err)
			if err == nil || got != (verify.Proven{}) || refusal.ReasonOf(err) != tt.reason {
				t.Fatalf("%+v, %v", got, err)
			}
			var failed *transport.Error
			if is := errors.As(err, &failed); is != (tt.kind >= 0) || is && (failed.Kind != tt.kind || tt.status >= 0 && failed.Status != tt.status) {
				t.Errorf("got %v", err)
			}
			if tt.reason == refusal.HashMismatch {
				if _, ok := errors.AsType[*verify.Mismatch](err); !ok || w.mismatches != 2 || b.partialSize() != 0 {
					t.Errorf("%d mismatches, %d bytes kept, %v", w.mismatches, b.partialSize(), err)
				}
				b.wantRanges("", "")
			}
		})
	}
}

func TestFetchStartsCleanAfterOneMismatch(t *testing.T) {
	b := newFixture(t, emulator.Random(3, 2*mib), manifest.MD5)
	b.fault(emulator.Fault{Kind: emulator.KindCorrupt, After: 5, Times: 1})
	b.fault(emulator.Fault{Kind: emulator.KindTruncate, After: mib, Times: 1}) // also interrupts the clean start
	got, w, err := b.fetch(patient, time.Minute)
	b.wantProven(got, err)
	if w.mismatches != 1 || w.moved != 4*mib || w.done != 2*mib {
		t.Errorf("watcher got %+v", w)
	}
	b.wantRanges("", "", rangeFrom(mib))
	for i, r := range b.downloads() { // a cache may have kept the damaged bytes
		if got, want := r.Header.Get("Cache-Control") == "no-cache", i > 0; got != want {
			t.Errorf("request %d goes past caches: %v", i, got)
		}
	}
}

func TestFetchGivesUpOnServerWithoutProgress(t *testing.T) {
	content := readAll(t, emulator.Random(3, 2*mib))
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		w.Write(content[:mib]) // ranges are ignored, and no response gets further
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	file := manifest.File{Reference: manifest.Parts{Class: manifest.Data, Release: "2026.10", Name: "a"}.Reference(), Expected: digestOf(t, emulator.Bytes(content), manifest.SHA256)}
	_, err := New(connect(t, server.URL, quick, time.Minute), open(t, t.TempDir()), Config{}).Fetch(t.Context(), file, -1, &watcher{})
	if !transport.IsTransient(err) || !errors.Is(err, io.ErrUnexpectedEOF) || requests < 2 {
		t.Errorf("%d requests, %v", requests, err)
	}
}

func TestNextFetchStartsCleanAfterTwoMismatches(t *testing.T) {
	b := newFixture(t, emulator.Random(2, 2*mib), manifest.SHA256)
	b.fault(emulator.Fault{Kind: emulator.KindCorrupt, After: 1})
	if _, _, err := b.fetch(patient, time.Minute); refusal.ReasonOf(err) != refusal.HashMismatch {
		t.Fatal(err)
	}
	if _, err := os.Stat(b.path() + validatorSuffix); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the validator of the removed bytes is left: %v", err)
	}
	b.ClearFaults()
	b.ResetRequests()
	got, _, err := b.fetch(patient, time.Minute)
	b.wantProven(got, err)
	b.wantRanges("")
}

func TestCoolDownEndsFetchAtOnce(t *testing.T) {
	b := newFixture(t, emulator.Random(2, mib), manifest.SHA256)
	b.fault(emulator.Fault{Kind: emulator.KindStatus, Status: 503, RetryAfter: "7200"})
	_, _, err := b.fetch(patient, time.Minute)
	if cooling, ok := errors.AsType[*transport.CoolingDown](err); !ok || cooling.Origin != b.DownloadURL() || len(b.downloads()) != 1 {
		t.Errorf("%d requests, %v", len(b.downloads()), err)
	}
}

func TestOnlyNewBytesCountAsProgress(t *testing.T) {
	content := readAll(t, emulator.Random(1, 2*mib))
	transient := &transport.Error{Kind: transport.Transient}
	fail := func(http.Header) (*transport.Response, error) { return nil, transient }
	cut := func(n int) func(http.Header) (*transport.Response, error) { // from zero, as without Range
		return func(http.Header) (*transport.Response, error) {
			res := wholeResponse(content)
			res.Body = io.NopCloser(io.MultiReader(bytes.NewReader(content[:n]), &failingReader{transient}))
			return res, nil
		}
	}
	dir := t.TempDir()
	file := fileOf(t, content)
	kept := filepath.Join(dir, Name(file.Expected))
	for name, data := range map[string][]byte{"": content[:mib], validatorSuffix: []byte(`"\"e\""`)} {
		must(t, os.WriteFile(kept+name, data, 0o600))
	}
	source := &memorySource{attempts: []func(http.Header) (*transport.Response, error){
		fail, fail, // bytes of an earlier call are no progress
		cut(1000),           // progress, since the file starts from zero
		cut(1000), cut(999), // no progress
		cut(2000),    // progress
		cut(2 * mib), // progress: all bytes, although the body fails then
	}}
	_, err := New(source, open(t, dir), Config{}).Fetch(t.Context(), file, -1, &watcher{})
	if err != nil || source.progressed.Load() != 3 {
		t.Errorf("progress was called %d times, %v", source.progressed.Load(), err)
	}
}
