package emulator

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func diskFile(t testing.TB, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, readAll(t, Random(7, size)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readAll(t testing.TB, c Content) []byte {
	t.Helper()
	f, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Whatever is read from wherever is the same as in one go.
func TestRandomSeeks(t *testing.T) {
	const size = 3*randomBlockSize + 4711
	c := Random(42, size)
	whole := readAll(t, c)
	if int64(len(whole)) != c.Size() {
		t.Fatalf("%d bytes, want %d", len(whole), c.Size())
	}
	rapid.Check(t, func(t *rapid.T) {
		off := rapid.Int64Range(0, size).Draw(t, "off")
		n := rapid.Int64Range(0, 2*randomBlockSize).Draw(t, "n")
		f, err := c.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Seek(off, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(io.LimitReader(f, n))
		if err != nil || !bytes.Equal(got, whole[off:min(off+n, size)]) {
			t.Fatalf("other bytes at %d, %v", off, err)
		}
	})
}

func TestRandomDiffers(t *testing.T) {
	seen := make(map[[32]byte]string)
	for seed := range uint64(3) {
		b := readAll(t, Random(seed, 3*randomBlockSize))
		for i := 0; i < len(b); i += randomBlockSize {
			sum, name := sha256.Sum256(b[i:i+randomBlockSize]), fmt.Sprintf("seed %d, offset %d", seed, i)
			if seen[sum] != "" {
				t.Errorf("%s is the same as %s", name, seen[sum])
			}
			seen[sum] = name
		}
	}
	if !bytes.Equal(readAll(t, Random(9, 1000)), readAll(t, Random(9, 2000))[:1000]) {
		t.Error("the size changes the bytes")
	}
	if n := len(readAll(t, Random(9, 0))); n != 0 {
		t.Errorf("%d bytes of none", n)
	}
}

// countingContent tells how often it was read, and whether twice at a time.
type countingContent struct {
	Content
	opened, reading, twice *atomic.Int32
}

type countingReader struct {
	io.ReadSeekCloser
	c countingContent
}

func (c countingContent) Open() (io.ReadSeekCloser, error) {
	f, err := c.Content.Open()
	return &countingReader{f, c}, err
}

func (r *countingReader) Read(p []byte) (int, error) {
	if r.c.reading.Add(1) > 1 {
		r.c.twice.Add(1)
	}
	defer r.c.reading.Add(-1)
	n, err := r.ReadSeekCloser.Read(p)
	if errors.Is(err, io.EOF) {
		r.c.opened.Add(1)
	}
	return n, err
}

func TestHashedOnce(t *testing.T) {
	e := start(t, Config{})
	c := countingContent{Random(1, 4<<20), new(atomic.Int32), new(atomic.Int32), new(atomic.Int32)}
	e.SetManifest("m", "2026.10", File{Name: "a", Content: c})
	want := fmt.Sprintf("%x", sha256.Sum256(readAll(t, Random(1, 4<<20))))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if a := get(t, e, "/SHA256/Data/2026.10/a", ""); a.body != want {
				t.Errorf("got %s", a.body)
			}
		})
	}
	wg.Wait()
	if c.opened.Load() != 1 || c.twice.Load() != 0 {
		t.Errorf("read %d times to the end, %d times at once", c.opened.Load(), c.twice.Load())
	}
}

func TestHashEndsWithTheRequest(t *testing.T) {
	e := start(t, Config{})
	e.SetManifest("m", "2026.10", File{Name: "a", Content: Random(1, 1<<40)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	it, ok := e.catalogue.file(File{Class: ClassData, Release: "2026.10", Name: "a"})
	if !ok {
		t.Fatal("no file")
	}
	if _, err := e.digests.sums(ctx, it, "MD5"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestDiskContent(t *testing.T) {
	e := start(t, Config{})
	path := diskFile(t, 1000)
	e.SetManifest("m", "2026.10", File{Name: "a", Content: OnDisk(path)}, File{Name: "gone", Content: OnDisk(path + "x")})
	target := fileURL(t, e, "Data/2026.10/a")
	first := send(t, http.MethodGet, target)
	check := func(content []byte) {
		t.Helper()
		if got, want := get(t, e, "/MD5/Data/2026.10/a", "").body, fmt.Sprintf("%x", md5.Sum(content)); got != want {
			t.Errorf("hash %s, want %s", got, want)
		}
	}
	check(readAll(t, Random(7, 1000)))
	if err := os.WriteFile(path, []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Unix(1_700_000_000, 0)); err != nil {
		t.Fatal(err)
	}
	check([]byte("changed"))
	second := send(t, http.MethodGet, target)
	if second.body != "changed" || first.Header.Get("ETag") == second.Header.Get("ETag") {
		t.Errorf("%q, ETags %s and %s", second.body, first.Header.Get("ETag"), second.Header.Get("ETag"))
	}
	if got := second.Header.Get("Last-Modified"); got != "Tue, 14 Nov 2023 22:13:20 GMT" {
		t.Errorf("Last-Modified %s", got)
	}
	if a := get(t, e, "/Download/Data/2026.10/gone", ""); a.StatusCode != 404 {
		t.Errorf("status %d for a file that is not there", a.StatusCode)
	}
}

func BenchmarkRandom(b *testing.B) {
	f, err := Random(1, 1<<50).Open()
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 32<<10)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		if _, err := f.Read(buf); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDownload(b *testing.B) {
	const size = 64 << 20
	e := start(b, Config{})
	e.SetManifest("m", "2026.10",
		File{Name: "random", Content: Random(1, size)}, File{Name: "disk", Content: OnDisk(diskFile(b, size))})
	for _, name := range []string{"random", "disk"} {
		b.Run(name, func(b *testing.B) {
			target := fileURL(b, e, "Data/2026.10/"+name)
			c := client(b)
			b.SetBytes(size)
			buf := make([]byte, 256<<10)
			for b.Loop() {
				resp, err := c.Get(target)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{resp.Body}, buf); err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
			}
		})
	}
}
