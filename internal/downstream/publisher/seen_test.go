package publisher

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/manifest"
	"syncd/internal/report"
)

// lose removes something from the bucket behind the back of its publisher, as a lifecycle
// rule does.
func lose(t *testing.T, s *buckettest.Server, name string) {
	t.Helper()
	must(t, os.Remove(s.Path("mirror/"+name)))
}

// overwrite writes something in the place of an object; the server keeps its checksum.
func overwrite(t *testing.T, p *Publisher, name, content string) {
	t.Helper()
	must(t, p.store.PutStream(inJob(t), name, int64(len(content)), sum(content), func() (io.Reader, error) { return strings.NewReader(content), nil }))
}

func contentName(content string) string { return bucket.ObjectName(sum(content)) }

// A new generation names objects of the one before, and whole manifests of it.
func TestANewGenerationNamesNothingThatTheBucketLost(t *testing.T) {
	server := start(t)
	h := newHost(t)
	recheck := 24 * time.Hour
	p := newPublisher(t, server.Endpoint, h, func(c *Config) { c.Recheck = recheck })
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one", "b.txt": "two"})
	phone := h.serve("phone", "2026.10", map[string]string{"p.txt": "three", "q.txt": "four"})
	mustPublish(t, p, Request{})

	for name, spoil := range map[string]func(){
		"an object of a manifest with news":    func() { lose(t, server, contentName("two")) },
		"an object of a manifest without news": func() { lose(t, server, contentName("three")) },
		"a pack":                               func() { lose(t, server, bucket.PacksOf(phone.Files)[0].Name()) },
		"a record":                             func() { lose(t, server, bucket.EntryOf(phone).Record()) },
		"another text in the place of a record": func() {
			server.Put("mirror/"+bucket.EntryOf(phone).Record(), []byte("{}"))
		},
		"other bytes of the same size": func() { overwrite(t, p, contentName("four"), "FOUR") },
		"other bytes of another size":  func() { server.Put("mirror/"+contentName("one"), []byte("once")) },
	} {
		spoil()
		p.main.seen.at = p.main.seen.at.Add(-recheck)
		h.serve("addr", "2026.11", map[string]string{"a.txt": "one", "b.txt": "two", "c.txt": name})
		mustPublish(t, p, Request{})
		if c := look(t, server); c.files["addr/b.txt"] != "two" || c.files["phone/p.txt"] != "three" || c.files["addr/c.txt"] != name {
			t.Errorf("%s: %v", name, c.files)
		}
	}
}

// Objects seen not long ago are not looked for again, unless there was an error since.
func TestAnErrorMakesThePublisherLookAgain(t *testing.T) {
	server := start(t)
	front := buckettest.NewFront(t, server)
	h := newHost(t)
	p := newPublisher(t, front.Endpoint, h, nil)
	looks := func() (count int) {
		for _, r := range front.Requests() {
			if r.Method == http.MethodHead && strings.HasPrefix(r.Name, "mirror/"+bucket.Objects) {
				count++
			}
		}
		return count
	}
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one", "b.txt": "two"})
	mustPublish(t, p, Request{})
	looks()
	h.serve("addr", "2026.11", map[string]string{"a.txt": "one", "b.txt": "two", "c.txt": "three"})
	mustPublish(t, p, Request{})
	if n := looks(); n != 1+1 { // before and after its upload
		t.Errorf("%d looks right after the publication before", n)
	}

	h.serve("addr", "2026.12", map[string]string{"a.txt": "one", "b.txt": "two", "c.txt": "three", "d.txt": "four"})
	front.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusForbidden)
		}
		return r.Method == http.MethodPut
	})
	if _, err := p.Upload(t.Context(), Request{}); err == nil {
		t.Fatal("published")
	}
	front.Answer(nil)
	looks()
	lose(t, server, contentName("one"))
	if done := mustPublish(t, p, Request{}); done.Objects != 2 {
		t.Errorf("%+v", done)
	}
	if n := looks(); n != 4+2 { // of all, and after two uploads
		t.Errorf("%d looks after an error", n)
	}
	look(t, server)
}

// A generation of an earlier version names no digests of records. The next one does.
func TestRecordsAreNamedByTheirDigest(t *testing.T) {
	server := start(t)
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one"})
	mustPublish(t, newPublisher(t, server.Endpoint, h, nil), Request{})
	g := look(t, server).generation
	if g.Manifests[0].RecordSHA256.IsZero() {
		t.Fatalf("%+v", g)
	}
	g.Manifests[0].RecordSHA256 = manifest.ObjectID{}
	server.Put("mirror/"+bucket.GenerationName(1), g.Text())
	server.Put("mirror/"+bucket.CurrentName, bucket.Current{Generation: 1, SHA256: sum(string(g.Text())), Publisher: g.Publisher}.Text())
	p := newPublisher(t, server.Endpoint, h, nil)
	if done := mustPublish(t, p, Request{}); done.Result != report.Uploaded || done.Objects != 0 {
		t.Errorf("%+v", done)
	}
	if c := look(t, server); c.generation.Manifests[0].RecordSHA256.IsZero() {
		t.Errorf("%+v", c.generation)
	}
	// Another publisher of the same revision leaves the record as it is.
	other := newHost(t)
	record := other.serve("addr", "2026.10", map[string]string{"a.txt": "one"})
	record.Source = "https://other.example.net"
	other.show(record)
	if done := mustPublish(t, newPublisher(t, server.Endpoint, other, nil), Request{}); done.Result != report.UploadUnchanged {
		t.Errorf("%+v", done)
	}
}
