package publisher

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/report"
)

func TestWhatIsServedIsPublished(t *testing.T) { onEachServer(t, whatIsServedIsPublished) }

func whatIsServedIsPublished(t *testing.T, server *buckettest.Server) {
	front := buckettest.NewFront(t, server)
	h := newHost(t)
	p := newPublisher(t, front.Endpoint, h, nil)
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one", "b.txt": "two", "empty": "", "big": large("x", 40)})
	h.serve("phone", "2026.10", map[string]string{"a.txt": "one"})
	done := mustPublish(t, p, Request{})
	if done.Result != report.Uploaded || done.Generation != 1 || done.Objects != 4 {
		t.Fatalf("%+v", done)
	}
	c := look(t, server)
	if len(c.files) != 5 || c.files["addr/b.txt"] != "two" || c.files["addr/big"] != large("x", 40) {
		t.Errorf("%d files", len(c.files))
	}

	front.Requests()
	if done := mustPublish(t, p, Request{}); done.Result != report.UploadUnchanged || len(front.Requests()) != 1 {
		t.Errorf("%+v, or more than a look at current.json although nothing is new", done)
	}

	// Another generation of this host has the same data, as after a change of a view.
	h.show(h.Current().Records["addr"])
	if done := mustPublish(t, p, Request{}); done.Served != h.Current().Number || done.Result != report.UploadUnchanged {
		t.Errorf("%+v", done)
	}
	front.Requests()

	h.serve("addr", "2026.11", map[string]string{"a.txt": "one", "b.txt": "three"})
	if done = mustPublish(t, p, Request{}); done.Generation != 2 || done.Objects != 1 || done.Bytes != 5 {
		t.Errorf("%+v", done)
	}
	if c = look(t, server); c.files["addr/b.txt"] != "three" || c.generation.Previous != 1 {
		t.Errorf("%+v", c.generation)
	}
	if last := lastWrite(front.Requests()); last != "mirror/"+bucket.CurrentName {
		t.Errorf("the last write is that of %s", last)
	}
}

func lastWrite(requests []buckettest.Request) (name string) {
	for _, r := range requests {
		if r.Method == http.MethodPut && !strings.Contains(r.Name, bucket.Probes) {
			name = r.Name
		}
	}
	return name
}

// Another process, which remembers nothing, finds out by reading.
func TestARestartUploadsNothingTwice(t *testing.T) {
	server := start(t)
	front := buckettest.NewFront(t, server)
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one"})
	mustPublish(t, newPublisher(t, front.Endpoint, h, nil), Request{})
	front.Requests()
	done := mustPublish(t, newPublisher(t, front.Endpoint, h, nil), Request{})
	if done.Result != report.UploadUnchanged || lastWrite(front.Requests()) != "" {
		t.Errorf("%+v, or something was written", done)
	}
}

// Nothing is written to the bucket, and the counts are the expected ones.
func TestADryRunWritesNothing(t *testing.T) {
	server := start(t)
	front := buckettest.NewFront(t, server)
	h := newHost(t)
	p := newPublisher(t, front.Endpoint, h, nil)
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one", "b.txt": "two"})
	done := mustPublish(t, p, Request{DryRun: true})
	if done.Result != report.Uploaded || done.Objects != 2 || done.Bytes != 6 {
		t.Errorf("%+v", done)
	}
	for _, r := range front.Requests() {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			t.Errorf("%s %s", r.Method, r.Name)
		}
	}
}

func TestDamagedBytesAreNotPublished(t *testing.T) {
	server := start(t)
	for name, content := range map[string]string{"small": "one", "in parts": large("y", 40)} {
		h := newHost(t)
		p := newPublisher(t, server.Endpoint, h, nil)
		record := h.serve("addr", "2026.10", map[string]string{"a.txt": content})
		damaged := "X" + content[1:]
		must(t, os.WriteFile(h.path(record.Files[0].Object), []byte(damaged), 0o600))
		_, err := p.Upload(context.Background(), Request{})
		if err == nil || !strings.Contains(err.Error(), "syncd verify --repair") {
			t.Errorf("%s: %v", name, err)
		}
		for _, left := range []string{bucket.CurrentName, bucket.ObjectName(record.Files[0].Object)} {
			if _, err := os.Stat(server.Path("mirror/" + left)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: %s is in the bucket", name, left)
			}
		}
	}
}

// A publisher that is behind another one replaces nothing newer.
func TestAPublisherThatIsBehindReplacesNothingNewer(t *testing.T) {
	server := start(t)
	ahead, behind := newHost(t), newHost(t)
	p, q := newPublisher(t, server.Endpoint, ahead, nil), newPublisher(t, server.Endpoint, behind, nil)
	old := behind.serve("addr", "2026.10", map[string]string{"a.txt": "old"})
	ahead.serve("addr", "2026.11", map[string]string{"a.txt": "new"})
	ahead.serve("phone", "2026.11", map[string]string{"p.txt": "p"})
	mustPublish(t, p, Request{})
	behind.serve("geo", "2026.11", map[string]string{"g.txt": "g"})
	done := mustPublish(t, q, Request{})
	if len(done.Kept) != 2 {
		t.Errorf("%+v", done)
	}
	c := look(t, server)
	if len(c.files) != 3 || c.files["addr/a.txt"] != "new" {
		t.Errorf("%v", c.files)
	}

	// Its own generation does not make what is newer in it its own.
	behind.serve("geo", "2026.12", map[string]string{"g.txt": "g2"})
	if done := mustPublish(t, q, Request{}); done.Result != report.Uploaded || done.Superseded || len(done.Kept) != 2 {
		t.Errorf("%+v", done)
	}
	if c := look(t, server); c.files["addr/a.txt"] != "new" || c.files["phone/p.txt"] != "p" || c.files["geo/g.txt"] != "g2" {
		t.Errorf("%v", c.files)
	}

	// It goes back when its operator says so.
	old.Held = &mirror.Hold{Release: "2026.11"}
	behind.show(old)
	mustPublish(t, q, Request{})
	if c := look(t, server); c.files["addr/a.txt"] != "old" || !c.generation.Manifests[0].Held {
		t.Errorf("%v, %+v", c.files, c.generation)
	}
}

// The operator's rollback reaches the followers, and so does forgetting a manifest.
func TestTheAuthorMayGoBack(t *testing.T) { onEachServer(t, theAuthorMayGoBack) }

func theAuthorMayGoBack(t *testing.T, server *buckettest.Server) {
	h := newHost(t)
	p := newPublisher(t, server.Endpoint, h, nil)
	old := h.serve("addr", "2026.10", map[string]string{"a.txt": "old"})
	h.serve("addr", "2026.11", map[string]string{"a.txt": "new"})
	h.serve("phone", "2026.11", map[string]string{"p.txt": "p"})
	mustPublish(t, p, Request{})
	h.mu.Lock()
	h.current = mirror.Generation{Number: 9, Records: map[string]mirror.Record{"addr": old}}
	h.mu.Unlock()
	mustPublish(t, p, Request{})
	if c := look(t, server); len(c.files) != 1 || c.files["addr/a.txt"] != "old" {
		t.Errorf("%v", c.files)
	}
}

func TestADamagedBucketIsPublishedAnew(t *testing.T) {
	server := start(t)
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one"})
	mustPublish(t, newPublisher(t, server.Endpoint, h, nil), Request{})
	must(t, os.Remove(server.Path("mirror/"+bucket.GenerationName(1))))
	mustPublish(t, newPublisher(t, server.Endpoint, h, nil), Request{})
	if c := look(t, server); c.current.Generation != 2 {
		t.Errorf("%+v", c.current)
	}
}

// A crash between the generation and current.json leaves a number in use.
func TestAnUnfinishedGenerationIsPassedOver(t *testing.T) {
	server := start(t)
	front := buckettest.NewFront(t, server)
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one"})
	ctx, cancel := context.WithCancel(context.Background())
	front.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, bucket.CurrentName) {
			cancel()
			panic(http.ErrAbortHandler)
		}
		return false
	})
	if _, err := newPublisher(t, front.Endpoint, h, nil).Upload(ctx, Request{}); err == nil {
		t.Fatal("published")
	}
	front.Answer(nil)
	h.serve("addr", "2026.11", map[string]string{"a.txt": "two"})
	mustPublish(t, newPublisher(t, front.Endpoint, h, nil), Request{})
	if c := look(t, server); c.current.Generation != 2 || c.files["addr/a.txt"] != "two" {
		t.Errorf("%+v", c.current)
	}
}

// The answer to a write can be lost after the server has done it.
func TestALostAnswerIsNotTakenForAnotherPublisher(t *testing.T) {
	onEachServer(t, aLostAnswerIsNotTakenForAnotherPublisher)
}

func aLostAnswerIsNotTakenForAnotherPublisher(t *testing.T, server *buckettest.Server) {
	front := buckettest.NewFront(t, server)
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one"})
	lost := map[string]bool{}
	front.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		name := buckettest.Name(r)
		isText := strings.HasSuffix(name, ".json")
		if r.Method != http.MethodPut || !isText || lost[name] {
			return false
		}
		lost[name] = true
		passOn(t, server, r)
		panic(http.ErrAbortHandler)
	})
	mustPublish(t, newPublisher(t, front.Endpoint, h, nil), Request{})
	if c := look(t, server); c.current.Generation != 1 || len(lost) != 3 {
		t.Errorf("%+v, %v", c.current, lost)
	}
}

// passOn sends a request to the server, whose signature is for the front's host.
func passOn(t *testing.T, server *buckettest.Server, r *http.Request) {
	out := r.Clone(context.Background())
	out.RequestURI, out.Host = "", r.Host
	out.URL.Scheme, out.URL.Host = "http", strings.TrimPrefix(server.Endpoint, "http://")
	answer, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		t.Error(err)
		return
	}
	answer.Body.Close()
}

func TestWithoutCredentialsTheErrorSaysSo(t *testing.T) {
	server := start(t)
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one"})
	_, err := newPublisher(t, server.Endpoint, h, nil).Upload(context.Background(), Request{})
	if err == nil || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Error(err)
	}
}

func TestWrongCredentialsAreNotTriedAgain(t *testing.T) {
	server := start(t)
	front := buckettest.NewFront(t, server)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret-that-must-not-show")
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one"})
	_, err := newPublisher(t, front.Endpoint, h, nil).Upload(context.Background(), Request{})
	if err == nil || !strings.Contains(err.Error(), "check the credentials") || strings.Contains(err.Error(), "must-not-show") {
		t.Error(err)
	}
	if n := len(front.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestTheBucketIsWholeAfterAKillAtAnyRequest(t *testing.T) {
	onEachServer(t, theBucketIsWholeAfterAKillAtAnyRequest)
}

func theBucketIsWholeAfterAKillAtAnyRequest(t *testing.T, server *buckettest.Server) {
	h := newHost(t)
	var last error
	for i := range 100 { // each round ends one request later
		front := buckettest.NewFront(t, server)
		h.serve("addr", manifest.Release("2026.10"), map[string]string{"a.txt": time.Duration(i).String(), "b.txt": "b" + time.Duration(i).String()})
		ctx, cancel := context.WithCancel(context.Background())
		var requests atomic.Int64
		front.Answer(func(http.ResponseWriter, *http.Request) bool {
			if requests.Add(1) > int64(i) {
				cancel()
				panic(http.ErrAbortHandler)
			}
			return false
		})
		_, err := newPublisher(t, front.Endpoint, h, nil).Upload(ctx, Request{})
		cancel()
		if _, missing := server.Client().StatObject(t.Context(), buckettest.Bucket, "mirror/"+bucket.CurrentName, minio.StatObjectOptions{}); missing == nil {
			look(t, server)               // whole
			age(t, server, 100*time.Hour) // so that there is something to collect
		}
		if err == nil {
			return
		}
		last = err
	}
	t.Errorf("never published: %v", last)
}
