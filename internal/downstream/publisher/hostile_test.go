package publisher

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher/contents"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
	"syncd/internal/report"
)

// Somebody's text with a very high number must not lead to one that followers refuse.
func TestAPlantedGenerationDoesNotEndTheCounting(t *testing.T) {
	server := start(t)
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one"})
	p := newPublisher(t, server.Endpoint, h, nil)
	server.Put("mirror/"+bucket.GenerationName(1<<40), []byte("{}"))
	if done := mustPublish(t, p, Request{}); done.Generation != 1 {
		t.Errorf("generation %d", done.Generation)
	}
	look(t, server)
}

// setLimits changes the limits of a job until the end of the test.
func setLimits(t *testing.T, of *objectstore.Limits, to objectstore.Limits) {
	before := *of
	*of = to
	t.Cleanup(func() { *of = before })
}

// endless is an S3 server with a generation behind each generation, all written just now.
// Each shows another revision. It keeps what is put, and no conditions.
type endless struct {
	files    int // of each revision
	requests atomic.Int64

	mu  sync.Mutex // guards put
	put map[string][]byte
}

func newEndless(t *testing.T, files int) (*endless, string) {
	e := &endless{files: files, put: map[string][]byte{}}
	text := e.generation(1 << 20).Text()
	e.put[bucket.CurrentName] = bucket.Current{Generation: 1 << 20, SHA256: sha256.Sum256(text), Publisher: "somebody"}.Text()
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	return e, server.URL
}

func (e *endless) record(number int) (r record.Record) {
	r = record.Record{Manifest: "endless", Release: "2026.10", Listed: e.files}
	var sums []manifest.Sum
	for i := range e.files {
		name := fmt.Sprintf("%07d", i)
		f := record.File{Path: name, Reference: manifest.Parts{Class: manifest.Data, Release: r.Release, Name: name}.Reference(), Object: sha256.Sum256(fmt.Append(nil, number, i))}
		r.Files, sums = append(r.Files, f), append(sums, manifest.Sum{Object: f.Object, Path: f.Path})
	}
	r.Revision = manifest.RevisionID(sums)
	return r
}

func (e *endless) generation(number int) bucket.Generation {
	return bucket.Generation{Number: number, Previous: number - 1, Publisher: "somebody", Manifests: []bucket.Manifest{bucket.ManifestOf(e.record(number))}}
}

func (e *endless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.requests.Add(1)
	e.mu.Lock()
	defer e.mu.Unlock()
	name := strings.TrimPrefix(buckettest.Name(r), "mirror/")
	text, found := e.put[name]
	number, isGeneration := bucket.ParseGenerationName(name)
	switch {
	case r.Method == http.MethodPut:
		e.put[name], _ = io.ReadAll(r.Body)
		w.Header().Set("ETag", `"0123456789abcdef0123456789abcdef"`)
		return
	case r.URL.RawQuery != "":
		fmt.Fprint(w, "<ListBucketResult></ListBucketResult>")
		return
	case found:
	case isGeneration && number <= 1<<20:
		g := e.generation(number)
		text = g.Text()
		var record bytes.Buffer
		_ = bucket.WriteRecord(&record, e.record(number))
		e.put[g.Manifests[0].Record()] = record.Bytes()
	default:
		answerXML(http.StatusNotFound, "NoSuchKey")(w)
		return
	}
	delete(e.put, map[bool]string{true: name}[bucket.IsRecordName(name) && strings.Contains(name, "endless")])
	w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
	w.Header().Set("ETag", `"0123456789abcdef0123456789abcdef"`)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text)
}

// A chain of generations that has no end ends the collection, whose failure shows; it holds
// up no publication.
func TestAnEndlessChainOfGenerationsEndsTheCollection(t *testing.T) {
	useCredentials(t)
	setLimits(t, &limitsOfCollection, objectstore.Limits{Requests: 200, Bytes: 1 << 30, Time: time.Hour})
	server, address := newEndless(t, 3)
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a": "one"})
	seen, kept := &counts{}, ""
	p := newPublisher(t, address, h, func(c *Config) {
		c.Observer = seen
		c.KeepCollection = func(err string, _ time.Time) error { kept = err; return nil }
		c.Configured = func(string) bool { return false }
	})
	if done := mustPublish(t, p, Request{}); done.Result != report.Uploaded || done.Collected != nil {
		t.Errorf("%+v", done)
	}
	if !seen.collectionFailed || !strings.Contains(kept, objectstore.ErrOverrun.Error()) || !strings.Contains(kept, "nothing is deleted") {
		t.Errorf("%t, %q", seen.collectionFailed, kept)
	}
	if n := server.requests.Load(); n > 300 {
		t.Errorf("%d requests", n)
	}
	if _, err := p.Upload(t.Context(), Request{Collect: true}); !errors.Is(err, objectstore.ErrOverrun) {
		t.Error(err)
	}
	p.collectAt.Store(1) // an hour later
	kept = ""
	if mustPublish(t, p, Request{}); kept == "" {
		t.Error("the collection that failed was not tried again")
	}
}

// A server that answers for ever, or never, ends a publication.
func TestAPublicationEndsWithItsBudget(t *testing.T) {
	useCredentials(t)
	for name, tt := range map[string]struct {
		limits objectstore.Limits
		answer http.HandlerFunc
	}{
		"requests": {objectstore.Limits{Requests: 50, Bytes: 1 << 30, Time: time.Hour}, answerOf503},
		"bytes": {objectstore.Limits{Requests: 1000, Bytes: 1 << 20, Time: time.Hour}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(bytes.Repeat([]byte(" "), 600<<10))
		}},
		"time": {objectstore.Limits{Requests: 1000, Bytes: 1 << 30, Time: time.Second}, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // or else its end is not seen
			<-r.Context().Done()
		}},
	} {
		server := httptest.NewServer(tt.answer)
		defer server.Close()
		setLimits(t, &limitsOfPublication, tt.limits)
		h := newHost(t)
		h.serve("addr", "2026.10", map[string]string{"a": "one"})
		seen := &counts{}
		p := newPublisher(t, server.URL, h, func(c *Config) {
			c.Observer = seen
			c.Place.Retry = objectstore.Retry{InitialInterval: time.Millisecond, MaxInterval: time.Millisecond, MaxElapsed: 4 * time.Minute}
			if name == "time" {
				c.Place.Retry.MaxElapsed = time.Second
			}
		})
		done, err := p.Upload(context.Background(), Request{})
		if !errors.Is(err, objectstore.ErrOverrun) || done.Result != report.UploadFailed || len(seen.results) != 1 || seen.results[0] != "failed" {
			t.Errorf("%s: %+v, %v, %v", name, done, err, seen.results)
		}
	}
}

func answerOf503(w http.ResponseWriter, r *http.Request) { buckettest.SlowDown(w, r) }

// Parts above those of the object are of nobody's use, however many there are.
func TestAnEndlessListOfPartsIsLeft(t *testing.T) {
	server := start(t)
	front := buckettest.NewFront(t, server)
	h := newHost(t)
	object := h.serve("addr", "2026.10", map[string]string{"big": large("p", 40)}).Files[0].Object
	var pages atomic.Int64
	front.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		query := r.URL.Query()
		switch {
		case r.Method == http.MethodGet && query.Has("uploads"):
			fmt.Fprintf(w, "<ListMultipartUploadsResult><Upload><Key>mirror/%s</Key><UploadId>endless</UploadId><Initiated>2026-10-01T00:00:00Z</Initiated></Upload></ListMultipartUploadsResult>", bucket.ObjectName(object))
		case r.Method == http.MethodGet && query.Has("uploadId"):
			pages.Add(1)
			after, _ := strconv.Atoi(query.Get("part-number-marker"))
			fmt.Fprintf(w, "<ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>%d</NextPartNumberMarker>", after+1000)
			for i := range 1000 {
				fmt.Fprintf(w, "<Part><PartNumber>%d</PartNumber><ETag>e</ETag><Size>1</Size></Part>", after+i+1)
			}
			fmt.Fprint(w, "</ListPartsResult>")
		default:
			return false
		}
		return true
	})
	_, _ = newPublisher(t, front.Endpoint, h, nil).Upload(t.Context(), Request{}) // the upload does not exist
	if n := pages.Load(); n == 0 || n > contents.MaxRestarts {
		t.Errorf("%d pages", n)
	}
}

// A long record of this host's own manifest is no list without an end.
func TestABudgetGrowsWithTheManifestsOfThisHost(t *testing.T) {
	server := start(t)
	setLimits(t, &limitsOfPublication, objectstore.Limits{Requests: 60, Bytes: 16 << 10, Time: time.Hour})
	h := newHost(t)
	p := newPublisher(t, server.Endpoint, h, nil)
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprint("f", i)] = fmt.Sprint(i % 10)
	}
	for _, content := range []string{"one", "two"} {
		files["a"] = content
		h.serve("addr", "2026.10", files)
		mustPublish(t, p, Request{})
	}
}

func TestAnEndlessChainOfGenerationsEndsAVerification(t *testing.T) {
	useCredentials(t)
	setLimits(t, &limitsOfVerification, objectstore.Limits{Requests: 200, Bytes: 1 << 30, Time: time.Hour})
	_, address := newEndless(t, 3)
	done, err := newPublisher(t, address, newHost(t), nil).Verify(t.Context(), Verify{})
	if !errors.Is(err, objectstore.ErrOverrun) || done.Result != report.UploadFailed {
		t.Errorf("%+v, %v", done, err)
	}
}
