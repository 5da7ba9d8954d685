package releases

import (
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"syncd/internal/emulator/catalogue"
	"syncd/internal/emulator/testclient"
)

// countingContent counts reads of the whole content, and concurrent reads.
type countingContent struct {
	catalogue.Content
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

func TestContentIsHashedOnce(t *testing.T) {
	e := start(t)
	c := countingContent{catalogue.Random(1, 4<<20), new(atomic.Int32), new(atomic.Int32), new(atomic.Int32)}
	e.SetManifest("m", "2026.10", catalogue.File{Name: "a", Content: c})
	want := fmt.Sprintf("%x", sha256.Sum256(testclient.ReadAll(t, catalogue.Random(1, 4<<20))))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if a := testclient.Get(t, e, "/SHA256/Data/2026.10/a", ""); a.Text != want {
				t.Errorf("got %s", a.Text)
			}
		})
	}
	wg.Wait()
	if c.opened.Load() != 1 || c.twice.Load() != 0 {
		t.Errorf("read %d times to the end, %d times at once", c.opened.Load(), c.twice.Load())
	}
}

func TestDiskContent(t *testing.T) {
	e := start(t)
	path := testclient.DiskFile(t, 1000)
	e.SetManifest("m", "2026.10", catalogue.File{Name: "a", Content: catalogue.OnDisk(path)}, catalogue.File{Name: "gone", Content: catalogue.OnDisk(path + "x")})
	target := testclient.FileURL(t, e, "Data/2026.10/a")
	first := testclient.Send(t, http.MethodGet, target)
	check := func(content []byte) {
		t.Helper()
		if got, want := testclient.Get(t, e, "/MD5/Data/2026.10/a", "").Text, fmt.Sprintf("%x", md5.Sum(content)); got != want {
			t.Errorf("hash %s, want %s", got, want)
		}
	}
	check(testclient.ReadAll(t, catalogue.Random(7, 1000)))
	must(t, os.WriteFile(path, []byte("changed"), 0o600))
	must(t, os.Chtimes(path, time.Time{}, time.Unix(1_700_000_000, 0)))
	check([]byte("changed"))
	second := testclient.Send(t, http.MethodGet, target)
	if second.Text != "changed" || first.Header.Get("ETag") == second.Header.Get("ETag") {
		t.Errorf("%q, ETags %s and %s", second.Text, first.Header.Get("ETag"), second.Header.Get("ETag"))
	}
	if got := second.Header.Get("Last-Modified"); got != "Tue, 14 Nov 2023 22:13:20 GMT" {
		t.Errorf("Last-Modified %s", got)
	}
	if a := testclient.Get(t, e, "/Download/Data/2026.10/gone", ""); a.StatusCode != 404 {
		t.Errorf("status %d for a missing file, want 404", a.StatusCode)
	}
}
