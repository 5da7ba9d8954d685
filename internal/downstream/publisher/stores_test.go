package publisher

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/report"
)

// answerXML returns an answer of an S3 server with an error.
func answerXML(status int, code string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>%s</Message></Error>`, code, code)
	}
}

// rclone and gofakes3 answer 404 to a list of uploads in progress when there is none, and
// s3rver has no such list.
func TestServersWithoutUploadsInProgressAreWrittenTo(t *testing.T) {
	server := start(t)
	for name, answer := range map[string]func(http.ResponseWriter){
		"404": answerXML(http.StatusNotFound, "NoSuchUpload"),
		"501": answerXML(http.StatusNotImplemented, "NotImplemented"),
	} {
		front := buckettest.NewFront(t, server)
		front.Answer(func(w http.ResponseWriter, r *http.Request) bool {
			isList := r.Method == http.MethodGet && r.URL.Query().Has("uploads")
			if isList {
				answer(w)
			}
			return isList
		})
		h := newHost(t)
		h.serve("addr", "2026.10", map[string]string{"big": large(name, 40)})
		p := newPublisher(t, front.Endpoint, h, nil)
		if done := mustPublish(t, p, Request{Collect: true}); done.Result != report.Uploaded || done.Collected == nil || done.Collected.Uploads != 0 {
			t.Errorf("%s: %+v", name, done)
		}
		if c := look(t, server); c.files["addr/big"] != large(name, 40) {
			t.Errorf("%s: other bytes", name)
		}
	}
}

// versitygw answers 404 to a key that it does not know, as to an object that is not there.
func TestAnUnknownKeyIsNoEmptyBucket(t *testing.T) {
	server := start(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "NOKEYofANYBODY")
	p := newPublisher(t, server.Endpoint, newHost(t), nil)
	if _, err := Look(t.Context(), p.cfg.Place); err == nil || !strings.Contains(err.Error(), "check the credentials") {
		t.Error(err)
	}
	if _, err := p.Upload(t.Context(), Request{Check: true, DryRun: true}); err == nil || !strings.Contains(err.Error(), "check the credentials") {
		t.Error(err)
	}
}

// Fences grow by one: a text with the highest number would leave none to those after it.
func TestAFenceThatLeavesNoNumbersIsRefusedByName(t *testing.T) {
	for name, text := range map[string][]byte{
		bucket.CurrentName: bucket.Current{Generation: 1, SHA256: [32]byte{1}, Fence: math.MaxInt64 - 1}.Text(),
		bucket.LeaseName:   bucket.Lease{Fence: math.MaxInt64, Seconds: 1}.Text(),
	} {
		server := start(t)
		server.Put("mirror/"+name, text)
		h := newHost(t)
		h.serve("addr", "2026.10", map[string]string{"a": "one"})
		p := newPublisher(t, server.Endpoint, h, func(c *Config) { c.Lease = 2 * time.Second })
		_, err := p.Upload(context.Background(), Request{})
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "delete") {
			t.Errorf("%s: %v", name, err)
		}
		if held, _ := p.Holder(); held != "" {
			t.Errorf("%s: %q has the lease", name, held)
		}
		server.Remove("mirror/" + name)
		eventually(t, "the lease is taken once the text is gone", func() bool { return p.election.Holds() })
	}
}

// Ceph RGW 16 compares If-Match as it is with the ETag, without the quotes of HTTP.
func TestAServerThatComparesETagsWithoutQuotesHasConditions(t *testing.T) {
	server := start(t)
	front := buckettest.NewFront(t, server)
	var bare atomic.Int64
	front.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		etag := r.Header.Get("If-Match")
		if strings.HasPrefix(etag, `"`) {
			answerXML(http.StatusPreconditionFailed, "PreconditionFailed")(w)
			return true
		}
		if etag != "" {
			bare.Add(1)
		}
		return false
	})
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a": "one"})
	p := newPublisher(t, front.Endpoint, h, func(c *Config) { c.Lease = time.Hour })
	mustPublish(t, p, Request{})
	probed := bare.Load()
	h.serve("addr", "2026.11", map[string]string{"a": "two"})
	mustPublish(t, p, Request{})
	if c := look(t, server); c.files["addr/a"] != "two" || c.current.Fence != 1 || probed == 0 || bare.Load() == probed {
		t.Errorf("%+v, %d and %d requests", c, probed, bare.Load())
	}
	if seen, err := Look(t.Context(), p.cfg.Place); err != nil || !seen.HasConditions {
		t.Errorf("%+v, %v", seen, err)
	}
}
