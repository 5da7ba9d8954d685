package download

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"syncd/internal/clients/transport"
	"syncd/internal/disk/space"
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/metrics"
	"syncd/internal/report/progress"
	"syncd/internal/verify"
)

// wanter fails the test when the rules of Wanter are broken.
type wanter struct {
	t      *testing.T
	cancel context.CancelFunc // of its own downloads

	mu        sync.Mutex              // guards what follows
	got       map[manifest.Digest]int // how often it was told
	counted   int
	arrived   int64
	failures  []error
	overtaken bool // it has another plan
}

func (w *wanter) Wants() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.failures) == 0 && !w.overtaken
}

func (w *wanter) Got(content manifest.Digest, object manifest.Object, counts bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.got[content]++; w.got[content] > 1 {
		w.t.Errorf("%s came twice", content)
	}
	if object == (manifest.Object{}) {
		w.t.Errorf("%s came without an object", content)
	}
	if w.overtaken {
		return false
	}
	if counts {
		w.counted++
	}
	return true
}

func (w *wanter) Failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures = append(w.failures, err)
	w.cancel()
}

func (w *wanter) Arrived(bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.arrived += bytes
}

// provider answers after a second. It fails the test when a content is asked for twice at
// the same time.
type provider struct {
	Fetcher // there are no packs

	t      *testing.T
	fail   map[manifest.Digest]error
	during func(content manifest.Digest)

	mu      sync.Mutex
	running map[manifest.Digest]bool
	calls   int
}

func (p *provider) Fetch(ctx context.Context, file manifest.File, _ int64, watch fetcher.Watcher) (verify.Proven, error) {
	p.begin(file.Expected)
	defer p.end(file.Expected)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return verify.Proven{}, context.Cause(ctx)
	}
	if p.during != nil {
		p.during(file.Expected)
	}
	if err := p.fail[file.Expected]; err != nil {
		return verify.Proven{}, err
	}
	id, _ := file.Expected.ObjectID()
	return verify.Proven{Object: manifest.Object{ID: id, Size: 10}}, watch.Moved(10, 10)
}

func (p *provider) begin(content manifest.Digest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls++; p.running[content] {
		p.t.Errorf("%s is downloaded twice at the same time", content)
	}
	p.running[content] = true
}

func (p *provider) end(content manifest.Digest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[content] = false
}

// instantly makes objects at once.
type instantly struct{}

func (instantly) Add(_ verify.Proven, done func(error)) { done(nil) }

func newDownloader(t *testing.T) (*Downloader, *provider) {
	p := &provider{t: t, running: map[manifest.Digest]bool{}, fail: map[manifest.Digest]error{}}
	return &Downloader{
		Pool: &Pool{}, Fetcher: p, Transfers: 2, Progress: &progress.Tracker{},
		Free:    func() (space.Amount, error) { return space.Amount{Bytes: 1 << 40, Inodes: 1 << 20}, nil },
		Metrics: metrics.New(prometheus.NewRegistry(), "test", metrics.Probes{}),
	}, p
}

func content(n byte) manifest.Digest { return manifest.ObjectID{n}.Digest() }

func newOrder(t *testing.T, name string, contents ...byte) (*Order, *wanter) {
	ctx, cancel := context.WithCancel(t.Context())
	w := &wanter{t: t, got: map[manifest.Digest]int{}, cancel: cancel}
	o := &Order{Wanter: w, Manifest: name, Context: ctx}
	for _, n := range contents {
		o.Missing = append(o.Missing, &manifest.File{Path: name, Expected: content(n)})
	}
	return o, w
}

// obtain goes through all orders at the same time.
func obtain(t *testing.T, d *Downloader, orders ...*Order) {
	b := d.Batch(instantly{}, orders)
	var group sync.WaitGroup
	for _, o := range orders {
		group.Go(func() {
			if err := b.Obtain(t.Context(), o); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestAContentOfTwoManifestsIsDownloadedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, p := newDownloader(t)
		a, wantsA := newOrder(t, "a", 1, 2, 3)
		b, wantsB := newOrder(t, "b", 2, 3, 4)
		obtain(t, d, a, b)
		if p.calls != 4 || len(wantsA.got) != 3 || len(wantsB.got) != 3 {
			t.Errorf("%d downloads, %d and %d contents, want 4, 3 and 3", p.calls, len(wantsA.got), len(wantsB.got))
		}
		if wantsA.counted+wantsB.counted != 4 || wantsA.arrived+wantsB.arrived != 40 {
			t.Errorf("counted %d and %d downloads, want 4 in all", wantsA.counted, wantsB.counted)
		}
	})
}

func TestAContentThatASyncDownloadsIsNotDownloadedByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, p := newDownloader(t)
		a, _ := newOrder(t, "a", 1)
		b, wantsB := newOrder(t, "b", 1)
		var syncs sync.WaitGroup
		syncs.Go(func() { obtain(t, d, a) })
		syncs.Go(func() { obtain(t, d, b) })
		syncs.Wait()
		if p.calls != 1 || len(wantsB.got) != 1 {
			t.Errorf("%d downloads, and the other sync got %d contents", p.calls, len(wantsB.got))
		}
	})
}

func TestAFailureEndsTheOrdersThatWantTheContentAndNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, p := newDownloader(t)
		broken := errors.New("broken")
		p.fail[content(1)] = broken
		a, wantsA := newOrder(t, "a", 1, 2)
		b, wantsB := newOrder(t, "b", 2, 3)
		obtain(t, d, a, b)
		if len(wantsA.failures) == 0 || !errors.Is(wantsA.failures[0], broken) {
			t.Errorf("a failed with %v", wantsA.failures)
		}
		if len(wantsB.failures) > 0 || len(wantsB.got) != 2 {
			t.Errorf("b failed with %v, and got %d contents", wantsB.failures, len(wantsB.got))
		}
	})
}

func TestADownloadIsCountedForAnotherWhenItsOwnerStartsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, p := newDownloader(t)
		a, wantsA := newOrder(t, "a", 1)
		b, wantsB := newOrder(t, "b", 1)
		p.during = func(manifest.Digest) {
			wantsA.mu.Lock()
			defer wantsA.mu.Unlock()
			wantsA.overtaken = true
		}
		batch := d.Batch(instantly{}, []*Order{a, b})
		if err := batch.Obtain(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if wantsA.counted != 0 || wantsB.counted != 1 {
			t.Errorf("counted %d times for the one that started over and %d times for the other", wantsA.counted, wantsB.counted)
		}
	})
}

func TestAnAdoptedContentIsNotDownloadedUntilItIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, p := newDownloader(t)
		if !d.Pool.Take(content(1)) || d.Pool.Take(content(1)) {
			t.Fatal("a content belongs to one caller")
		}
		d.Pool.Adopt(content(1), manifest.Object{ID: manifest.ObjectID{1}, Size: 10})
		a, wantsA := newOrder(t, "a", 1)
		obtain(t, d, a)
		if p.calls != 0 || len(wantsA.got) != 1 || wantsA.counted != 0 {
			t.Errorf("%d downloads of an adopted content, %d counted", p.calls, wantsA.counted)
		}
		d.Pool.Forget()
		b, _ := newOrder(t, "b", 1)
		if obtain(t, d, b); p.calls != 1 {
			t.Errorf("%d downloads after the end of all syncs, want 1", p.calls)
		}
	})
}

func TestADownloadGivesWayToAFileOfAFolder(t *testing.T) {
	for name, shared := range map[string]bool{"of one manifest": false, "of two": true} {
		for _, adopts := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, adopted %v", name, adopts), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d, p := newDownloader(t)
					a, wantsA := newOrder(t, "a", 1)
					orders := []*Order{a}
					if shared {
						b, _ := newOrder(t, "b", 1)
						orders = append(orders, b)
					}
					go func() {
						time.Sleep(time.Second / 2) // in the middle of the download
						if !d.Pool.Take(content(1)) || d.Pool.Take(content(1)) {
							t.Error("the download did not give way to one file")
						}
						time.Sleep(time.Minute)
						if adopts {
							d.Pool.Adopt(content(1), manifest.Object{ID: manifest.ObjectID{1}, Size: 10})
						} else {
							d.Pool.End(content(1))
						}
					}()
					obtain(t, d, orders...)
					calls, counted := 1, 0
					if !adopts {
						calls, counted = 2, 1
					}
					if p.calls != calls || len(wantsA.got) != 1 || wantsA.counted != counted || len(wantsA.failures) > 0 {
						t.Errorf("%d downloads, %d counted, got %v, failed with %v", p.calls, wantsA.counted, wantsA.got, wantsA.failures)
					}
				})
			})
		}
	}
}

func TestACompleteDownloadDoesNotGiveWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, p := newDownloader(t)
		p.during = func(of manifest.Digest) {
			go func() {
				if d.Pool.Take(of) {
					t.Error("a content that is complete was taken")
				}
			}()
			synctest.Wait() // it asks, and waits for the end
		}
		a, wantsA := newOrder(t, "a", 1)
		obtain(t, d, a)
		if p.calls != 1 || len(wantsA.got) != 1 || wantsA.counted != 1 {
			t.Errorf("%d downloads, got %v", p.calls, wantsA.got)
		}
	})
}

func TestTheLinkOfAnotherManifestHelpsAgainstAWrongOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, p := newDownloader(t)
		a, _ := newOrder(t, "a", 1)
		b, wantsB := newOrder(t, "b", 1)
		b.Missing[0].Reference = renamed(b.Missing[0].Reference, "other")
		d.Fetcher = refuses{p, a.Missing[0].Reference}
		obtain(t, d, a, b)
		if len(wantsB.got) != 1 || len(wantsB.failures) > 0 {
			t.Errorf("got %d contents, failed with %v", len(wantsB.got), wantsB.failures)
		}
	})
}

// refuses is a provider that has nothing under one link.
type refuses struct {
	*provider
	link manifest.Reference
}

func (r refuses) Fetch(ctx context.Context, file manifest.File, size int64, watch fetcher.Watcher) (verify.Proven, error) {
	if file.Reference == r.link {
		return verify.Proven{}, &transport.Error{Kind: transport.NotFound}
	}
	return r.provider.Fetch(ctx, file, size, watch)
}

func renamed(ref manifest.Reference, name string) manifest.Reference {
	parts := ref.Parts()
	parts.Name = name
	return parts.Reference()
}
