package verify

import (
	"bytes"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"syncd/internal/disk/directio"
	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
)

// cachedPages returns how many pages of a file are in the page cache.
func cachedPages(t *testing.T, path string) uint64 {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	var found unix.Cachestat_t
	if err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &found, 0); err != nil {
		t.Skipf("NOT TESTED: no cachestat before Linux 6.5: %v", err)
	}
	return found.Cache
}

// copyOf copies the file of a folder, as if it had the given size.
func copyOf(t *testing.T, dir *fsops.Dir, size int64) (h *Hasher, read *bytes.Buffer) {
	t.Helper()
	from, err := dir.OpenRegular("file")
	must(t, err)
	defer from.Close()
	read = &bytes.Buffer{}
	h, err = Copy{From: from, Size: size, Into: dir, Name: "copy", Algorithm: manifest.SHA256, Progress: read}.Make(t.Context())
	must(t, err)
	return h, read
}

func TestACopyHasTheContentAndTheHashOfIt(t *testing.T) {
	for _, size := range []int{0, 1, directio.Block - 1, directio.Block, directio.Block + 1, bufferSize, 3*bufferSize + 5} {
		text := bytes.Repeat([]byte("x"), size)
		dir := folderWith(t, string(text))
		h, read := copyOf(t, dir, int64(size))
		got, err := os.ReadFile(dir.Path("copy"))
		if err != nil || !bytes.Equal(got, text) || h.Size() != int64(size) || !bytes.Equal(read.Bytes(), text) {
			t.Errorf("%d bytes: %d copied, %d hashed, %d read, %v", size, len(got), h.Size(), read.Len(), err)
		}
		if _, err := File(t.Context(), dir, "copy", h.Digest()); err != nil {
			t.Error(err)
		}
	}
}

func TestACopyOfAGrownFileEndsAndHasAnotherSize(t *testing.T) {
	dir := folderWith(t, string(make([]byte, 3*bufferSize)))
	for i, size := range []int64{0, bufferSize - 1, bufferSize} {
		h, _ := copyOf(t, dir, size)
		if h.Size() <= size || h.Size() > size+directio.Block {
			t.Errorf("row %d: %d bytes were copied of a file that had %d", i, h.Size(), size)
		}
		must(t, os.Remove(dir.Path("copy")))
	}
}

func TestACopyLeavesThePageCacheAsItWas(t *testing.T) {
	const size = 8<<20 + 5
	dir := folderWith(t, string(make([]byte, size)))
	f, err := os.OpenFile(dir.Path("file"), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	must(t, f.Sync())
	directio.Drop(f, 0, 0)
	copyOf(t, dir, size)
	if pages := cachedPages(t, dir.Path("file")); pages > 0 {
		t.Errorf("%d pages of the source are in the page cache", pages)
	}
	if pages := cachedPages(t, dir.Path("copy")); pages > 1 {
		t.Errorf("%d pages of the copy are in the page cache, want only that of the last 5 bytes", pages)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
