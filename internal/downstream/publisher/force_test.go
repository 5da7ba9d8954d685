package publisher

import (
	"os"
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/report"
)

// standing expects what a publication says of the generation in the bucket.
func standing(t *testing.T, done report.Upload, result report.Result, generation int, epoch int64, author *Publisher, isSuperseded bool) {
	t.Helper()
	if done.Result != result || done.Generation != generation || done.Epoch != epoch || done.Publisher != author.identity.Name() || done.Superseded != isSuperseded || done.PublishedAt.IsZero() {
		t.Errorf("%+v, expected %s, generation %d of epoch %d", done, result, generation, epoch)
	}
	if (done.Served == 0) != isSuperseded {
		t.Errorf("the bucket shows generation %d of this host", done.Served)
	}
}

// Another publisher took the bucket: the next publication says so, although it has no news.
// The operator takes it back, until the other operator does.
func TestAnOperatorTakesABucketBack(t *testing.T) {
	server := start(t)
	behind, ahead := newHost(t), newHost(t)
	p, q := newPublisher(t, server.Endpoint, behind, nil), newPublisher(t, server.Endpoint, ahead, nil)
	behind.serve("addr", "2026.10", map[string]string{"a.txt": "old"})
	behind.serve("geo", "2026.10", map[string]string{"g.txt": "geo"})
	standing(t, mustPublish(t, p, Request{}), report.Uploaded, 1, 0, p, false)
	ahead.serve("addr", "2026.11", map[string]string{"a.txt": "new"})
	ahead.serve("phone", "2026.11", map[string]string{"p.txt": "p"})
	standing(t, mustPublish(t, q, Request{}), report.Uploaded, 2, 0, q, false)

	for range 2 {
		done := mustPublish(t, p, Request{})
		standing(t, done, report.UploadUnchanged, 2, 0, q, true)
		if len(done.Kept) != 2 { // addr and phone
			t.Errorf("kept %v", done.Kept)
		}
	}
	standing(t, mustPublish(t, p, Request{Force: true}), report.Uploaded, 3, 1, p, false)
	forced := look(t, server)
	if len(forced.files) != 2 || forced.files["addr/a.txt"] != "old" || !forced.generation.Manifests[0].Held || forced.current.Epoch != 1 {
		t.Errorf("%v, %+v", forced.files, forced.generation)
	}
	standing(t, mustPublish(t, p, Request{Check: true}), report.UploadUnchanged, 3, 1, p, false)

	// The other one has news, and restarts.
	ahead.serve("addr", "2026.12", map[string]string{"a.txt": "newer"})
	standing(t, mustPublish(t, q, Request{}), report.UploadUnchanged, 3, 1, p, true)
	q = newPublisher(t, server.Endpoint, ahead, func(c *Config) { c.Past = Past{Generation: 2, Wrote: true} })
	standing(t, mustPublish(t, q, Request{DryRun: true}), report.UploadUnchanged, 3, 1, p, true)
	behind.serve("addr", "2026.11", map[string]string{"a.txt": "between"})
	standing(t, mustPublish(t, p, Request{}), report.Uploaded, 4, 1, p, false)
	if c := look(t, server); c.generation.Manifests[0].Held {
		t.Errorf("%+v", c.generation)
	}
	standing(t, mustPublish(t, q, Request{Force: true}), report.Uploaded, 5, 2, q, false)
	standing(t, mustPublish(t, p, Request{}), report.UploadUnchanged, 5, 2, q, true)
	if c := look(t, server); c.files["addr/a.txt"] != "newer" {
		t.Errorf("%v", c.files)
	}
}

// Without an election, each of two publishers says that it replaced what the other one wrote, and
// which one that is: nobody may know that there are two.
func TestAPublisherSaysWhoseGenerationItReplaced(t *testing.T) {
	server := start(t)
	one, other := newHost(t), newHost(t)
	p, q := newPublisher(t, server.Endpoint, one, nil), newPublisher(t, server.Endpoint, other, nil)
	one.serve("addr", "2026.11", map[string]string{"a.txt": "a"})
	other.serve("addr", "2026.12", map[string]string{"a.txt": "b"})
	if done := mustPublish(t, p, Request{}); done.Replaced != "" {
		t.Errorf("%+v", done)
	}
	if done := mustPublish(t, q, Request{}); done.Replaced != p.identity.Name() {
		t.Errorf("%+v", done)
	}
	if done := mustPublish(t, q, Request{}); done.Result != report.UploadUnchanged || done.Replaced != "" {
		t.Errorf("%+v", done)
	}
	one.serve("addr", "2027.01", map[string]string{"a.txt": "c"})
	if done := mustPublish(t, p, Request{}); done.Replaced != q.identity.Name() {
		t.Errorf("%+v", done)
	}
	one.serve("addr", "2027.02", map[string]string{"a.txt": "d"})
	if done := mustPublish(t, p, Request{}); done.Replaced != "" {
		t.Errorf("its own: %+v", done)
	}
}

// A host that never published there takes part as always.
func TestANewPublisherAcceptsTheEpoch(t *testing.T) {
	server := start(t)
	a, b := newHost(t), newHost(t)
	p, q := newPublisher(t, server.Endpoint, a, nil), newPublisher(t, server.Endpoint, b, nil)
	a.serve("addr", "2026.10", map[string]string{"a.txt": "old"})
	standing(t, mustPublish(t, p, Request{Force: true}), report.Uploaded, 1, 1, p, false)
	b.serve("addr", "2026.11", map[string]string{"a.txt": "new"})
	standing(t, mustPublish(t, q, Request{}), report.Uploaded, 2, 1, q, false)
	standing(t, mustPublish(t, p, Request{}), report.UploadUnchanged, 2, 1, q, true)
}

// Numbers and epochs go on where the bucket was emptied, or shows an older state.
func TestNumbersGoOnInAnEmptiedBucket(t *testing.T) {
	server := start(t)
	h := newHost(t)
	p := newPublisher(t, server.Endpoint, h, nil)
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one"})
	mustPublish(t, p, Request{})
	standing(t, mustPublish(t, p, Request{Force: true}), report.Uploaded, 2, 1, p, false)
	if err := os.RemoveAll(server.Path("mirror")); err != nil {
		t.Fatal(err)
	}
	standing(t, mustPublish(t, p, Request{}), report.Uploaded, 3, 1, p, false)
	look(t, server)
}

func TestTheLastEpochIsRefusedByName(t *testing.T) {
	server := start(t)
	server.PublishIn(bucket.MaxEpoch, "mirror/", 7, buckettest.Release{Manifest: "addr", Release: "2026.09", Files: map[string]string{"a": "1"}})
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one"})
	p := newPublisher(t, server.Endpoint, h, nil)
	if done, err := p.Upload(t.Context(), Request{Force: true}); err == nil {
		t.Errorf("%+v", done)
	}
	if done := mustPublish(t, p, Request{}); done.Generation != 8 || done.Epoch != bucket.MaxEpoch {
		t.Errorf("%+v", done)
	}
}

// With an election, force takes the lease from a publisher that renews it.
func TestForceTakesTheLease(t *testing.T) {
	server := start(t)
	elected := func(c *Config) { c.Lease = 10 * time.Second }
	a, b := newHost(t), newHost(t)
	p, q := newPublisher(t, server.Endpoint, a, elected), newPublisher(t, server.Endpoint, b, elected)
	a.serve("addr", "2026.11", map[string]string{"a.txt": "new"})
	b.serve("addr", "2026.10", map[string]string{"a.txt": "old"})
	mustPublish(t, p, Request{})
	if done := mustPublish(t, q, Request{}); done.Result != report.Standby {
		t.Errorf("%+v", done)
	}
	if done := mustPublish(t, q, Request{Force: true}); done.Result != report.Uploaded || done.Epoch != 1 {
		t.Errorf("%+v", done)
	}
	if done := mustPublish(t, p, Request{Check: true}); done.Result != report.Standby {
		t.Errorf("%+v", done)
	}
	if c := look(t, server); c.files["addr/a.txt"] != "old" || c.current.Fence != 2 {
		t.Errorf("%v, %+v", c.files, c.current)
	}
}
