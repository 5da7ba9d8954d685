package objectstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"syncd/internal/downstream/bucket/buckettest"
)

// newStore returns the store at a server. mayWrite may be nil.
func newStore(t *testing.T, endpoint string, mayWrite func() error) *Store {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	if mayWrite == nil {
		mayWrite = func() error { return nil }
	}
	place := Place{
		Endpoint: u, Bucket: buckettest.Bucket, Prefix: "mirror/", Region: buckettest.Region, StallTimeout: time.Minute,
		Retry: Retry{InitialInterval: 10 * time.Millisecond, MaxInterval: 500 * time.Millisecond, MaxElapsed: time.Minute},
	}
	s, err := place.Connect(mayWrite, new(Server))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func useCredentials(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", buckettest.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", buckettest.SecretKey)
}

// inJob is a context for requests.
func inJob(t *testing.T) context.Context {
	ctx, end := Within(context.Background(), "a test", Limits{Requests: 100, Bytes: 32 << 20, Time: 10 * time.Minute})
	t.Cleanup(end)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestObjectsAreWrittenListedAndRemoved(t *testing.T) {
	useCredentials(t)
	s, ctx := newStore(t, buckettest.New(t).Endpoint, nil), inJob(t)
	_, err := s.Put(ctx, "a/one", []byte("one"), Condition{Absent: true})
	must(t, err)
	content := strings.Repeat("two", 1000)
	must(t, s.PutStream(ctx, "a/two", 3000, sha256.Sum256([]byte(content)), func() (io.Reader, error) { return strings.NewReader(content), nil }))
	if _, err := s.Put(ctx, "a/one", []byte("1"), Condition{Absent: true}); !errors.Is(err, ErrChanged) {
		t.Errorf("a condition that is not met: %v", err)
	}
	if text, found, err := s.Text(ctx, "a/two", 10); err != nil || len(text) != 11 || found.Size != 3000 {
		t.Errorf("%d bytes, %+v, %v", len(text), found, err)
	}
	if found, err := s.Head(ctx, "a/two"); err != nil || found.IsOther(3000, sha256.Sum256([]byte(content))) || !found.IsOther(3000, [32]byte{}) {
		t.Errorf("%+v, %v", found, err)
	}
	var names []string
	must(t, s.List(ctx, "a/", func(o Listed) { names = append(names, o.Name) }))
	if fmt.Sprint(names) != "[a/one a/two]" {
		t.Errorf("%v", names)
	}
	must(t, s.Remove(ctx, "a/one"))
	if _, err := s.Head(ctx, "a/one"); !errors.Is(err, ErrNotThere) {
		t.Errorf("a removed object: %v", err)
	}
	if has, err := s.KnowsConditions(ctx, "probe"); err != nil || !has {
		t.Errorf("conditions: %t, %v", has, err)
	}
}

func TestAnUploadInPartsIsResumed(t *testing.T) {
	useCredentials(t)
	s, ctx := newStore(t, buckettest.New(t).Endpoint, nil), inJob(t)
	parts := [][]byte{bytes.Repeat([]byte("a"), 5<<20), []byte("end")}
	put := func(up *Multipart, i int) Part {
		part, err := up.Put(ctx, i+1, int64(len(parts[i])), sha256.Sum256(parts[i]), func() io.Reader { return struct{ io.Reader }{bytes.NewReader(parts[i])} })
		must(t, err)
		return part
	}
	up, there, err := s.Resume(ctx, "big", 2)
	if err != nil || len(there) != 0 {
		t.Fatal(there, err)
	}
	put(up, 0)
	up, there, err = s.Resume(ctx, "big", 2)
	if err != nil || !there[1].Is(5<<20, sha256.Sum256(parts[0]), bytes.NewReader(parts[0])) || there[1].Is(5<<20, [32]byte{}, strings.NewReader("")) {
		t.Fatal(there, err)
	}
	must(t, up.Complete(ctx, []Part{there[1], put(up, 1)}))
	if found, err := s.Head(ctx, "big"); err != nil || found.Size != 5<<20+3 {
		t.Errorf("%+v, %v", found, err)
	}
	_, _, err = s.Resume(ctx, "left", 1)
	must(t, err)
	left, err := s.Uploads(ctx, "left")
	if err != nil || len(left) != 1 {
		t.Fatal(left, err)
	}
	must(t, s.Abort(ctx, left[0]))
}

// A caller that lost the right to write sends no request, and gets its own error.
func TestARefusedWriteIsNotSent(t *testing.T) {
	useCredentials(t)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request") }))
	defer server.Close()
	lost := errors.New("the lease is lost")
	s := newStore(t, server.URL, func() error { return lost })
	if _, err := s.Put(inJob(t), "a", nil, Anything); err != lost { //nolint:errorlint // without a prefix
		t.Error(err)
	}
}

func TestABudgetEndsItsJob(t *testing.T) {
	useCredentials(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { buckettest.SlowDown(w, r) }))
	defer server.Close()
	ctx, end := Within(t.Context(), "a test", Limits{Requests: 3, Bytes: 1 << 20, Time: time.Hour})
	defer end()
	if _, err := newStore(t, server.URL, nil).Head(ctx, "a"); !errors.Is(err, ErrOverrun) || !strings.Contains(err.Error(), "a test was given up after 4 requests") {
		t.Error(err)
	}
}

// A list without an end must hold up no job for ever and fill no memory.
func TestListsWithoutAnEndAreRefused(t *testing.T) {
	useCredentials(t)
	pages := 0
	for name, page := range map[string]func(http.ResponseWriter){
		"of one page": func(w http.ResponseWriter) {
			fmt.Fprint(w, "<ListBucketResult>", strings.Repeat("<Name>x</Name>", maxPage/8), "</ListBucketResult>")
		},
		"of empty elements": func(w http.ResponseWriter) {
			fmt.Fprint(w, "<ListBucketResult>", strings.Repeat("<Contents/>", maxPage/12), "</ListBucketResult>")
		},
		"of empty pages": func(w http.ResponseWriter) {
			pages++
			fmt.Fprintf(w, "<ListBucketResult><IsTruncated>%t</IsTruncated><NextContinuationToken>%d</NextContinuationToken></ListBucketResult>", pages <= 10_000, pages)
		},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { page(w) }))
		defer server.Close()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := newStore(t, server.URL, nil).List(inJob(t), "objects/", func(Listed) {})
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; err == nil || used > 512<<20 {
			t.Errorf("a list %s: %d MiB, %v", name, used>>20, err)
		}
	}
}

// The longest page that a server of the real world sends: 1000 names with all that is told
// of an object.
func TestAFullPageIsRead(t *testing.T) {
	useCredentials(t)
	const owner = "<Owner><ID>0123456789abcdef</ID><DisplayName>somebody</DisplayName></Owner>"
	var page strings.Builder
	for n := range 1000 {
		fmt.Fprintf(&page, `<Contents><Key>mirror/objects/%060d</Key><LastModified>2026-11-02T03:04:05.000Z</LastModified><ETag>"0123"</ETag><ChecksumAlgorithm>SHA256</ChecksumAlgorithm>`+
			`<ChecksumType>FULL_OBJECT</ChecksumType><Size>1</Size><StorageClass>STANDARD</StorageClass><RestoreStatus><IsRestoreInProgress>false</IsRestoreInProgress></RestoreStatus>%s</Contents>`, n, owner)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<ListBucketResult>", page.String(), "</ListBucketResult>")
	}))
	defer server.Close()
	listed := 0
	if err := newStore(t, server.URL, nil).List(inJob(t), "objects/", func(Listed) { listed++ }); err != nil || listed != 1000 {
		t.Errorf("%d names, %v", listed, err)
	}
}
