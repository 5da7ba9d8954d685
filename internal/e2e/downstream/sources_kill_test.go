package downstream_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/e2e"
)

// twoPlaces makes a publisher with two places, and a follower of both.
func twoPlaces(t *testing.T) (p *publisherHost, farStore *buckettest.Front, f *e2e.FollowerHost, far *buckettest.Front) {
	t.Helper()
	return twoPlacesOf(t, buckettest.New(t))
}

// twoPlacesOf makes the places at a server.
func twoPlacesOf(t *testing.T, store *buckettest.Server) (p *publisherHost, farStore *buckettest.Front, f *e2e.FollowerHost, far *buckettest.Front) {
	t.Helper()
	p = publisherOf(e2e.NewHost(t, "m").WithRace(), store)
	keys := []string{"AWS_ACCESS_KEY_ID=" + store.AccessKey, "AWS_SECRET_ACCESS_KEY=" + store.SecretKey}
	p.Environ = append(p.Environ, keys...)
	farStore = buckettest.NewFront(t, p.store)
	place := func(front *buckettest.Front, prefix string) string {
		return fmt.Sprintf("endpoint: %q, bucket: %s, prefix: %s, region: %s", front.Endpoint, buckettest.Bucket, prefix, buckettest.Region)
	}
	p.ConfigureWith("publish: {s3: [{name: near, " + place(p.front, "mirror/") + "}, {name: far, " + place(farStore, "far/") + "}]}\n")
	f, far = p.follower(), buckettest.NewFront(t, p.store)
	f.Environ = append(f.Environ, keys...)
	text, err := os.ReadFile(f.Path("syncd.yaml"))
	f.Must(err)
	_, rest, _ := strings.Cut(string(text), "data_dir:")
	const patience = "retry: {initial_interval: 10ms, max_interval: 100ms, max_elapsed: 500ms}"
	f.Write("syncd.yaml", fmt.Sprintf("source:\n  - {name: near, s3: {%s}, %s}\n  - {name: far, s3: {%s}}\ndata_dir:%s",
		place(f.Front, "mirror/"), patience, place(far, "far/"), rest), 0o644)
	return p, farStore, f, far
}

// Lists work with the servers of each maker, also without conditional writes: the second place takes
// over from the first one, and catches up.
func TestListsWithTheServerOfEachMaker(t *testing.T) {
	t.Parallel()
	for _, maker := range buckettest.Makers {
		t.Run(maker, func(t *testing.T) {
			p, farStore, f, far := twoPlacesOf(t, buckettest.NewOf(t, maker))
			serves := func(content string) {
				t.Helper()
				f.Sync(0)
				if got := f.ServedContent("m"); got != content {
					t.Errorf("%q is served, want %q", got, content)
				}
			}
			p.Month("m", "2026.01", "january")
			p.Sync(0)
			serves("january")
			farStore.Answer(buckettest.SlowDown)
			p.Month("m", "2026.02", "february")
			e2e.Same(p.Host, "exit code while a place is down", 1, p.Syncd("sync").Code)
			serves("february")
			farStore.Answer(nil)
			p.Sync(0)
			f.Front.Answer(buckettest.SlowDown)
			p.Month("m", "2026.03", "march")
			p.Sync(0)
			serves("march")
			f.Front.Answer(nil)
			far.Answer(buckettest.SlowDown)
			serves("march")
		})
	}
}

// A follower is killed while a download changes from one source to the next. Nothing is torn, and
// the next sync goes on behind the bytes that lie on the disk.
func TestKilledBetweenTwoSources(t *testing.T) {
	t.Parallel()
	p, _, f, far := twoPlaces(t)
	p.Month("m", "2026.01", strings.Repeat("july_____", 300_000))
	p.Sync(0)
	f.Sync(0)
	for i, where := range []string{"the first source sends", "the second one is asked", "the second one sends"} {
		before := f.ServedContent("m")
		content := strings.Repeat(fmt.Sprintf("month %02d_", i), 300_000)
		half := len(content) / 2
		p.Month("m", fmt.Sprintf("2026.%02d", 2+i), content)
		p.Sync(0)
		started := make(chan *e2e.Process, 1)
		var killed atomic.Bool
		kill := func() {
			killed.Store(true) // before the end of the process is seen
			f.Must((<-started).Cmd.Process.Kill())
			panic(http.ErrAbortHandler)
		}
		send := func(w http.ResponseWriter, from, to int) {
			w.Header().Set("ETag", `"of `+strconv.Itoa(from)+`"`)
			w.Header().Set("Content-Length", strconv.Itoa(len(content)-from))
			if from > 0 {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
				w.WriteHeader(http.StatusPartialContent)
			}
			_, _ = w.Write([]byte(content[from:to]))
			_ = http.NewResponseController(w).Flush()
			for end := time.Now().Add(time.Minute); unfinished(f) <= int64(from) && time.Now().Before(end); {
				time.Sleep(5 * time.Millisecond)
			}
		}
		f.Front.Answer(func(w http.ResponseWriter, r *http.Request) bool {
			switch {
			case !strings.HasPrefix(buckettest.Name(r), "mirror/"+bucket.Objects):
				return false
			case r.Header.Get("Range") != "":
				return buckettest.SlowDown(w, r)
			}
			send(w, 0, half)
			if where == "the first source sends" {
				kill()
			}
			panic(http.ErrAbortHandler)
		})
		far.Answer(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasPrefix(buckettest.Name(r), "far/"+bucket.Objects) {
				return false
			}
			if where == "the second one sends" {
				from := rangeStart(r)
				send(w, from, (from+len(content))/2)
			}
			kill()
			return true
		})
		process := f.Start("sync")
		started <- process
		<-process.Done
		kept := unfinished(f)
		if !killed.Load() || kept == 0 || f.ServedContent("m") != before {
			t.Fatalf("%s: killed %v with %d bytes", where, killed.Load(), kept)
		}
		f.Front.Answer(buckettest.SlowDown)
		far.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.HasPrefix(buckettest.Name(r), "far/"+bucket.Objects) && int64(rangeStart(r)) < kept {
				t.Errorf("%s: bytes from %d on come again, %d were there", where, rangeStart(r), kept)
			}
			return false
		})
		f.Sync(0)
		if f.ServedContent("m") != content {
			t.Errorf("%s: other content", where)
		}
		f.Proven()
		f.Front.Answer(nil)
		far.Answer(nil)
	}
}

// unfinished is the size of the largest unfinished download, not of what is noted about it.
func unfinished(f *e2e.FollowerHost) (size int64) {
	matches, _ := filepath.Glob(filepath.Join(f.Data, "partial", "*"))
	for _, path := range matches {
		if info, err := os.Stat(path); err == nil && filepath.Ext(path) != ".validator" {
			size = max(size, info.Size())
		}
	}
	return size
}

// rangeStart is the first byte that a request asks for.
func rangeStart(r *http.Request) int {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Range"), "bytes="), "-")
	start, _ := strconv.Atoi(first) // 0 without a range
	return start
}

// A publisher is killed at the first and at the last write to one of two places. Each place shows what it showed
// before or the new generation, never a torn one, the next sync brings both level, and nothing is
// asked of the provider again.
func TestKilledBetweenTwoPlaces(t *testing.T) {
	t.Parallel()
	p, farStore, f, far := twoPlaces(t)
	p.Month("m", "2026.01", "july")
	p.Sync(0)
	f.Sync(0)
	fronts := map[string]*buckettest.Front{"mirror/": p.front, "far/": farStore}
	month := 1
	for _, prefix := range []string{"mirror/", "far/"} {
		for _, write := range []string{bucket.Objects, bucket.CurrentName} {
			month++
			content := fmt.Sprintf("content of month %d", month)
			p.Month("m", fmt.Sprintf("2026.%02d", month), content)
			started := make(chan *e2e.Process, 1)
			var killed atomic.Bool
			fronts[prefix].Answer(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPut && strings.HasPrefix(buckettest.Name(r), prefix+write) && !killed.Swap(true) {
					p.Must((<-started).Cmd.Process.Kill())
					panic(http.ErrAbortHandler)
				}
				return false
			})
			process := p.Start("sync")
			started <- process
			<-process.Done
			if !killed.Load() {
				t.Fatalf("no write of %s%s", prefix, write)
			}
			f.Sync(0) // what the places show is whole
			f.Proven()
			fronts[prefix].Answer(nil)
			sent := p.BytesSent()
			p.Sync(0)
			e2e.Same(p.Host, "bytes of the provider after "+prefix+write, sent, p.BytesSent())
			for _, front := range []*buckettest.Front{far, f.Front} { // each place alone
				front.Answer(buckettest.SlowDown)
				f.Sync(0)
				if f.ServedContent("m") != content {
					t.Errorf("after %s%s: %q", prefix, write, f.ServedContent("m"))
				}
				front.Answer(nil)
			}
		}
	}
}
