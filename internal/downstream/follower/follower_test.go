package follower_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"syncd/internal/clients/signature"
	"syncd/internal/clients/transport"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/downstream/follower"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

const prefix = "mirror/"

// world is a bucket and a follower's client. Its requests go through a front.
type world struct {
	*testing.T
	server *buckettest.Server
	front  *buckettest.Front
	client *follower.Client
}

func start(t *testing.T) *world {
	t.Helper()
	return startWith(t, buckettest.New(t))
}

// onEachServer runs a test with a server of each maker.
func onEachServer(t *testing.T, test func(*world)) {
	for _, maker := range buckettest.Makers {
		t.Run(maker, func(t *testing.T) { test(startWith(t, buckettest.NewOf(t, maker))) })
	}
}

func startWith(t *testing.T, server *buckettest.Server) *world {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", server.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", server.SecretKey)
	w := &world{T: t, server: server}
	w.front = buckettest.NewFront(t, w.server)
	w.client = w.connect(time.Minute)
	return w
}

// connect returns a client with a retry budget.
func (w *world) connect(patience time.Duration) *follower.Client {
	w.Helper()
	base, err := url.Parse(w.front.Endpoint + "/" + buckettest.Bucket + "/" + prefix)
	if err != nil {
		w.Fatal(err)
	}
	carrier, err := transport.New(transport.Config{
		Base: base, Sign: signature.Signer(signature.Credentials(), buckettest.Region),
		Retry: transport.Retry{InitialInterval: time.Millisecond, MaxInterval: 10 * time.Millisecond, MaxElapsed: patience},
	})
	if err != nil {
		w.Fatal(err)
	}
	client := follower.New(carrier)
	w.Cleanup(client.Close)
	return client
}

// generation expects a generation with a number.
func (w *world) generation(number int) bucket.Generation {
	w.Helper()
	got, err := w.client.Generation(w.Context())
	if err != nil || got.Number != number {
		w.Fatalf("generation %d, %v; expected %d", got.Number, err, number)
	}
	return got
}

// asked returns the names below the prefix of the requests since the last call.
func (w *world) asked() string {
	var names []string
	for _, r := range w.front.Requests() {
		names = append(names, strings.TrimPrefix(r.Name, prefix))
	}
	return strings.Join(names, " ")
}

func data(release manifest.Release, files map[string]string) buckettest.Release {
	return buckettest.Release{Manifest: "data", Release: release, Files: files}
}

func TestPollTakesOneConditionalRequest(t *testing.T) { onEachServer(t, pollOnce) }

func pollOnce(w *world) {
	w.server.Publish(prefix, 1, data("2026.09", map[string]string{"a": "1"}))
	w.generation(1)
	w.asked()
	w.generation(1)
	requests := w.front.Requests()
	if len(requests) != 1 || requests[0].Name != prefix+"current.json" || requests[0].Header.Get("If-None-Match") == "" {
		w.Errorf("%+v", requests)
	}
	w.server.Publish(prefix, 2, data("2026.10", map[string]string{"a": "2"}))
	w.generation(2)
	if asked := w.asked(); asked != "current.json generations/2.json" {
		w.Error(asked)
	}
}

func TestStoreWithoutETagsCostsNoFurtherRequest(t *testing.T) {
	w := start(t)
	w.server.Publish(prefix, 1, data("2026.09", map[string]string{"a": "1"}))
	text, err := os.ReadFile(w.server.Path(prefix + "current.json"))
	if err != nil {
		t.Fatal(err)
	}
	w.front.Answer(func(rw http.ResponseWriter, r *http.Request) bool {
		if buckettest.Name(r) != prefix+"current.json" {
			return false
		}
		_, _ = rw.Write(text)
		return true
	})
	w.generation(1)
	w.asked()
	w.generation(1)
	if asked := w.asked(); asked != "current.json" {
		t.Error(asked)
	}
}

// A server refuses a request with very large headers, also when it sends a usual ETag again.
func TestAnEndlessETagIsNotSentBack(t *testing.T) {
	w := start(t)
	w.server.Publish(prefix, 1, data("2026.09", map[string]string{"a": "1"}))
	text, err := os.ReadFile(w.server.Path(prefix + "current.json"))
	if err != nil {
		t.Fatal(err)
	}
	w.front.Answer(func(rw http.ResponseWriter, r *http.Request) bool {
		if buckettest.Name(r) != prefix+"current.json" {
			return false
		}
		if len(r.Header.Get("If-None-Match")) > 8<<10 {
			rw.WriteHeader(http.StatusRequestHeaderFieldsTooLarge)
			return true
		}
		rw.Header().Set("ETag", `"`+strings.Repeat("x", 100<<10)+`"`)
		_, _ = rw.Write(text)
		return true
	})
	w.generation(1)
	w.generation(1)
}

func TestCallThatWaitsForAnotherEndsWithItsContext(t *testing.T) {
	w := start(t)
	arrived, open := make(chan struct{}), make(chan struct{})
	w.front.Answer(func(http.ResponseWriter, *http.Request) bool {
		close(arrived)
		<-open
		panic(http.ErrAbortHandler)
	})
	first, cancelFirst := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = w.client.Generation(first)
	}()
	<-arrived
	second, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.client.Generation(second); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	cancelFirst()
	close(open)
	<-ended
}

func TestRecordAndObjectAreReadAsTheyWerePublished(t *testing.T) { onEachServer(t, readPublished) }

func readPublished(w *world) {
	const name, content = "a b+c@d=é.txt", "the content"
	w.server.Publish(prefix, 7, buckettest.Release{Manifest: "with space+plus", Release: "2026.09", Files: map[string]string{name: content}})
	record, err := w.client.Record(w.Context(), w.generation(7).Manifests[0])
	if err != nil || len(record.Files) != 1 || record.Files[0].Path != name {
		w.Fatalf("%+v, %v", record, err)
	}
	file := manifest.File{Expected: record.Files[0].Object.Digest()}
	res, err := w.client.Download(w.Context(), file, http.Header{"Range": {"bytes=4-"}}, true)
	if err != nil {
		w.Fatal(err)
	}
	defer res.Body.Close()
	if got, err := io.ReadAll(res.Body); string(got) != content[4:] || res.Status != http.StatusPartialContent || err != nil {
		w.Errorf("%d %q, %v", res.Status, got, err)
	}
}

func TestThrottlingAndBrokenConnectionsAreRetried(t *testing.T) {
	w := start(t)
	w.server.Publish(prefix, 1, data("2026.09", map[string]string{"a": "1"}))
	var asked atomic.Int64 // a request that is sent again may come while the first is still answered
	w.front.Answer(func(rw http.ResponseWriter, r *http.Request) bool {
		n := asked.Add(1)
		if n > 5 {
			return false
		}
		if n%2 == 1 {
			panic(http.ErrAbortHandler)
		}
		return buckettest.SlowDown(rw, r)
	})
	w.generation(1)
}

func TestErrorsNameTheProblemAndNoKey(t *testing.T) {
	w := start(t)
	w.client = w.connect(time.Millisecond)
	w.server.Publish(prefix, 1, data("2026.09", map[string]string{"a": "1"}))
	fails := func(want string) {
		t.Helper()
		_, err := w.client.Generation(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q in it", err, want)
		}
		if err != nil && (strings.Contains(err.Error(), buckettest.SecretKey) || strings.Contains(err.Error(), "Signature=")) {
			t.Errorf("a key in %v", err)
		}
	}
	w.front.Answer(buckettest.SlowDown)
	fails("SlowDown: Please reduce your request rate")
	w.front.Answer(nil)
	w.server.Remove(prefix + "generations/1.json")
	fails("generations/1.json: status 404 Not Found: NoSuchKey")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "another-key-of-tests")
	w.client = w.connect(time.Millisecond)
	fails("SignatureDoesNotMatch")
	fails("; check the credentials, what they allow, and the clock")
}

func TestTextsThatLieAreRefused(t *testing.T) {
	good := func(w *world) bucket.Manifest {
		w.server.Publish(prefix, 1, data("2026.09", map[string]string{"a": "1", "b": "2"}))
		return w.generation(1).Manifests[0]
	}
	for name, lie := range map[string]func(w *world) error{
		"current.json is no JSON": func(w *world) error {
			w.server.Put(prefix+"current.json", []byte("<html>"))
			_, err := w.client.Generation(w.Context())
			return err
		},
		"current.json is too large": func(w *world) error {
			w.server.Put(prefix+"current.json", make([]byte, bucket.MaxText+1))
			_, err := w.client.Generation(w.Context())
			return err
		},
		"another generation under the name": func(w *world) error {
			good(w)
			w.server.Put(prefix+"generations/1.json", bucket.Generation{Number: 1}.Text())
			w.client = w.connect(time.Second)
			_, err := w.client.Generation(w.Context())
			return err
		},
		"a record with other files": func(w *world) error {
			m := good(w)
			text, err := os.ReadFile(w.server.Path(prefix + m.Record()))
			if err != nil {
				w.Fatal(err)
			}
			w.server.Put(prefix+m.Record(), []byte(strings.Replace(string(text), `"path":"a"`, `"path":"../a"`, 1)))
			_, err = w.client.Record(w.Context(), m)
			return err
		},
		"another text of the same record": func(w *world) error {
			m := good(w)
			text, err := os.ReadFile(w.server.Path(prefix + m.Record()))
			if err != nil {
				w.Fatal(err)
			}
			w.server.Put(prefix+m.Record(), []byte(strings.Replace(string(text), "releases.example.net", "mallory.example.net", 1)))
			_, err = w.client.Record(w.Context(), m)
			return err
		},
		"a record that ends early": func(w *world) error {
			m := good(w)
			w.server.Put(prefix+m.Record(), []byte(`{"syncd_bucket":1,"files":[`))
			_, err := w.client.Record(w.Context(), m)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			err := lie(w)
			if failed, ok := errors.AsType[*transport.Error](err); refusal.ReasonOf(err) == "" || ok && failed.Kind != transport.Malformed {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A hostile publisher can make the rest of a record fit its files.
func TestRecordWithHarmfulPathsIsRefused(t *testing.T) {
	w := start(t)
	text, err := os.ReadFile("../../manifest/testdata/attacks.json")
	if err != nil {
		t.Fatal(err)
	}
	var attacks []struct {
		Name  string
		Paths []string
	}
	if err := json.Unmarshal(text, &attacks); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, attack := range attacks {
		files := map[string]string{"good": "good"}
		for _, path := range attack.Paths {
			files[path] = "harm"
		}
		if len(attack.Paths) == 0 || len(files) < 1+len(attack.Paths) { // a map cannot hold one path twice
			continue
		}
		tried++
		w.server.Publish(prefix, tried, data("2026.11", files))
		if record, err := w.client.Record(t.Context(), w.generation(tried).Manifests[0]); refusal.ReasonOf(err) == "" {
			t.Errorf("%s: error %v, files %v", attack.Name, err, record.Files)
		}
	}
	if tried < 20 {
		t.Errorf("only %d attacks", tried)
	}
}
