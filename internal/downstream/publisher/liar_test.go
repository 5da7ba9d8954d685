package publisher

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/report"
)

// A server can say that it took a write and not have it.
func TestAGenerationNamesNothingThatAServerOnlySaidItTook(t *testing.T) {
	took := func(w http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("ETag", `"0123456789abcdef0123456789abcdef"`)
		return true
	}
	putBelow := func(folder string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			isPut := r.Method == http.MethodPut && len(r.URL.Query()) == 0
			return isPut && strings.HasPrefix(buckettest.Name(r), "mirror/"+folder) && took(w, r)
		}
	}
	for name, lie := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"an object":    putBelow(bucket.Objects),
		"a record":     putBelow(bucket.Records),
		"a generation": putBelow(bucket.Generations),
		"an object in parts": func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPost || !r.URL.Query().Has("uploadId") {
				return false
			}
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = fmt.Fprintf(w, `<CompleteMultipartUploadResult><Bucket>%s</Bucket><Key>%s</Key><ETag>"a-3"</ETag></CompleteMultipartUploadResult>`, buckettest.Bucket, buckettest.Name(r))
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := start(t)
			front := buckettest.NewFront(t, server)
			h := newHost(t)
			h.serve("addr", "2026.10", map[string]string{"small": "small", "big": large("p", 40)})
			p := newPublisher(t, front.Endpoint, h, nil)
			front.Answer(lie)
			if done, err := p.Upload(t.Context(), Request{}); err == nil || done.Result != report.UploadFailed || !strings.Contains(err.Error(), "said that it took") {
				t.Errorf("%+v, %v", done, err)
			}
			if _, err := p.store.Head(inJob(t), bucket.CurrentName); !errors.Is(err, objectstore.ErrNotThere) {
				t.Errorf("current.json: %v", err)
			}
			front.Answer(nil)
			mustPublish(t, p, Request{})
			look(t, server)
		})
	}
}

// Not every server looks at the prefix of a list of uploads.
func TestUploadsOfOtherProgramsAreNotAborted(t *testing.T) {
	server := start(t)
	front := buckettest.NewFront(t, server)
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one"})
	var aborted atomic.Int64
	front.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		switch query := r.URL.Query(); {
		case r.Method == http.MethodGet && query.Has("uploads"):
			_, _ = fmt.Fprint(w, "<ListMultipartUploadsResult>")
			for _, key := range []string{"backup.tar", "mirror/backup.tar", "mirror/objects/backup.tar", "objects/" + contentName("x")[8:], "mirror/" + contentName("x")} {
				_, _ = fmt.Fprintf(w, "<Upload><Key>%s</Key><UploadId>id</UploadId><Initiated>2020-10-01T00:00:00Z</Initiated></Upload>", key)
			}
			_, _ = fmt.Fprint(w, "</ListMultipartUploadsResult>")
			return true
		case r.Method == http.MethodDelete && query.Has("uploadId"):
			aborted.Add(1)
			if buckettest.Name(r) != "mirror/"+contentName("x") {
				t.Errorf("aborted an upload of %s", buckettest.Name(r))
			}
			w.WriteHeader(http.StatusNoContent)
			return true
		}
		return false
	})
	done := mustPublish(t, newPublisher(t, front.Endpoint, h, func(c *Config) { c.Grace = time.Hour }), Request{Collect: true})
	if aborted.Load() != 1 || done.Collected == nil || done.Collected.Uploads != 1 {
		t.Errorf("%d aborted, %+v", aborted.Load(), done.Collected)
	}
}
