package publisher

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/report"
)

// leaseOf is the lease of tests: short, and long enough for a busy machine.
const leaseOf = 8 * time.Second

func elected(c *Config) { c.Lease = leaseOf }

func readLease(t *testing.T, server *buckettest.Server) bucket.Lease {
	t.Helper()
	lease, err := bucket.ParseLease(file(t, server, bucket.LeaseName))
	must(t, err)
	return lease
}

func TestOnePublisherLeadsAndTheOtherTakesOver(t *testing.T) {
	server := start(t)
	a, b := newHost(t), newHost(t)
	frontOfA := buckettest.NewFront(t, server)
	p := newPublisher(t, frontOfA.Endpoint, a, elected)
	q := newPublisher(t, server.Endpoint, b, elected)
	a.serve("addr", "2026.10", map[string]string{"a": "one"})
	b.serve("addr", "2026.11", map[string]string{"a": "two"})
	if done := mustPublish(t, p, Request{}); done.Result != report.Uploaded {
		t.Fatalf("%+v", done)
	}
	if c := look(t, server); c.current.Fence != 1 || c.generation.Fence != 1 {
		t.Errorf("%+v", c.current)
	}
	if done := mustPublish(t, q, Request{}); done.Result != report.Standby {
		t.Fatalf("%+v", done)
	}
	frontOfA.Answer(buckettest.SlowDown) // the leader cannot renew its lease any more
	eventually(t, "the other publisher leads", func() bool {
		done, err := q.Upload(context.Background(), Request{})
		return err == nil && done.Result != report.Standby
	})
	if c := look(t, server); c.current.Fence < 2 || c.files["addr/a"] != "two" {
		t.Errorf("%+v", c)
	}
	if p.election.Holds() {
		t.Error("the former leader may still write")
	}
}

// A damaged lease has no leader, and a publisher on standby must not wait for one.
func TestDamagedLeaseIsToldByEachPublisher(t *testing.T) {
	server := start(t)
	a, b := newHost(t), newHost(t)
	p, q := newPublisher(t, server.Endpoint, a, elected), newPublisher(t, server.Endpoint, b, elected)
	a.serve("addr", "2026.10", map[string]string{"a": "one"})
	b.serve("addr", "2026.10", map[string]string{"a": "one"})
	mustPublish(t, p, Request{})
	if done := mustPublish(t, q, Request{}); done.Result != report.Standby {
		t.Fatalf("%+v", done)
	}
	server.Put("mirror/"+bucket.LeaseName, []byte("no lease"))
	eventually(t, "the publisher on standby tells of the damage", func() bool {
		_, err := q.Upload(context.Background(), Request{})
		return err != nil && strings.Contains(err.Error(), "delete it to begin a new election")
	})
	if name, own := q.Holder(); name != "" || own {
		t.Errorf("%q holds the lease, this one: %t", name, own)
	}
	server.Remove("mirror/" + bucket.LeaseName)
	eventually(t, "one of them leads", func() bool { return p.election.Holds() || q.election.Holds() })
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for limit := time.Now().Add(3 * time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("not so: %s", what)
		}
	}
}

// A leader that ends gives its lease back, so that nobody waits for its end.
func TestALeaderThatEndsGivesItsLeaseBack(t *testing.T) {
	server := start(t)
	a, b := newHost(t), newHost(t)
	p := newPublisher(t, server.Endpoint, a, func(c *Config) { c.Lease = time.Hour })
	a.serve("addr", "2026.10", map[string]string{"a": "one"})
	mustPublish(t, p, Request{})
	p.Close()
	if lease := readLease(t, server); lease.Holder != "" || lease.Fence != 1 {
		t.Errorf("%+v", lease)
	}
	b.serve("addr", "2026.11", map[string]string{"a": "two"})
	q := newPublisher(t, server.Endpoint, b, func(c *Config) { c.Lease = time.Hour })
	if done := mustPublish(t, q, Request{}); done.Result != report.Uploaded {
		t.Errorf("%+v", done)
	}
	if c := look(t, server); c.current.Fence != 2 {
		t.Errorf("%+v", c.current)
	}
}

// The new leader's number is in current.json although it has nothing new: so the write of
// an earlier leader that was stopped right before it finds another current.json.
func TestANewLeaderPutsItsNumberIntoCurrentJSON(t *testing.T) {
	server := start(t)
	a := newHost(t)
	a.serve("addr", "2026.10", map[string]string{"a": "one"})
	p := newPublisher(t, server.Endpoint, a, elected)
	mustPublish(t, p, Request{})
	before, err := p.store.ReadCurrent(inJob(t), bucket.CurrentName, &p.cfg.Log)
	must(t, err)
	p.Close()
	q := newPublisher(t, server.Endpoint, a, elected)
	if done := mustPublish(t, q, Request{}); done.Result != report.UploadUnchanged {
		t.Errorf("%+v", done)
	}
	if c := look(t, server); c.current.Fence != 2 || c.current.Generation != 1 {
		t.Errorf("%+v", c.current)
	}
	late := newPublisher(t, server.Endpoint, a, nil) // writes without asking anybody
	if err := late.main.writeCurrent(inJob(t), before, before.ID(), bucket.Generation{}); err == nil {
		t.Error("the earlier leader's write was done")
	}
}

func TestTheFenceGrowsAlthoughTheLeaseWasDeleted(t *testing.T) {
	server := start(t)
	a := newHost(t)
	a.serve("addr", "2026.10", map[string]string{"a": "one"})
	p := newPublisher(t, server.Endpoint, a, elected)
	mustPublish(t, p, Request{})
	p.Close()
	must(t, os.Remove(server.Path("mirror/"+bucket.LeaseName)))
	mustPublish(t, newPublisher(t, server.Endpoint, a, elected), Request{})
	if c := look(t, server); c.current.Fence != 2 {
		t.Errorf("%+v", c.current)
	}
}

func TestAPublisherWithoutElectionRespectsALease(t *testing.T) {
	server := start(t)
	a, b := newHost(t), newHost(t)
	a.serve("addr", "2026.10", map[string]string{"a": "one"})
	b.serve("addr", "2026.11", map[string]string{"a": "two"})
	leader := newPublisher(t, server.Endpoint, a, elected)
	mustPublish(t, leader, Request{})
	single := newPublisher(t, server.Endpoint, b, nil)
	if _, err := single.Upload(context.Background(), Request{}); err == nil {
		t.Error("published")
	}
	leader.Close()
	mustPublish(t, single, Request{})
	if c := look(t, server); c.current.Fence != 1 || c.files["addr/a"] != "two" {
		t.Errorf("%+v", c)
	}
}
