package directio

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

const mib = 1 << 20

func newFile(t *testing.T) (*os.File, *Writer) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWriter(f, func() (*os.File, error) { return os.OpenFile(path, os.O_WRONLY|Flag, 0) })
	t.Cleanup(func() { w.Close() })
	return f, w
}

func random(n int) []byte {
	b := Buffer(n)
	r := rand.NewChaCha8([32]byte{})
	_, _ = r.Read(b) // never fails
	return b
}

// cachedPages returns how many pages of a file are in the page cache.
func cachedPages(t *testing.T, f *os.File) uint64 {
	t.Helper()
	var found unix.Cachestat_t
	if err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &found, 0); err != nil {
		t.Skipf("NOT TESTED: no cachestat before Linux 6.5: %v", err)
	}
	return found.Cache
}

func wantContent(t *testing.T, f *os.File, want []byte) {
	t.Helper()
	got, err := os.ReadFile(f.Name())
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v; want other %d", len(got), err, len(want))
	}
}

// Pieces of any length, at any place in the file and in memory, may be written at once.
func TestWriterWritesPiecesOfAnySize(t *testing.T) {
	f, w := newFile(t)
	content := random(16*mib + 123)
	var writing sync.WaitGroup
	for at := 0; at < len(content); {
		n := min([]int{1, 100, Block, 3*Block + 7, minDirect, minDirect + 1, mib, mib - 9}[rand.IntN(8)], len(content)-at)
		piece := content[at : at+n]
		if rand.IntN(4) == 0 {
			piece = append(Buffer(1)[:1:1], piece...)[1:] // at another place in memory
		}
		from := int64(at)
		writing.Go(func() {
			if n, err := w.WriteAt(piece, from); n != len(piece) || err != nil {
				t.Errorf("%d of %d bytes at %d: %v", n, len(piece), from, err)
			}
		})
		at += n
	}
	writing.Wait()
	wantContent(t, f, content)
}

func TestWriterLeavesLargePiecesOutOfThePageCache(t *testing.T) {
	f, w := newFile(t)
	content := random(8*mib + 5)
	if _, err := w.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
	if pages := cachedPages(t, f); pages != 1 {
		t.Errorf("%d pages are cached, want only the one with the last 5 bytes", pages)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	Drop(f, 0, 0)
	if pages := cachedPages(t, f); pages != 0 {
		t.Errorf("%d pages are cached after Drop", pages)
	}
	wantContent(t, f, content)
}

func TestWriterUsesThePageCacheWhereDirectWritesAreRefused(t *testing.T) {
	content := random(2 * mib)
	f, w := newFile(t)
	asked := 0
	w.open = func() (*os.File, error) {
		asked++
		return nil, &os.PathError{Op: "open", Err: unix.EINVAL}
	}
	for _, at := range []int64{0, mib} {
		if _, err := w.WriteAt(content[at:at+mib], at); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	wantContent(t, f, content)
}

func TestWriterReportsOtherErrors(t *testing.T) {
	_, w := newFile(t)
	w.open = func() (*os.File, error) { return nil, unix.EMFILE }
	if _, err := w.WriteAt(random(mib), 0); !errors.Is(err, unix.EMFILE) {
		t.Errorf("got %v", err)
	}
}

// inEachWay runs a test with dontCache, and with direct reads in its place.
func inEachWay(t *testing.T, test func(t *testing.T)) {
	t.Run("RWF_DONTCACHE", test)
	t.Run("O_DIRECT", func(t *testing.T) {
		before := lacksDontCache.Swap(true)
		defer lacksDontCache.Store(before)
		test(t)
	})
}

func TestReaderLeavesThePageCacheAsItFoundIt(t *testing.T) {
	inEachWay(t, func(t *testing.T) {
		for _, size := range []int{0, 1, Block - 1, Block, Block + 1, mib, 3*mib + 5} {
			f, _ := newFile(t)
			content := random(size)
			if _, err := f.Write(content); err != nil {
				t.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}
			warm := cachedPages(t, f)
			readAll(t, f, content)
			if pages := cachedPages(t, f); pages != warm {
				t.Errorf("%d bytes: %d of %d pages are left", size, pages, warm)
			}
			Drop(f, 0, 0)
			readAll(t, f, content)
			if pages := cachedPages(t, f); pages != 0 {
				t.Errorf("%d bytes: %d pages are cached", size, pages)
			}
		}
	})
}

func readAll(t *testing.T, f *os.File, want []byte) {
	t.Helper()
	own, err := os.Open(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	var got bytes.Buffer
	_, err = io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{NewReader(own)}, Buffer(256<<10))
	if err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d of %d bytes, %v", got.Len(), len(want), err)
	}
}

// Files of /proc refuse both ways.
func TestReaderReadsFilesThatMustBeCached(t *testing.T) {
	inEachWay(t, func(t *testing.T) {
		before := lacksDontCache.Load()
		defer lacksDontCache.Store(before)
		f, err := os.Open("/proc/version")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		want, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		readAll(t, f, want)
	})
}

func TestReadAtFillsTheBufferOrReturnsTheError(t *testing.T) {
	inEachWay(t, func(t *testing.T) {
		f, _ := newFile(t)
		content := random(mib + 5)
		if _, err := f.Write(content); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, mib)
		if n, err := ReadAt(f, b, 5); n != mib || err != nil || !bytes.Equal(b, content[5:]) {
			t.Errorf("%d bytes, %v", n, err)
		}
		if n, err := ReadAt(f, b, 6); n != mib-1 || !errors.Is(err, io.EOF) {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}
