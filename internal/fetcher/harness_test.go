package fetcher

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"syncd/internal/clients/releases"
	"syncd/internal/clients/transport"
	"syncd/internal/disk/fsops"
	"syncd/internal/emulator"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testID = "K3Y/with+special=chars&%"
	mib    = 1 << 20
	// shortStall is the stall timeout of tests that wait for one. On a busy machine it
	// can also end a transfer that moves, which must not matter to the test.
	shortStall = 50 * time.Millisecond
)

// quick soon gives up. patient gives up only when a test is stuck.
var (
	quick   = transport.Retry{InitialInterval: time.Millisecond, MaxInterval: 2 * time.Millisecond, MaxElapsed: 30 * time.Millisecond}
	patient = transport.Retry{InitialInterval: time.Millisecond, MaxInterval: 2 * time.Millisecond, MaxElapsed: time.Minute}
)

// fixture is an emulator with one file, and a folder of unfinished downloads.
type fixture struct {
	*emulator.Emulator
	t       testing.TB
	dir     string
	content emulator.Content
	file    manifest.File

	keepCache bool
}

func newFixture(t testing.TB, content emulator.Content, algorithm manifest.Algorithm) *fixture {
	t.Helper()
	e, err := emulator.Start(emulator.Config{CustomerID: testID})
	must(t, err)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &fixture{Emulator: e, t: t, dir: t.TempDir(), content: content}
	b.publish(content)
	b.file = manifest.File{
		Reference: manifest.Parts{Class: manifest.Data, Release: "2026.10", Name: "a.dat"}.Reference(),
		Path:      "a.dat", Expected: digestOf(t, content, algorithm),
	}
	return b
}

func (b *fixture) publish(content emulator.Content) {
	b.SetManifest("m", "2026.10", emulator.File{Name: "a.dat", Content: content})
}

func digestOf(t testing.TB, content emulator.Content, algorithm manifest.Algorithm) manifest.Digest {
	t.Helper()
	r, err := content.Open()
	must(t, err)
	defer r.Close()
	h := verify.NewHasher(algorithm)
	if _, err := io.Copy(h, r); err != nil {
		t.Fatal(err)
	}
	return h.Digest()
}

func (b *fixture) fault(f emulator.Fault) {
	f.Host = emulator.HostDownload
	b.AddFault(f)
}

func connect(t testing.TB, base string, retry transport.Retry, stall time.Duration) *releases.Client {
	t.Helper()
	u, err := url.Parse(base)
	must(t, err)
	c, err := transport.New(transport.Config{Base: u, CustomerID: testID, IDParam: "id", Retry: retry, StallTimeout: stall})
	must(t, err)
	t.Cleanup(c.Close)
	return releases.New(c)
}

// fetch downloads the file with a new Fetcher, like a new process.
func (b *fixture) fetch(retry transport.Retry, stall time.Duration) (verify.Proven, *watcher, error) {
	b.t.Helper()
	w := &watcher{}
	got, err := New(connect(b.t, b.URL(), retry, stall), open(b.t, b.dir), Config{KeepCache: b.keepCache}).Fetch(b.t.Context(), b.file, -1, w)
	return got, w, err
}

// wantProven fails the test unless the whole file was fetched.
func (b *fixture) wantProven(got verify.Proven, err error) {
	b.t.Helper()
	must(b.t, err)
	want := manifest.Object{ID: digestOf(b.t, b.content, manifest.SHA256).Sum, Size: b.content.Size()}
	if got.Object != want || got.Name != Name(b.file.Expected) {
		b.t.Errorf("got %+v, want %+v", got, want)
	}
	info, err := os.Stat(b.path())
	must(b.t, err)
	if info.Mode() != 0o444 || info.Size() != want.Size {
		b.t.Errorf("%s, %d bytes", info.Mode(), info.Size())
	}
	if _, err := verify.File(b.t.Context(), open(b.t, b.dir), got.Name, b.file.Expected); err != nil {
		b.t.Error(err)
	}
	if _, err := os.Stat(b.path() + validatorSuffix); !errors.Is(err, fs.ErrNotExist) {
		b.t.Errorf("the validator is left: %v", err)
	}
}

// open opens a folder of unfinished downloads.
func open(t testing.TB, path string) *fsops.Dir {
	t.Helper()
	dir, err := fsops.OpenDir(path)
	must(t, err)
	t.Cleanup(func() { dir.Close() })
	return dir
}

func (b *fixture) path() string { return filepath.Join(b.dir, Name(b.file.Expected)) }

// partialSize returns the size of the partial file, or -1 if there is none.
func (b *fixture) partialSize() int64 {
	info, err := os.Stat(b.path())
	if err != nil {
		return -1
	}
	return info.Size()
}

// downloads returns the requests that reached the download host.
func (b *fixture) downloads() []emulator.Request {
	return slices.DeleteFunc(b.Requests(), func(r emulator.Request) bool { return r.Host != emulator.HostDownload })
}

// ranges returns the Range headers of the downloads so far.
func (b *fixture) ranges() []string {
	var all []string
	for _, r := range b.downloads() {
		all = append(all, r.Header.Get("Range"))
	}
	return all
}

func (b *fixture) wantRanges(want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.ranges()); diff != "" {
		b.t.Errorf("requested ranges: %s", diff)
	}
}

func rangeFrom(n int64) string { return fmt.Sprintf("bytes=%d-", n) }

// watcher is a Watcher that records its calls.
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

func (w *watcher) Received() {}

func (w *watcher) Resumed(bytes int64) { w.resumed += bytes }

func (w *watcher) Mismatch(error) { w.mismatches++ }

func assertNoID(t testing.TB, err error) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		if text := fmt.Sprintf("%+v", err); transport.NewRedactor(testID).Contains(text) || strings.Contains(text, "K3Y") {
			t.Errorf("the error contains the Customer ID: %s", text)
		}
	}
}

func equal(a, b *watcher) bool {
	return a.moved == b.moved && a.done == b.done && a.mismatches == b.mismatches && slices.Equal(a.announced, b.announced)
}

func readAll(t testing.TB, content emulator.Content) []byte {
	t.Helper()
	r, err := content.Open()
	must(t, err)
	defer r.Close()
	all := make([]byte, content.Size()) // in one piece, because some are large
	if _, err := io.ReadFull(r, all); err != nil {
		t.Fatal(err)
	}
	return all
}

// interrupt leaves a partial file of `after` bytes, like a process that was stopped.
func (b *fixture) interrupt(after int64) {
	b.t.Helper()
	b.fault(emulator.Fault{Kind: emulator.KindTruncate, After: after, Times: 1})
	b.fault(emulator.Fault{Kind: emulator.KindStatus, Status: 404})
	var failed *transport.Error
	if _, _, err := b.fetch(patient, time.Minute); !errors.As(err, &failed) || failed.Kind != transport.NotFound {
		b.t.Fatalf("the interrupted fetch returned %v", err)
	}
	if b.partialSize() != after {
		b.t.Fatalf("%d bytes are kept, want %d", b.partialSize(), after)
	}
	b.ClearFaults()
	b.ResetRequests()
}

func (b *fixture) writePartial(content []byte, validator string) {
	b.t.Helper()
	for name, data := range map[string]string{"": string(content), validatorSuffix: validator} {
		must(b.t, os.WriteFile(b.path()+name, []byte(data), 0o600))
	}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return data
}

// cancellingWatcher cancels a fetch once `at` bytes are present.
type cancellingWatcher struct {
	watcher
	at     int64
	cancel func()
}

func (c *cancellingWatcher) Moved(_, done int64) error {
	if done >= c.at {
		c.cancel()
	}
	return nil
}

func fileOf(t testing.TB, content []byte) manifest.File {
	t.Helper()
	return manifest.File{Expected: digestOf(t, emulator.Bytes(content), manifest.SHA256)}
}

func fileNames(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// renamed is a reference to another file.
func renamed(ref manifest.Reference, name string) manifest.Reference {
	parts := ref.Parts()
	parts.Name = name
	return parts.Reference()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
