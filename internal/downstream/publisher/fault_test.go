package publisher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/report"
)

// isPart is true for the upload of a part.
func isPartRequest(r *http.Request) bool {
	return r.Method == http.MethodPut && r.URL.Query().Has("partNumber")
}

func TestAKilledServerDelaysAPublicationOnly(t *testing.T) {
	server := start(t)
	front := buckettest.NewFront(t, server)
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one", "big": large("k", 80)})
	var parts atomic.Int64
	restarted := make(chan struct{})
	front.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if isPartRequest(r) && parts.Add(1) == 3 {
			server.Kill()
			go func() {
				defer close(restarted)
				server.Start()
			}()
		}
		return false
	})
	mustPublish(t, newPublisher(t, front.Endpoint, h, nil), Request{})
	<-restarted
	if c := look(t, server); len(c.files) != 2 {
		t.Errorf("%d files", len(c.files))
	}
}

// A publisher that is killed goes on with the parts that are in the bucket.
func TestAnUploadInPartsGoesOnInAnotherProcess(t *testing.T) {
	server := start(t)
	front := buckettest.NewFront(t, server)
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"big": large("r", 96)}) // 6 parts
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var mu sync.Mutex
	sent := map[string]int{}
	front.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		number := r.URL.Query().Get("partNumber")
		if !isPartRequest(r) {
			return false
		}
		if len(sent) == 4 {
			cancel()
			panic(http.ErrAbortHandler)
		}
		sent[number]++
		return false
	})
	if _, err := newPublisher(t, front.Endpoint, h, nil).Upload(ctx, Request{}); err == nil {
		t.Fatal("published")
	}
	there := len(partsInBucket(t, server, h))
	var again atomic.Int64
	front.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if isPartRequest(r) {
			again.Add(1)
		}
		return false
	})
	mustPublish(t, newPublisher(t, front.Endpoint, h, nil), Request{})
	look(t, server)
	if there == 0 || again.Load() == 0 || again.Load() > int64(6-there) {
		t.Errorf("%d parts were there, %d were sent afterwards", there, again.Load())
	}
}

// partsInBucket lists the parts of the only object of h.
func partsInBucket(t *testing.T, server *buckettest.Server, h *host) map[int]bool {
	t.Helper()
	p := newPublisher(t, server.Endpoint, h, nil)
	_, parts, err := p.store.Resume(inJob(t), bucket.ObjectName(h.Current().Records["addr"].Files[0].Object), 6)
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]bool{}
	for number := range parts {
		found[number] = true
	}
	return found
}

func TestAThrottledPublicationEndsWell(t *testing.T) { onEachServer(t, aThrottledPublicationEndsWell) }

func aThrottledPublicationEndsWell(t *testing.T, server *buckettest.Server) {
	front := buckettest.NewFront(t, server)
	h := newHost(t)
	files := map[string]string{"big": large("s", 40)}
	for i := range 20 {
		files[fmt.Sprint("f", i)] = fmt.Sprint("content ", i)
	}
	h.serve("addr", "2026.10", files)
	var requests, throttled atomic.Int64
	front.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		if requests.Add(1)%3 != 0 {
			return false
		}
		throttled.Add(1)
		return buckettest.SlowDown(w, r)
	})
	mustPublish(t, newPublisher(t, front.Endpoint, h, nil), Request{Collect: true})
	if c := look(t, server); len(c.files) != len(files) || throttled.Load() < 10 {
		t.Errorf("%d files, %d throttled", len(c.files), throttled.Load())
	}
}

func TestPublishingGivesUpAfterItsBudget(t *testing.T) {
	server := start(t)
	front := buckettest.NewFront(t, server)
	front.Answer(buckettest.SlowDown)
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a": "one"})
	seen := &counts{}
	p := newPublisher(t, front.Endpoint, h, func(c *Config) { c.Place.Retry.MaxElapsed, c.Observer = 200*time.Millisecond, seen })
	done, err := p.Upload(context.Background(), Request{})
	if err == nil || done.Result != report.UploadFailed || !strings.Contains(done.Error, "reduce your request rate") || len(seen.results) != 1 || seen.results[0] != "failed" {
		t.Errorf("%+v, %v, %v", done, err, seen.results)
	}
}

func TestGarbageIsDeletedAfterTheGracePeriod(t *testing.T) {
	server := start(t)
	h := newHost(t)
	p := newPublisher(t, server.Endpoint, h, nil)
	publish := func(content string) report.Upload {
		h.serve("addr", "2026.10", map[string]string{"a": content, "same": "kept for ever"})
		return mustPublish(t, p, Request{})
	}
	publish("one")
	foreign := server.Path("mirror/objects/notes.txt")
	if err := os.WriteFile(foreign, []byte("not the mirror's"), 0o600); err != nil {
		t.Fatal(err)
	}
	age(t, server, 100*time.Hour)
	publish("two") // the first generation leaves now
	if c := mustPublish(t, p, Request{Collect: true}).Collected; c == nil || c.Objects != 0 || c.Texts != 0 {
		t.Fatalf("%+v", c)
	}
	age(t, server, 71*time.Hour)
	publish("three")
	if c := mustPublish(t, p, Request{Collect: true}).Collected; c.Objects != 0 {
		t.Fatalf("the grace period is not over: %+v", c)
	}
	age(t, server, 2*time.Hour)
	if c := mustPublish(t, p, Request{Collect: true, DryRun: true}).Collected; c.Objects != 1 || c.Bytes != 3 || c.Texts != 3 {
		t.Errorf("dry run: %+v", c)
	}
	if c := mustPublish(t, p, Request{Collect: true}).Collected; c.Objects != 1 || c.Bytes != 3 || c.Texts != 3 {
		t.Errorf("%+v", c)
	}
	if c := look(t, server); c.files["addr/a"] != "three" {
		t.Errorf("%v", c.files)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error("a file that is not the mirror's was deleted")
	}
}

// A publication may need an object that nothing has named for long. It is written again,
// so that no collection deletes it meanwhile.
func TestAnOldObjectIsWrittenAgainBeforeItIsNamedAgain(t *testing.T) {
	server := start(t)
	h := newHost(t)
	p := newPublisher(t, server.Endpoint, h, nil)
	h.serve("addr", "2026.10", map[string]string{"a": "one"})
	mustPublish(t, p, Request{})
	h.serve("addr", "2026.10", map[string]string{"a": "two"})
	mustPublish(t, p, Request{})
	age(t, server, 60*time.Hour)
	h.serve("addr", "2026.10", map[string]string{"a": "one"})
	if done := mustPublish(t, p, Request{}); done.Objects != 1 {
		t.Errorf("%+v", done)
	}
	age(t, server, 20*time.Hour)
	mustPublish(t, p, Request{Collect: true})
	look(t, server)
}

// A list may show what is gone and hide what is new.
func TestStaleListsDoNoHarm(t *testing.T) {
	server := start(t)
	front := buckettest.NewFront(t, server)
	h := newHost(t)
	p := newPublisher(t, front.Endpoint, h, nil)
	h.serve("addr", "2026.10", map[string]string{"a": "one"})
	mustPublish(t, p, Request{})
	h.serve("addr", "2026.11", map[string]string{"a": "two"})
	mustPublish(t, p, Request{})
	age(t, server, 100*time.Hour)

	var mu sync.Mutex
	stale := map[string]*httptest.ResponseRecorder{}
	front.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		if !r.URL.Query().Has("list-type") {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		prefix := r.URL.Query().Get("prefix")
		if stale[prefix] == nil {
			recorder := httptest.NewRecorder()
			answer, err := http.DefaultTransport.RoundTrip(outgoing(server, r))
			if err != nil {
				t.Error(err)
				return false
			}
			defer answer.Body.Close()
			recorder.Code = answer.StatusCode
			_, _ = recorder.Body.ReadFrom(answer.Body)
			stale[prefix] = recorder
		}
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(stale[prefix].Code)
		_, _ = w.Write(stale[prefix].Body.Bytes())
		return true
	})
	if c := mustPublish(t, p, Request{Collect: true}).Collected; c.Objects != 1 {
		t.Fatalf("%+v", c)
	}
	// The lists stay as they were: they show the deleted object, which is published again.
	h.serve("addr", "2026.12", map[string]string{"a": "one", "b": "three"})
	mustPublish(t, p, Request{})
	mustPublish(t, p, Request{Collect: true})
	if c := look(t, server); c.files["addr/a"] != "one" || c.current.Generation != 3 {
		t.Errorf("%+v", c)
	}
}

// outgoing is a request for the server as it came to the front.
func outgoing(server *buckettest.Server, r *http.Request) *http.Request {
	out := r.Clone(context.Background())
	out.RequestURI = ""
	out.URL.Scheme, out.URL.Host = "http", strings.TrimPrefix(server.Endpoint, "http://")
	return out
}

func TestCollectionDeletesNothingInDoubt(t *testing.T) {
	server := start(t)
	h := newHost(t)
	p := newPublisher(t, server.Endpoint, h, nil)
	record := h.serve("addr", "2026.10", map[string]string{"a": "one"})
	mustPublish(t, p, Request{})
	age(t, server, 1000*time.Hour)
	if err := os.WriteFile(server.Path("mirror/"+bucket.RecordName("addr", "2026.10", record.Revision)), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Upload(context.Background(), Request{Collect: true}); err == nil || !strings.Contains(err.Error(), "nothing is deleted") {
		t.Error(err)
	}
	if _, err := os.Stat(server.Path("mirror/" + bucket.ObjectName(record.Files[0].Object))); err != nil {
		t.Error(err)
	}
}

// Data that followers can use is published, even if the garbage beside it stays.
func TestFailedCollectionFailsNoPublication(t *testing.T) {
	server := start(t)
	front := buckettest.NewFront(t, server)
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a": "one"})
	front.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		if !r.URL.Query().Has("uploads") {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	p := newPublisher(t, front.Endpoint, h, nil)
	if done := mustPublish(t, p, Request{}); done.Result != report.Uploaded || done.Collected != nil {
		t.Errorf("%+v", done)
	}
	if _, err := p.Upload(context.Background(), Request{Collect: true}); err == nil {
		t.Error("a collection that was asked for failed without an error")
	}
}

// ignoresConditions answers as a server that knows no conditional writes.
func ignoresConditions(w http.ResponseWriter, r *http.Request) bool {
	conditional := r.Header.Get("If-Match") != "" || r.Header.Get("If-None-Match") != ""
	if r.Method != http.MethodPut || !conditional {
		return false
	}
	w.Header().Set("ETag", `"0123456789abcdef0123456789abcdef"`)
	return true
}

func TestAServerWithoutConditionsAllowsOnePublisherOnly(t *testing.T) {
	server := start(t)
	front := buckettest.NewFront(t, server)
	front.Answer(ignoresConditions)
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a": "one"})
	elected := newPublisher(t, front.Endpoint, h, func(c *Config) { c.Lease = 5 * time.Second })
	if _, err := elected.Upload(context.Background(), Request{}); err == nil || !strings.Contains(err.Error(), "election") {
		t.Error(err)
	}
	mustPublish(t, newPublisher(t, front.Endpoint, h, nil), Request{})
	if c := look(t, server); len(c.files) != 1 {
		t.Errorf("%v", c.files)
	}
}

// Again and again, two publishers race for current.json.
func TestTwoPublishersThatRaceLeaveOneWinner(t *testing.T) {
	server := start(t)
	hosts := []*host{newHost(t), newHost(t)}
	publishers := []*Publisher{newPublisher(t, server.Endpoint, hosts[0], nil), newPublisher(t, server.Endpoint, hosts[1], nil)}
	rounds := 20
	if os.Getenv("SYNCD_TORTURE") == "full" {
		rounds = 200
	}
	for round := range rounds {
		for i, h := range hosts {
			h.serve("addr", "2026.10", map[string]string{"a": fmt.Sprint(round, i), "b": fmt.Sprint("b", round)})
		}
		var group sync.WaitGroup
		var failed atomic.Int64
		for _, p := range publishers {
			group.Go(func() {
				if _, err := p.Upload(context.Background(), Request{}); err != nil && !errors.Is(err, objectstore.ErrChanged) {
					t.Error(err)
					failed.Add(1)
				}
			})
		}
		group.Wait()
		c := look(t, server)
		if got := c.files["addr/a"]; got != fmt.Sprint(round, 0) && got != fmt.Sprint(round, 1) {
			t.Fatalf("round %d: %q", round, got)
		}
		if failed.Load() > 0 {
			t.Fatalf("round %d", round)
		}
	}
}
