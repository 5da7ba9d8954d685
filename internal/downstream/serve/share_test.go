package serve

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"syncd/internal/host/rate"
)

// 1,000 connections of one address starved the others of serve.bandwidth. What passes
// meanwhile counts, and not the time.
func TestDownloadsOfOneIDStarveNoOther(t *testing.T) {
	const size, mine, downloads = 64 << 20, 1 << 20, 100
	e := startProvider(t)
	e.SetManifest("big", "2026.10", bigFile(size))
	h := startHost(t, e, entry("big"))
	h.sync()
	const other = "another id"
	u := startUpstream(t, h.engine.Followers.Catalog(), func(c *Config) {
		c.Bandwidth = rate.NewBudget(rate.Always(16 << 20))
		sum := sha256.Sum256([]byte(other))
		text, err := os.ReadFile(c.IDs.path)
		must(t, err)
		must(t, os.WriteFile(c.IDs.path, append(text, Identity{Name: "other", sum: sum}.line()...), 0o600))
		must(t, c.IDs.Reload())
	})
	file := u.url() + "/Download/Data/2026.10/big?id="
	var taken atomic.Int64
	begun := make(chan bool, downloads)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	get := func(ctx context.Context, id string, header http.Header) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, file+url.QueryEscape(id), nil)
		must(t, err)
		req.Header = header
		return client.Do(req)
	}
	for range downloads {
		all.Go(func() {
			res, err := get(ctx, followerID, http.Header{})
			if err != nil {
				return // the test has ended
			}
			defer res.Body.Close()
			begun <- true
			buffer := make([]byte, 64<<10)
			for err == nil {
				var n int
				n, err = res.Body.Read(buffer)
				taken.Add(int64(n))
			}
		})
	}
	for range downloads / 4 {
		<-begun
	}
	passed := func(what string, most int64, ask func()) {
		t.Helper()
		before := taken.Load()
		ask()
		if got := taken.Load() - before; got > most {
			t.Errorf("%d bytes passed the other way during %s, want at most %d", got, what, most)
		}
	}
	passed("a download by another id", 8*mine, func() {
		res, err := get(t.Context(), other, http.Header{"Range": {fmt.Sprintf("bytes=0-%d", mine-1)}})
		must(t, err)
		defer res.Body.Close()
		if n, err := io.Copy(io.Discard, res.Body); n != mine || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
	for range 3 {
		passed("a list", 8<<20, func() { ask(t, "GET", withID(u.url()+"/Manifest/latest/big", followerID)) })
	}
}
