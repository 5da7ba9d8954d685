package fetcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"syncd/internal/clients/releases"
	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/emulator"
	"syncd/internal/manifest"
	"syncd/internal/refusal"
	"syncd/internal/verify"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testID = "K3Y/with+special=chars&%"
	mib    = 1 << 20
	// soon is for tests in which a stall has to come. Whether it hits a
	// transfer that moves too must not matter.
	soon = 50 * time.Millisecond
)

// quick gives up soon; patient does not before a test is stuck.
var (
	quick   = transport.Retry{InitialInterval: time.Millisecond, MaxInterval: 2 * time.Millisecond, MaxElapsed: 30 * time.Millisecond}
	patient = transport.Retry{InitialInterval: time.Millisecond, MaxInterval: 2 * time.Millisecond, MaxElapsed: time.Minute}
)

// bed is an emulator with one file, and a folder for unfinished downloads.
type bed struct {
	*emulator.Emulator
	t       testing.TB
	dir     string
	content emulator.Content
	file    manifest.File
}

func newBed(t testing.TB, content emulator.Content, algorithm manifest.Algorithm) *bed {
	t.Helper()
	e, err := emulator.Start(emulator.Config{CustomerID: testID})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bed{Emulator: e, t: t, dir: t.TempDir(), content: content}
	b.publish(content)
	b.file = manifest.File{
		Reference: manifest.Reference{Class: manifest.Data, Release: "2026.10", Name: "a.dat"},
		Path:      "a.dat", Expected: digestOf(t, content, algorithm),
	}
	return b
}

func (b *bed) publish(content emulator.Content) {
	b.SetManifest("m", "2026.10", emulator.File{Name: "a.dat", Content: content})
}

func digestOf(t testing.TB, content emulator.Content, algorithm manifest.Algorithm) manifest.Digest {
	t.Helper()
	r, err := content.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	h := verify.NewHasher(algorithm)
	if _, err := io.Copy(h, r); err != nil {
		t.Fatal(err)
	}
	return h.Digest()
}

// fault puts a fault on the download host.
func (b *bed) fault(f emulator.Fault) {
	f.Host = emulator.HostDownload
	b.AddFault(f)
}

func connect(t testing.TB, base string, retry transport.Retry, stall time.Duration) *releases.Client {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	c, err := transport.New(transport.Config{Base: u, CustomerID: testID, IDParam: "id", Retry: retry, StallTimeout: stall})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return releases.New(c)
}

// fetch downloads the file with a new Fetcher, as a new process would.
func (b *bed) fetch(retry transport.Retry, stall time.Duration) (Fetched, *watcher, error) {
	b.t.Helper()
	w := &watcher{}
	got, err := New(connect(b.t, b.URL(), retry, stall), b.dir, config.Transfers{}).Fetch(b.t.Context(), b.file, w)
	return got, w, err
}

// proven fails the test when the file did not arrive whole.
func (b *bed) proven(got Fetched, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	want := manifest.Object{SHA256: digestOf(b.t, b.content, manifest.SHA256).Hex, Size: b.content.Size()}
	if got.Object != want || got.Path != b.path() {
		b.t.Errorf("got %+v, want %+v", got, want)
	}
	info, err := os.Stat(got.Path)
	if err != nil {
		b.t.Fatal(err)
	}
	if info.Mode() != 0o444 || info.Size() != want.Size {
		b.t.Errorf("%s, %d bytes", info.Mode(), info.Size())
	}
	if _, err := verify.File(b.t.Context(), got.Path, b.file.Expected); err != nil {
		b.t.Error(err)
	}
	if _, err := os.Stat(got.Path + validatorSuffix); !errors.Is(err, fs.ErrNotExist) {
		b.t.Errorf("the validator stayed: %v", err)
	}
}

func (b *bed) path() string { return filepath.Join(b.dir, Name(b.file.Expected)) }

// partialSize is how many bytes are kept, -1 for no file.
func (b *bed) partialSize() int64 {
	info, err := os.Stat(b.path())
	if err != nil {
		return -1
	}
	return info.Size()
}

// downloads are the requests that reached the download host.
func (b *bed) downloads() []emulator.Request {
	return slices.DeleteFunc(b.Requests(), func(r emulator.Request) bool { return r.Host != emulator.HostDownload })
}

// ranges are the Range headers of the downloads so far.
func (b *bed) ranges() []string {
	var all []string
	for _, r := range b.downloads() {
		all = append(all, r.Header.Get("Range"))
	}
	return all
}

func (b *bed) wantRanges(want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.ranges()); diff != "" {
		b.t.Errorf("asked for other ranges: %s", diff)
	}
}

func from(n int64) string { return fmt.Sprintf("bytes=%d-", n) }

// watcher is a Watcher that checks what it is told.
type watcher struct {
	moved, done int64
	announced   []int64
	resumed     int64
	mismatches  int
	refuse      error
}

func (w *watcher) Announced(size int64) error {
	w.announced = append(w.announced, size)
	return w.refuse
}

func (w *watcher) Moved(bytes, done int64) error {
	w.moved, w.done = w.moved+bytes, done
	return nil
}

func (w *watcher) Resumed(bytes int64) { w.resumed += bytes }

func (w *watcher) Mismatch(error) { w.mismatches++ }

func assertNoID(t testing.TB, err error) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		if text := fmt.Sprintf("%+v", err); transport.NewRedactor(testID).Contains(text) || strings.Contains(text, "K3Y") {
			t.Errorf("the Customer ID is in %s", text)
		}
	}
}

func TestFilesOfEverySizeArriveUnderEveryAlgorithm(t *testing.T) {
	for _, algorithm := range []manifest.Algorithm{manifest.SHA256, manifest.SHA1, manifest.MD5} {
		for _, size := range []int64{0, 1, bufferSize - 1, bufferSize, bufferSize + 1, 2 * bufferSize, worthResuming - 1, worthResuming, worthResuming + 1} {
			t.Run(fmt.Sprint(algorithm, " ", size), func(t *testing.T) {
				t.Parallel()
				b := newBed(t, emulator.Random(1, size), algorithm)
				got, w, err := b.fetch(patient, time.Minute)
				b.proven(got, err)
				if want := (&watcher{moved: size, done: size, announced: []int64{size}}); !equal(w, want) {
					t.Errorf("the watcher was told %+v, want %+v", w, want)
				}
				b.wantRanges("")
				if n := b.downloads()[0]; n.BytesSent != size || n.Header.Get("Accept-Encoding") != "identity" || n.Header.Get("Referer") != "" || n.RawQuery != "" {
					t.Errorf("request %+v", n)
				}
			})
		}
	}
}

func equal(a, b *watcher) bool {
	return a.moved == b.moved && a.done == b.done && a.mismatches == b.mismatches && slices.Equal(a.announced, b.announced)
}

func TestPassingFaultsAreRiddenOut(t *testing.T) {
	const size, cut = mib + 17, mib / 2 // above worthResuming, after two cuts too
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
					b := newBed(t, emulator.Random(7, size), manifest.SHA256)
					again := fault
					again.Times = times
					b.fault(again)
					if then != "" {
						b.fault(emulator.Fault{Kind: then})
					}
					stall := time.Minute
					if fault.Kind == emulator.KindStall {
						stall = soon
					}
					got, w, err := b.fetch(patient, stall)
					b.proven(got, err)
					if w.done != size || w.mismatches != 0 {
						t.Errorf("the watcher was told %+v", w)
					}
				})
			}
		}
	}
}

func TestLastingFaultsEndInTheirOwnError(t *testing.T) {
	tests := map[string]struct {
		fault  emulator.Fault
		kind   transport.Kind
		status int // -1 for any: a stall may come before the headers on a busy machine
		reason refusal.Reason
	}{
		"truncated":      {emulator.Fault{Kind: emulator.KindTruncate}, transport.Passing, 200, ""},
		"reset":          {emulator.Fault{Kind: emulator.KindReset}, transport.Passing, 0, ""},
		"stalled":        {emulator.Fault{Kind: emulator.KindStall}, transport.Passing, -1, ""},
		"status 500":     {emulator.Fault{Kind: emulator.KindStatus, Status: 500, Shape: "echo"}, transport.Passing, 500, ""},
		"status 429":     {emulator.Fault{Kind: emulator.KindStatus, Status: 429}, transport.Passing, 429, ""},
		"status 401":     {emulator.Fault{Kind: emulator.KindStatus, Status: 401}, transport.Licence, 401, ""},
		"status 404":     {emulator.Fault{Kind: emulator.KindStatus, Status: 404, Shape: "html"}, transport.NotFound, 404, ""},
		"status 418":     {emulator.Fault{Kind: emulator.KindStatus, Status: 418}, transport.Rejected, 418, ""},
		"status 416":     {emulator.Fault{Kind: emulator.KindStatus, Status: 416}, transport.Rejected, 416, ""},
		"redirects":      {emulator.Fault{Kind: emulator.KindRedirect, Location: "self"}, transport.Rejected, 0, ""},
		"to plain http":  {emulator.Fault{Kind: emulator.KindRedirect, Location: "http://192.0.2.1/"}, transport.Malformed, 0, refusal.Insecure},
		"206, unasked":   {emulator.Fault{Kind: emulator.KindStatus, Status: 206, Body: "x"}, -1, 0, refusal.BadShape},
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
			b := newBed(t, emulator.Random(3, 2*mib), manifest.SHA256)
			b.fault(tt.fault)
			stall := time.Minute
			if tt.fault.Kind == emulator.KindStall {
				stall = soon
			}
			got, w, err := b.fetch(quick, stall)
			assertNoID(t, err)
			if err == nil || got != (Fetched{}) || refusal.ReasonOf(err) != tt.reason {
				t.Fatalf("%+v, %v", got, err)
			}
			var failed *transport.Error
			if is := errors.As(err, &failed); is != (tt.kind >= 0) || is && (failed.Kind != tt.kind || tt.status >= 0 && failed.Status != tt.status) {
				t.Errorf("got %v", err)
			}
			if tt.reason == refusal.HashMismatch {
				var mismatch *verify.Mismatch
				if !errors.As(err, &mismatch) || w.mismatches != 2 || b.partialSize() != 0 {
					t.Errorf("%d mismatches, %d bytes kept, %v", w.mismatches, b.partialSize(), err)
				}
				b.wantRanges("", "")
			}
		})
	}
}

func TestOneMismatchIsAnsweredByACleanStart(t *testing.T) {
	b := newBed(t, emulator.Random(3, 2*mib), manifest.MD5)
	b.fault(emulator.Fault{Kind: emulator.KindCorrupt, After: 5, Times: 1})
	b.fault(emulator.Fault{Kind: emulator.KindTruncate, After: mib, Times: 1}) // the clean start may be interrupted
	got, w, err := b.fetch(patient, time.Minute)
	b.proven(got, err)
	if w.mismatches != 1 || w.moved != 4*mib || w.done != 2*mib {
		t.Errorf("the watcher was told %+v", w)
	}
	b.wantRanges("", "", from(mib))
}

func TestAServerThatNeverGetsFurtherIsGivenUp(t *testing.T) {
	content := readAll(t, emulator.Random(3, 2*mib))
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		w.Write(content[:mib]) // no ranges, and never more than this
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	file := manifest.File{Reference: manifest.Reference{Class: manifest.Data, Release: "2026.10", Name: "a"}, Expected: digestOf(t, emulator.Bytes(content), manifest.SHA256)}
	_, err := New(connect(t, server.URL, quick, time.Minute), t.TempDir(), config.Transfers{}).Fetch(t.Context(), file, &watcher{})
	if !transport.IsPassing(err) || !errors.Is(err, io.ErrUnexpectedEOF) || requests < 2 {
		t.Errorf("%d requests, %v", requests, err)
	}
}

func readAll(t testing.TB, content emulator.Content) []byte {
	t.Helper()
	r, err := content.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all := make([]byte, content.Size()) // at once: some are large
	if _, err := io.ReadFull(r, all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWithinAFetchOnlyWhatIsMissingIsAskedForAgain(t *testing.T) {
	for _, size := range []int64{4 * mib, 1000} { // also where no validator is worth keeping on disk
		cut := size / 4
		b := newBed(t, emulator.Random(9, size), manifest.SHA256)
		b.fault(emulator.Fault{Kind: emulator.KindTruncate, After: cut, Times: 2})
		got, w, err := b.fetch(patient, time.Minute)
		b.proven(got, err)
		b.wantRanges("", from(cut), from(2*cut))
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
			t.Errorf("the watcher was told %+v, want %+v", w, want)
		}
	}
}

// interrupt leaves so many bytes of the file behind, as a process that was stopped.
func (b *bed) interrupt(after int64) {
	b.t.Helper()
	b.fault(emulator.Fault{Kind: emulator.KindTruncate, After: after, Times: 1})
	b.fault(emulator.Fault{Kind: emulator.KindStatus, Status: 404})
	var failed *transport.Error
	if _, _, err := b.fetch(patient, time.Minute); !errors.As(err, &failed) || failed.Kind != transport.NotFound {
		b.t.Fatalf("interrupted with %v", err)
	}
	if b.partialSize() != after {
		b.t.Fatalf("%d bytes are kept, want %d", b.partialSize(), after)
	}
	b.ClearFaults()
	b.ResetRequests()
}

func TestTheNextProcessContinuesWhereTheLastOneStopped(t *testing.T) {
	const size, kept = 3 * mib, 2*mib + 3
	for _, algorithm := range []manifest.Algorithm{manifest.SHA256, manifest.SHA1, manifest.MD5} {
		b := newBed(t, emulator.Random(2, size), algorithm)
		b.interrupt(kept)
		got, w, err := b.fetch(patient, time.Minute)
		b.proven(got, err)
		b.wantRanges(from(kept))
		if n := b.downloads()[0]; n.BytesSent != size-kept || n.Status != http.StatusPartialContent {
			t.Errorf("%s: status %d, %d bytes sent", algorithm, n.Status, n.BytesSent)
		}
		if want := (&watcher{moved: size - kept, done: size, announced: []int64{size}, resumed: kept}); !equal(w, want) {
			t.Errorf("%s: the watcher was told %+v, want %+v", algorithm, w, want)
		}
	}
}

func TestWhatIsKeptOnDiskIsNeverTrusted(t *testing.T) {
	const size, kept = 3 * mib, 2 * mib
	edit := func(change func(t *testing.T, b *bed, f *os.File)) func(*testing.T, *bed) {
		return func(t *testing.T, b *bed) {
			f, err := os.OpenFile(b.path(), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			change(t, b, f)
		}
	}
	validator := func(text string) func(*testing.T, *bed) {
		return func(t *testing.T, b *bed) {
			if err := os.WriteFile(b.path()+validatorSuffix, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := map[string]struct {
		damage     func(*testing.T, *bed)
		ranges     []string
		mismatches int
	}{
		"garbled": {edit(func(t *testing.T, _ *bed, f *os.File) {
			if _, err := f.WriteAt([]byte("garbled"), 1000); err != nil {
				t.Fatal(err)
			}
		}), []string{from(kept), ""}, 1},
		"zeroes at its end, as after a power loss": {edit(func(t *testing.T, _ *bed, f *os.File) {
			if err := errors.Join(f.Truncate(kept-5000), f.Truncate(kept)); err != nil {
				t.Fatal(err)
			}
		}), []string{from(kept), ""}, 1},
		"shorter": {edit(func(t *testing.T, _ *bed, f *os.File) {
			if err := f.Truncate(mib); err != nil {
				t.Fatal(err)
			}
		}), []string{from(mib)}, 0},
		"empty": {edit(func(t *testing.T, _ *bed, f *os.File) {
			if err := f.Truncate(0); err != nil {
				t.Fatal(err)
			}
		}), []string{""}, 0},
		"as long as the file": {edit(func(t *testing.T, _ *bed, f *os.File) {
			if err := f.Truncate(size); err != nil {
				t.Fatal(err)
			}
		}), []string{""}, 0},
		"longer than the file": {edit(func(t *testing.T, _ *bed, f *os.File) {
			if err := f.Truncate(2 * size); err != nil {
				t.Fatal(err)
			}
		}), []string{""}, 0},
		"whole": {edit(func(t *testing.T, b *bed, f *os.File) {
			if _, err := f.Write(readAll(t, b.content)); err != nil {
				t.Fatal(err)
			}
		}), nil, 0},
		"whole, without validator": {func(t *testing.T, b *bed) {
			if err := errors.Join(os.WriteFile(b.path(), readAll(t, b.content), 0o600), os.Remove(b.path()+validatorSuffix)); err != nil {
				t.Fatal(err)
			}
		}, nil, 0},
		"without validator": {func(t *testing.T, b *bed) {
			if err := os.Remove(b.path() + validatorSuffix); err != nil {
				t.Fatal(err)
			}
		}, []string{""}, 0},
		"with another validator":         {validator(`"\"other\""`), []string{from(kept)}, 0}, // the server answers with all of it
		"with a date":                    {validator(`"Thu, 01 Jan 2026 00:00:00 GMT"`), []string{from(kept)}, 0},
		"with a torn validator":          {validator(`"\"abc`), []string{""}, 0},
		"with an empty validator":        {validator(``), []string{""}, 0},
		"with a strange validator":       {validator(`["a"]`), []string{""}, 0},
		"with one of control characters": {validator(`"\"a\u0000\""`), []string{""}, 0},
		"with one that is too long":      {validator(`{"validator":"\"` + strings.Repeat("e", maxCondition) + `\""}`), []string{""}, 0},
		"with a wrong size":              {validator(`{"validator":"\"other\"","total":5}`), []string{""}, 0},
		"with a larger size":             {validator(`{"validator":"\"other\"","total":5000000}`), []string{from(kept)}, 0},
		"with a size of before, and 416": {validator(`{"validator":"\"other\"","total":0}`), []string{from(kept)}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, emulator.Random(2, size), manifest.SHA256)
			b.interrupt(kept)
			tt.damage(t, b)
			got, w, err := b.fetch(patient, time.Minute)
			b.proven(got, err)
			b.wantRanges(tt.ranges...)
			if w.mismatches != tt.mismatches || w.done != size {
				t.Errorf("the watcher was told %+v", w)
			}
		})
	}
}

func TestAFileThatWasMadeReadOnlyBeforeItWasMovedIsTaken(t *testing.T) {
	b := newBed(t, emulator.Random(2, 2*mib), manifest.SHA256)
	if err := os.WriteFile(b.path(), readAll(t, b.content), 0o400); err != nil {
		t.Fatal(err)
	}
	got, err := New(connect(t, b.URL(), patient, time.Minute), b.dir, config.Transfers{}).Fetch(t.Context(), b.file, &watcher{})
	if err != nil || got.Object.Size != 2*mib || len(b.Requests()) != 0 {
		t.Errorf("%+v after %d requests, %v", got, len(b.Requests()), err)
	}
}

func TestAfterADoubleMismatchTheNextFetchStartsClean(t *testing.T) {
	b := newBed(t, emulator.Random(2, 2*mib), manifest.SHA256)
	b.fault(emulator.Fault{Kind: emulator.KindCorrupt, After: 1})
	if _, _, err := b.fetch(patient, time.Minute); refusal.ReasonOf(err) != refusal.HashMismatch {
		t.Fatal(err)
	}
	if _, err := os.Stat(b.path() + validatorSuffix); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the validator of forgotten bytes stayed: %v", err)
	}
	b.ClearFaults()
	b.ResetRequests()
	got, _, err := b.fetch(patient, time.Minute)
	b.proven(got, err)
	b.wantRanges("")
}

func TestContentThatIsReplacedBetweenAttempts(t *testing.T) {
	older, newer := emulator.Random(1, 3*mib), emulator.Random(2, 2*mib+1)
	t.Run("by the promised one", func(t *testing.T) {
		b := newBed(t, newer, manifest.SHA256)
		b.publish(older)
		b.fault(emulator.Fault{Kind: emulator.KindTruncate, After: mib, Times: 1})
		b.fault(emulator.Fault{Kind: emulator.KindStatus, Status: 404})
		if _, _, err := b.fetch(patient, time.Minute); err == nil {
			t.Fatal("no error")
		}
		b.ClearFaults()
		b.publish(newer)
		got, w, err := b.fetch(patient, time.Minute)
		b.proven(got, err)
		b.wantRanges("", from(mib), from(mib))
		if w.mismatches != 0 {
			t.Error("the change cost a mismatch")
		}
	})
	t.Run("by another one", func(t *testing.T) {
		b := newBed(t, older, manifest.SHA256)
		b.interrupt(mib)
		b.publish(newer)
		_, w, err := b.fetch(patient, time.Minute)
		if refusal.ReasonOf(err) != refusal.HashMismatch || w.mismatches != 2 {
			t.Errorf("%d mismatches, %v", w.mismatches, err)
		}
	})
}

// A server that ignores If-Range continues the old beginning with the new end.
func TestARestOfAnotherContentIsNotPaidFor(t *testing.T) {
	older, newer := emulator.Random(1, 3*mib), emulator.Random(2, 2*mib+1)
	const date, later = "Thu, 01 Jan 2026 00:00:00 GMT", "Fri, 02 Jan 2026 00:00:00 GMT"
	tests := map[string]struct {
		kept       string // the file of the validator
		headers    map[string]string
		ranges     []string
		mismatches int
	}{
		"another ETag":            {`{"validator":"\"x\""}`, map[string]string{"ETag": `"y"`}, []string{from(mib), ""}, 0},
		"a weak ETag":             {`{"validator":"\"x\""}`, map[string]string{"ETag": `W/"x"`}, []string{from(mib), ""}, 0},
		"another ETag, old form":  {`"\"x\""`, map[string]string{"ETag": `"y"`}, []string{from(mib), ""}, 0},
		"another date":            {`{"validator":"` + date + `"}`, map[string]string{"Last-Modified": later}, []string{from(mib), ""}, 0},
		"another size":            {`{"validator":"\"x\"","total":3145728}`, nil, []string{from(mib), ""}, 0},
		"another size, same ETag": {`{"validator":"\"x\"","total":3145728}`, map[string]string{"ETag": `"x"`}, []string{from(mib), ""}, 0},
		"nothing to tell by":      {`{"validator":"\"x\"","total":2097153}`, nil, []string{from(mib), ""}, 1},
		"the same ETag":           {`{"validator":"\"x\""}`, map[string]string{"ETag": `"x"`, "Last-Modified": later}, []string{from(mib), ""}, 1},
		"the same date":           {`{"validator":"` + date + `"}`, map[string]string{"Last-Modified": date, "ETag": `W/"x"`}, []string{from(mib), ""}, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, newer, manifest.SHA256)
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
			b.leave(readAll(t, older)[:mib], tt.kept)
			w := &watcher{}
			got, err := New(connect(t, server.URL, patient, time.Minute), b.dir, config.Transfers{}).Fetch(t.Context(), b.file, w)
			b.proven(got, err)
			if diff := cmp.Diff(tt.ranges, ranges); diff != "" || w.mismatches != tt.mismatches {
				t.Errorf("%d mismatches, %s", w.mismatches, diff)
			}
			if wasted := w.moved - (2*mib + 1); wasted > 0 && tt.mismatches == 0 {
				t.Errorf("%d bytes of the rest were read", wasted)
			}
		})
	}
}

// leave puts down what an earlier call could have left.
func (b *bed) leave(content []byte, validator string) {
	b.t.Helper()
	for name, data := range map[string]string{"": string(content), validatorSuffix: validator} {
		if err := os.WriteFile(b.path()+name, []byte(data), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
}

func TestAWrongBeginningOfAnEarlierCallLeavesTheCleanRetry(t *testing.T) {
	b := newBed(t, emulator.Random(2, 3*mib), manifest.SHA256)
	b.interrupt(2 * mib)
	b.leave(make([]byte, 2*mib), string(readFile(t, b.path()+validatorSuffix))) // as after a power cut
	b.fault(emulator.Fault{Kind: emulator.KindCorrupt, After: 5, Skip: 1, Times: 1})
	got, w, err := b.fetch(patient, time.Minute)
	b.proven(got, err)
	b.wantRanges(from(2*mib), "", "")
	if w.mismatches != 2 {
		t.Errorf("%d mismatches", w.mismatches)
	}
}

func TestTheValidatorIsKeptWithTheSizeOfTheContent(t *testing.T) {
	b := newBed(t, emulator.Random(2, 3*mib), manifest.SHA256)
	b.interrupt(mib)
	if v := parseValidator(readFile(t, b.path()+validatorSuffix)); v.Total != 3*mib || !strings.HasPrefix(v.Condition, `"`) {
		t.Errorf("kept %+v", v)
	}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAnswersThatDoNotContinueTheFileAreNotWritten(t *testing.T) {
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
		"holds the id":           {"bytes " + testID, size - kept, "", ""},
		"encoded":                {"bytes 1048576-2097160/2097161", size - kept, refusal.BadShape, "gzip"},
		"encoded with the id":    {"bytes 1048576-2097160/2097161", size - kept, refusal.BadShape, testID},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := readAll(t, emulator.Random(4, size))
			b := newBed(t, emulator.Bytes(content), manifest.SHA256)
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
			got, err := New(connect(t, server.URL, patient, time.Minute), b.dir, config.Transfers{}).Fetch(t.Context(), b.file, w)
			assertNoID(t, err)
			if tt.reason != "" {
				if refusal.ReasonOf(err) != tt.reason || b.partialSize() != kept {
					t.Errorf("%d bytes kept, %v", b.partialSize(), err)
				}
				return
			}
			b.proven(got, err)
			if diff := cmp.Diff([]string{from(kept), ""}, ranges); diff != "" || w.mismatches != 0 {
				t.Errorf("%d mismatches, %s", w.mismatches, diff)
			}
		})
	}
}

func TestWeakValidatorsAreNotUsedToContinue(t *testing.T) {
	content := readAll(t, emulator.Random(4, 2*mib))
	date := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, modified := range []time.Time{{}, date} {
		b := newBed(t, emulator.Bytes(content), manifest.SHA256)
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
		got, err := New(connect(t, server.URL, patient, time.Minute), b.dir, config.Transfers{}).Fetch(t.Context(), b.file, &watcher{})
		server.Close()
		b.proven(got, err)
		want := []string{"", ""}
		if !modified.IsZero() {
			want[1] = modified.Format(http.TimeFormat)
		}
		if diff := cmp.Diff(want, conditions); diff != "" {
			t.Error(diff)
		}
	}
}

func TestTheWatcherCanEndAFetchForGood(t *testing.T) {
	b := newBed(t, emulator.Random(2, 2*mib), manifest.SHA256)
	b.interrupt(mib)
	no := refusal.New(refusal.NoSpace, "2 MiB wanted, 1 MiB free")
	w := &watcher{refuse: no}
	_, err := New(connect(t, b.URL(), patient, time.Minute), b.dir, config.Transfers{}).Fetch(t.Context(), b.file, w)
	if err != no || !slices.Equal(w.announced, []int64{2 * mib}) || len(b.downloads()) != 1 || b.partialSize() != mib {
		t.Errorf("announced %d, %d requests, %d bytes kept, %v", w.announced, len(b.downloads()), b.partialSize(), err)
	}
}

func TestTheContextEndsAFetchAndWhatArrivedIsKept(t *testing.T) {
	b := newBed(t, emulator.Random(2, 3*mib), manifest.SHA256)
	b.fault(emulator.Fault{Kind: emulator.KindStall, After: 2 * mib})
	cause := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	w := &cancelling{at: 2 * mib, cancel: func() { cancel(cause) }}
	_, err := New(connect(t, b.URL(), patient, time.Minute), b.dir, config.Transfers{}).Fetch(ctx, b.file, w)
	if err != cause || b.partialSize() != 2*mib {
		t.Errorf("%d bytes kept, %v", b.partialSize(), err)
	}
	b.ClearFaults()
	b.ResetRequests()
	if _, err := New(connect(t, b.URL(), patient, time.Minute), b.dir, config.Transfers{}).Fetch(ctx, b.file, w); !errors.Is(err, context.Canceled) && err != cause {
		t.Errorf("with an ended context: %v", err)
	}
	got, _, err := b.fetch(patient, time.Minute)
	b.proven(got, err)
	b.wantRanges(from(2 * mib))
}

// cancelling ends a fetch when so many bytes are there.
type cancelling struct {
	watcher
	at     int64
	cancel func()
}

func (c *cancelling) Moved(_, done int64) error {
	if done >= c.at {
		c.cancel()
	}
	return nil
}

func TestACoolDownEndsAFetchAtOnce(t *testing.T) {
	b := newBed(t, emulator.Random(2, mib), manifest.SHA256)
	b.fault(emulator.Fault{Kind: emulator.KindStatus, Status: 503, RetryAfter: "7200"})
	_, _, err := b.fetch(patient, time.Minute)
	var cooling *transport.CoolingDown
	if !errors.As(err, &cooling) || cooling.Origin != b.DownloadURL() || len(b.downloads()) != 1 {
		t.Errorf("%d requests, %v", len(b.downloads()), err)
	}
}

func TestManyFilesAtOnceShareAFetcher(t *testing.T) {
	b := newBed(t, emulator.Random(1, 1), manifest.SHA256)
	var files []emulator.File
	for i := range 12 {
		files = append(files, emulator.File{Name: fmt.Sprint(i), Content: emulator.Random(uint64(i), int64(i)*200_000)})
	}
	b.SetManifest("m", "2026.10", files...)
	b.fault(emulator.Fault{Kind: emulator.KindTruncate, After: 100_000, Times: 5})
	f := New(connect(t, b.URL(), patient, time.Minute), b.dir, config.Transfers{})
	var running sync.WaitGroup
	for i, file := range files {
		want := digestOf(t, file.Content, manifest.SHA1)
		running.Go(func() {
			got, err := f.Fetch(t.Context(), manifest.File{Reference: manifest.Reference{Class: manifest.Data, Release: "2026.10", Name: fmt.Sprint(i)}, Expected: want}, &watcher{})
			if err != nil || got.Object.Size != file.Content.Size() {
				t.Errorf("%d: %+v, %v", i, got, err)
				return
			}
			if _, err := verify.File(t.Context(), got.Path, want); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	running.Wait()
}

func TestMemoryDoesNotGrowWithTheFile(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 256 MiB")
	}
	const size = 256 * mib
	b := newBed(t, emulator.Random(5, size), manifest.SHA256)
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	w := &weighing{}
	got, err := New(connect(t, b.URL(), patient, time.Minute), b.dir, config.Transfers{}).Fetch(t.Context(), b.file, w) // the emulator's share is counted too
	if err != nil || got.Object.Size != size {
		t.Fatalf("%+v, %v", got, err)
	}
	if used := w.peak - before.HeapInuse; w.peak > before.HeapInuse && used > 24*mib {
		t.Errorf("%d KiB were in use for %d MiB", used>>10, size/mib)
	}
}

// weighing looks from time to time how much memory is in use.
type weighing struct {
	watcher
	looked int64
	peak   uint64
}

func (w *weighing) Moved(_, done int64) error {
	if done < w.looked+8*mib {
		return nil
	}
	w.looked = done
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	w.peak = max(w.peak, now.HeapInuse)
	return nil
}

// memorySource answers from memory, so that a test may run on a fake clock.
type memorySource struct {
	content    []byte
	named      map[string][]byte // in the place of content
	progressed atomic.Int64
	attempts   []func(h http.Header) (*transport.Response, error) // the last one again and again
}

func (s *memorySource) Download(_ context.Context, ref manifest.Reference, h http.Header) (*transport.Response, error) {
	if s.named != nil {
		return whole(s.named[ref.Name]), nil
	}
	if len(s.attempts) == 0 {
		return whole(s.content), nil
	}
	attempt := s.attempts[0]
	if len(s.attempts) > 1 {
		s.attempts = s.attempts[1:]
	}
	return attempt(h)
}

func (s *memorySource) Retry(_ context.Context, op func(progress func()) error) error {
	for range 10 {
		if err := op(func() { s.progressed.Add(1) }); !transport.IsPassing(err) {
			return err
		}
	}
	return errors.New("ten passing faults")
}

func whole(content []byte) *transport.Response {
	return &transport.Response{Status: http.StatusOK, Header: http.Header{"Etag": {`"e"`}}, Length: int64(len(content)), Body: io.NopCloser(bytes.NewReader(content))}
}

func fileOf(t testing.TB, content []byte) manifest.File {
	t.Helper()
	return manifest.File{Expected: digestOf(t, emulator.Bytes(content), manifest.SHA256)}
}

func TestTheBandwidthLimitIsForAllTransfersTogether(t *testing.T) {
	const perSecond = 64 << 10
	contents := [][]byte{readAll(t, emulator.Random(1, mib)), readAll(t, emulator.Random(2, 2*mib))}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		source := &memorySource{named: map[string][]byte{}}
		f := New(source, dir, config.Transfers{Files: 2, Bandwidth: perSecond})
		for _, content := range contents {
			source.named[fileOf(t, content).Expected.Hex] = content
		}
		begin := time.Now()
		var running sync.WaitGroup
		for _, content := range contents {
			file := fileOf(t, content)
			file.Reference.Name = file.Expected.Hex
			running.Go(func() {
				if _, err := f.Fetch(t.Context(), file, &watcher{}); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		// What may go at once is one buffer; the rest has to wait.
		if want := time.Duration(3*mib-bufferSize) * time.Second / perSecond; time.Since(begin).Round(time.Millisecond) != want {
			t.Errorf("%v, want %v", time.Since(begin), want)
		}
	})
}

func TestABandwidthLimitNeverCutsAFileAtADeadline(t *testing.T) {
	content := readAll(t, emulator.Random(1, mib))
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		file := fileOf(t, content)
		w := &watcher{}
		_, err := New(&memorySource{content: content}, dir, config.Transfers{Bandwidth: 1}).Fetch(ctx, file, w)
		if !errors.Is(err, context.DeadlineExceeded) || w.mismatches != 0 || w.done != bufferSize {
			t.Errorf("%+v, %v", w, err)
		}
	})
}

func TestOnlyNewBytesAreProgress(t *testing.T) {
	content := readAll(t, emulator.Random(1, 2*mib))
	passing := &transport.Error{Kind: transport.Passing}
	fail := func(http.Header) (*transport.Response, error) { return nil, passing }
	cut := func(n int) func(http.Header) (*transport.Response, error) { // from zero, as without ranges
		return func(http.Header) (*transport.Response, error) {
			res := whole(content)
			res.Body = io.NopCloser(io.MultiReader(bytes.NewReader(content[:n]), &broken{passing}))
			return res, nil
		}
	}
	dir := t.TempDir()
	file := fileOf(t, content)
	kept := filepath.Join(dir, Name(file.Expected))
	for name, data := range map[string][]byte{"": content[:mib], validatorSuffix: []byte(`"\"e\""`)} {
		if err := os.WriteFile(kept+name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	source := &memorySource{attempts: []func(http.Header) (*transport.Response, error){
		fail, fail, // what was there before is no progress
		cut(1000),           // the server starts over: progress
		cut(1000), cut(999), // no further
		cut(2000), // progress
		cut(2 * mib),
	}}
	_, err := New(source, dir, config.Transfers{}).Fetch(t.Context(), file, &watcher{})
	if err == nil || source.progressed.Load() != 3 {
		t.Errorf("progress was called %d times, %v", source.progressed.Load(), err)
	}
}

type broken struct{ err error }

func (b *broken) Read([]byte) (int, error) { return 0, b.err }

func TestSweepLeavesWhatIsWanted(t *testing.T) {
	dir := t.TempDir()
	digest := manifest.Digest{Algorithm: manifest.SHA256, Hex: strings.Repeat("ab", 32)}
	other := manifest.Digest{Algorithm: manifest.MD5, Hex: strings.Repeat("cd", 16)}
	if got := Name(other); got != "md5-"+other.Hex {
		t.Errorf("name %s", got)
	}
	for _, name := range []string{Name(digest), Name(digest) + validatorSuffix, Name(other), Name(other) + validatorSuffix, "md5-" + other.Hex[1:] + validatorSuffix, "stray", ".hidden"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "folder", "within"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Sweep(dir, map[string]bool{Name(digest): true}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{Name(digest), Name(digest) + validatorSuffix}, list(t, dir)); diff != "" {
		t.Error(diff)
	}
	if err := Sweep(dir, nil); err != nil || len(list(t, dir)) != 0 {
		t.Errorf("%v are left, %v", list(t, dir), err)
	}
	if err := Sweep(filepath.Join(dir, "none"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func list(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestAFolderThatIsNotThereIsAnErrorOfTheDisk(t *testing.T) {
	b := newBed(t, emulator.Random(2, 10), manifest.SHA256)
	b.dir = filepath.Join(b.dir, "none")
	if _, _, err := b.fetch(patient, time.Minute); !errors.Is(err, fs.ErrNotExist) || len(b.Requests()) != 0 {
		t.Errorf("%d requests, %v", len(b.Requests()), err)
	}
}

func TestAnETagTooLongToBeSentBackContinuesNothing(t *testing.T) {
	content := readAll(t, emulator.Random(5, 3*mib))
	b := newBed(t, emulator.Bytes(content), manifest.SHA256)
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
	got, err := New(connect(t, server.URL, patient, time.Minute), b.dir, config.Transfers{}).Fetch(t.Context(), b.file, &watcher{})
	b.proven(got, err)
	if diff := cmp.Diff([]string{"", ""}, conditions); diff != "" {
		t.Error(diff)
	}
}
