package publisher

import (
	"fmt"
	"testing"

	"syncd/internal/downstream/bucket"
	"syncd/internal/report"
)

// A publisher before packs wrote the same data: a new generation says that packs are there.
func TestPacksComeToABucketWithoutThem(t *testing.T) {
	server := start(t)
	h := newHost(t)
	files := map[string]string{}
	for i := range 50 {
		files[fmt.Sprintf("%02d.txt", i)] = fmt.Sprintf("content %d", i)
	}
	r := h.serve("addr", "2026.10", files)
	p := newPublisher(t, server.Endpoint, h, nil)
	mustPublish(t, p, Request{})
	before := look(t, server)
	g := before.generation
	g.Manifests[0].Packs = 0
	current := before.current
	current.SHA256 = sum(string(g.Text()))
	server.Put("mirror/"+bucket.GenerationName(g.Number), g.Text())
	server.Put("mirror/"+bucket.CurrentName, current.Text())
	lose(t, server, bucket.PacksOf(r.Files)[0].Name())

	done := mustPublish(t, newPublisher(t, server.Endpoint, h, nil), Request{})
	if c := look(t, server); done.Result != report.Uploaded || c.generation.Manifests[0].Packs != 1 || len(c.files) != 50 {
		t.Errorf("%+v: %+v", done, c.generation)
	}
}

// A changed file makes one pack of several new.
func TestPacksThatAreThereAreNotSentAgain(t *testing.T) {
	server := start(t)
	h := newHost(t)
	p := newPublisher(t, server.Endpoint, h, nil)
	files := map[string]string{}
	for i := range 400 {
		files[fmt.Sprintf("%03d.txt", i)] = large(fmt.Sprint(i), 1)[:60_000]
	}
	h.serve("addr", "2026.10", files)
	mustPublish(t, p, Request{})
	seen := p.cfg.Observer.(*counts)
	sent := seen.uploaded
	files["399.txt"] = "changed"
	h.serve("addr", "2026.11", files)
	mustPublish(t, p, Request{})
	if c := look(t, server); c.generation.Manifests[0].Packs < 3 {
		t.Errorf("%d packs", c.generation.Manifests[0].Packs)
	}
	if sent = seen.uploaded - sent; sent > bucket.MaxPack+1<<20 {
		t.Errorf("%d bytes were sent for one changed file", sent)
	}
}
