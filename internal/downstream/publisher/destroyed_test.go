package publisher

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
	"syncd/internal/mirror"
	"syncd/internal/report"
)

// orders are what a host says to its followers.
type orders map[string]destruction.Order

func (o orders) of(name string) destruction.Order { return o[name] }

// destroy notes that a host destroyed a revision just now.
func (o orders) destroy(r mirror.Record) {
	order := o[r.Manifest]
	order.Gone = append(order.Gone, destruction.Gone{Release: r.Release, Revision: r.Revision, At: time.Now().UTC()})
	o[r.Manifest] = order
}

func orderingPublisher(t *testing.T, endpoint string, h *host, o orders) *Publisher {
	return newPublisher(t, endpoint, h, func(c *Config) { c.Order = o.of })
}

// inBucket searches everything in the bucket for a text.
func inBucket(t testing.TB, s *buckettest.Server, text string) (found []string) {
	t.Helper()
	for o := range s.Client().ListObjects(t.Context(), buckettest.Bucket, minio.ListObjectsOptions{Prefix: "mirror/", Recursive: true}) {
		must(t, o.Err)
		object, err := s.Client().GetObject(t.Context(), buckettest.Bucket, o.Key, minio.GetObjectOptions{})
		must(t, err)
		data, err := io.ReadAll(object)
		_ = object.Close()
		if minio.ToErrorResponse(err).Code == "NoSuchKey" { // the server deletes
			continue
		}
		must(t, err)
		if bytes.Contains(data, []byte(text)) {
			found = append(found, o.Key)
		}
	}
	return found
}

func isInBucket(t testing.TB, s *buckettest.Server, name string) bool {
	t.Helper()
	_, err := s.Client().StatObject(t.Context(), buckettest.Bucket, "mirror/"+name, minio.StatObjectOptions{})
	return err == nil
}

func recordName(r mirror.Record) string { return bucket.RecordName(r.Manifest, r.Release, r.Revision) }

// The grace period does not outlive a destruction. What is served or shared stays whole.
func TestWhatWasDestroyedLeavesTheBucketAtOnce(t *testing.T) {
	onEachServer(t, whatWasDestroyedLeavesTheBucketAtOnce)
}

func whatWasDestroyedLeavesTheBucketAtOnce(t *testing.T, server *buckettest.Server) {
	h, o := newHost(t), orders{"addr": {Seconds: 90 * 86400}}
	p := orderingPublisher(t, server.Endpoint, h, o)
	gone := h.serve("addr", "2026.09", map[string]string{"a": "secret of September", "same": "shared by both", "big": large("gone", 40)})
	h.serve("phone", "2026.09", map[string]string{"p": "earlier phone"})
	mustPublish(t, p, Request{})
	h.serve("addr", "2026.10", map[string]string{"a": "October", "same": "shared by both"})
	h.serve("phone", "2026.10", map[string]string{"p": "phone"})
	mustPublish(t, p, Request{})
	o.destroy(gone)
	done := mustPublish(t, p, Request{})
	if done.Result != report.Uploaded || done.Collected == nil || done.Collected.Objects != 2 || done.Collected.Texts != 2 {
		t.Errorf("%+v, collected %+v", done, done.Collected)
	}
	if left := inBucket(t, server, "secret of September"); left != nil {
		t.Errorf("still in %q", left)
	}
	if left := inBucket(t, server, large("gone", 1)[:1000]); left != nil {
		t.Errorf("the large file is still in %q", left)
	}
	if isInBucket(t, server, recordName(gone)) {
		t.Error("its record is still there")
	}
	if isInBucket(t, server, bucket.PacksOf(gone.Files)[0].Name()) {
		t.Error("its pack is still there")
	}
	if inBucket(t, server, "earlier phone") == nil {
		t.Error("another manifest lost a revision inside the grace period")
	}
	c := look(t, server)
	if c.files["addr/same"] != "shared by both" || len(c.files) != 3 {
		t.Errorf("%v", c.files)
	}
	if order := c.generation.Destruction["addr"]; order.Seconds != 90*86400 || !order.Names(gone.Release, gone.Revision) || len(c.generation.Destruction) != 1 {
		t.Errorf("followers are told %+v", c.generation.Destruction)
	}
	if done := mustPublish(t, p, Request{}); done.Result != report.UploadUnchanged || done.Collected != nil {
		t.Errorf("%+v", done)
	}
	verified, err := p.Verify(context.Background(), Verify{Read: true})
	if err != nil || verified.Result != report.UploadVerified {
		t.Errorf("%+v, %v", verified.Verification, err)
	}
}

// A bucket that fails while something is deleted is told, and what is left goes later, also in
// another process.
func TestAFailedOrKilledDestructionInTheBucketGoesOn(t *testing.T) {
	server := start(t)
	front := buckettest.NewFront(t, server)
	h, o := newHost(t), orders{}
	p := orderingPublisher(t, front.Endpoint, h, o)
	gone := h.serve("addr", "2026.09", map[string]string{"a": "secret 1", "b": "secret 2", "c": "secret 3"})
	mustPublish(t, p, Request{})
	h.serve("addr", "2026.10", map[string]string{"a": "new"})
	mustPublish(t, p, Request{})
	o.destroy(gone)
	var removed atomic.Int64
	front.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodDelete || removed.Add(1) <= 1 {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	if done := mustPublish(t, p, Request{}); done.Result != report.Uploaded || !p.cfg.Observer.(*counts).collectionFailed {
		t.Errorf("%+v, and the failure was not told", done)
	}
	if left := inBucket(t, server, "secret"); len(left) < 2 || !isInBucket(t, server, recordName(gone)) {
		t.Errorf("left are %q, and the record must stay until they are gone", left)
	}
	front.Answer(nil)
	p.Close()
	p = orderingPublisher(t, front.Endpoint, h, o)
	if done := mustPublish(t, p, Request{}); done.Result != report.UploadUnchanged || done.Collected == nil || done.Collected.Objects < 2 {
		t.Errorf("%+v, collected %+v", done, done.Collected)
	}
	if left := inBucket(t, server, "secret"); left != nil || isInBucket(t, server, recordName(gone)) {
		t.Errorf("left are %q", left)
	}
	look(t, server)
}

// One publisher destroys what another one serves: it stays as long as the present generation
// names it, and goes when that ends.
func TestWhatAnotherPublisherServesStays(t *testing.T) {
	server := start(t)
	ahead, behind := newHost(t), newHost(t)
	o := orders{}
	p, q := orderingPublisher(t, server.Endpoint, ahead, o), newPublisher(t, server.Endpoint, behind, nil)
	old := behind.serve("addr", "2026.09", map[string]string{"a": "secret"})
	ahead.serve("addr", "2026.10", map[string]string{"a": "new"})
	mustPublish(t, p, Request{})
	mustPublish(t, q, Request{Force: true}) // its operator took the bucket back
	o.destroy(old)
	if done := mustPublish(t, p, Request{Collect: true}); !done.Superseded {
		t.Errorf("%+v", done)
	}
	if c := look(t, server); c.files["addr/a"] != "secret" {
		t.Errorf("%v", c.files)
	}
	mustPublish(t, p, Request{Force: true})
	if c := look(t, server); c.files["addr/a"] != "new" || !c.generation.Destruction["addr"].Names(old.Release, old.Revision) {
		t.Errorf("%v, %+v", c.files, c.generation)
	}
	if left := inBucket(t, server, "secret"); left != nil {
		t.Errorf("left are %q", left)
	}
}

// The other publisher finds out from the generation why a record of it is gone: its own
// collection and its verification take that for no damage, and it says the same to followers.
func TestTheOtherPublisherTakesADestructionForNoDamage(t *testing.T) {
	server := start(t)
	one, two := newHost(t), newHost(t)
	o := orders{"addr": {Seconds: 1000}}
	p := orderingPublisher(t, server.Endpoint, one, o)
	q := orderingPublisher(t, server.Endpoint, two, orders{"addr": {Seconds: 2000}})
	gone := one.serve("addr", "2026.09", map[string]string{"a": "secret"})
	two.serve("addr", "2026.09", map[string]string{"a": "secret"})
	mustPublish(t, p, Request{})
	one.serve("addr", "2026.10", map[string]string{"a": "new"})
	two.serve("addr", "2026.10", map[string]string{"a": "new"})
	mustPublish(t, p, Request{})
	o.destroy(gone)
	mustPublish(t, p, Request{})
	two.serve("phone", "2026.10", map[string]string{"p": "phone"})
	if done := mustPublish(t, q, Request{Collect: true}); done.Result != report.Uploaded {
		t.Errorf("%+v", done)
	}
	c := look(t, server)
	if order := c.generation.Destruction["addr"]; order.Seconds != 1000 || !order.Names(gone.Release, gone.Revision) {
		t.Errorf("the other publisher took back what followers were told: %+v", order)
	}
	if verified, err := q.Verify(context.Background(), Verify{Repair: true}); err != nil || verified.Result != report.UploadVerified {
		t.Errorf("%+v, %v", verified.Verification, err)
	}
	for range 2 { // neither replaces the other's generation for ever
		for _, publisher := range []*Publisher{p, q} {
			if done := mustPublish(t, publisher, Request{Check: true}); done.Result != report.UploadUnchanged {
				t.Errorf("%+v", done)
			}
		}
	}
	if left := inBucket(t, server, "secret"); left != nil {
		t.Errorf("left are %q", left)
	}
}

// A revision that comes back after its destruction, by an operator's pin, is uploaded again
// although the bucket seems to have it: another publisher may be deleting it right now.
func TestADestroyedRevisionThatComesBackIsUploadedAgain(t *testing.T) {
	server := start(t)
	h, o := newHost(t), orders{}
	p := orderingPublisher(t, server.Endpoint, h, o)
	old := h.serve("addr", "2026.09", map[string]string{"a": "secret"})
	mustPublish(t, p, Request{})
	h.serve("addr", "2026.10", map[string]string{"a": "new"})
	mustPublish(t, p, Request{})
	front := buckettest.NewFront(t, server)
	front.Answer(func(w http.ResponseWriter, r *http.Request) bool { // nothing is deleted
		if r.Method == http.MethodDelete && !strings.Contains(r.URL.Path, bucket.Probes) {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	})
	q := orderingPublisher(t, front.Endpoint, h, o)
	o.destroy(old)
	mustPublish(t, q, Request{})
	delete(o, "addr")
	old.Orders.Pin = "2026.09"
	h.show(old)
	if done := mustPublish(t, q, Request{}); done.Objects != 1 {
		t.Errorf("%+v", done)
	}
	front.Answer(nil)
	mustPublish(t, q, Request{Collect: true})
	c := look(t, server)
	if c.files["addr/a"] != "secret" || c.generation.Destruction["addr"].Names(old.Release, old.Revision) {
		t.Errorf("%v, %+v", c.files, c.generation.Destruction)
	}
}

// However much was destroyed, a generation says the newest of it.
func TestOrdersAreBoundedInAGeneration(t *testing.T) {
	server := start(t)
	h, o := newHost(t), orders{}
	p := orderingPublisher(t, server.Endpoint, h, o)
	h.serve("addr", "2026.10", map[string]string{"a": "new"})
	order := destruction.Order{Seconds: 1}
	for n := range 3 * destruction.MaxGone {
		order.Gone = append(order.Gone, destruction.Gone{Release: manifest.Release("2020.01"), Revision: revisionOf(n), At: time.Unix(int64(1_600_000_000+n), 0).UTC()})
	}
	o["addr"] = order
	mustPublish(t, p, Request{})
	gone := look(t, server).generation.Destruction["addr"].Gone
	if len(gone) != destruction.MaxGone || gone[0].Revision != revisionOf(3*destruction.MaxGone-1) {
		t.Errorf("%d, the first is %+v", len(gone), gone[0])
	}
}

func revisionOf(n int) string {
	id := sum(string(rune(n)))
	return id.String()[:12]
}
