package publisher

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/report"
)

// A proxy or a node of the server may say another time than the one that writes the times of
// objects. What another publisher has just uploaded must survive that.
func TestAClockThatIsAheadDeletesNothing(t *testing.T) {
	server := start(t)
	front := buckettest.NewFront(t, server)
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a": "one"})
	p := newPublisher(t, front.Endpoint, h, nil)
	mustPublish(t, p, Request{})
	h.serve("addr", "2026.11", map[string]string{"a": "two"})
	mustPublish(t, p, Request{})
	theirs := bucket.ObjectName(h.serve("addr", "2026.12", map[string]string{"a": "three"}).Files[0].Object)
	server.Put("mirror/"+theirs, []byte("three"))
	h.serve("addr", "2026.11", map[string]string{"a": "two"})
	collect := func(by time.Duration) *report.Collection {
		t.Helper()
		front.Answer(func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Date", time.Now().Add(by).UTC().Format(http.TimeFormat))
			return false
		})
		return mustPublish(t, p, Request{Collect: true}).Collected
	}
	if c := collect(10 * 365 * 24 * time.Hour); c == nil || c.Objects != 0 || c.Texts != 0 {
		t.Errorf("by a clock ten years ahead: %+v", c)
	}
	age(t, server, 100*time.Hour)
	if c := collect(-10 * 365 * 24 * time.Hour); c == nil || c.Objects != 0 || c.Texts != 0 {
		t.Errorf("by a clock ten years behind: %+v", c)
	}
	if c := collect(0); c == nil || c.Objects != 2 {
		t.Errorf("by a right clock: %+v", c)
	}
	look(t, server)
}

// A store that answers with an earlier state, or a cache in front of it, must not make the
// publisher delete what it has just published. Only the ages of objects kept it from that.
func TestAnEarlierStateOfTheBucketDeletesNothing(t *testing.T) {
	server := start(t)
	front := buckettest.NewFront(t, server)
	h := newHost(t)
	p := newPublisher(t, front.Endpoint, h, nil)
	for _, text := range []string{"one", "two"} {
		h.serve("addr", "2026.10", map[string]string{"a": text})
		mustPublish(t, p, Request{})
	}
	age(t, server, 100*time.Hour)
	stale := file(t, server, bucket.CurrentName)
	h.serve("addr", "2026.10", map[string]string{"a": "one"})
	var written atomic.Bool
	front.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		if buckettest.Name(r) != "mirror/"+bucket.CurrentName {
			return false
		}
		if r.Method == http.MethodPut {
			written.Store(true)
		}
		if r.Method != http.MethodGet || !written.Load() {
			return false
		}
		w.Header().Set("ETag", `"earlier"`)
		w.Header().Set("Last-Modified", time.Now().Add(-100*time.Hour).UTC().Format(http.TimeFormat))
		_, err := w.Write(stale)
		return err == nil
	})
	if _, err := p.Upload(t.Context(), Request{Collect: true}); err == nil || !strings.Contains(err.Error(), "nothing is deleted") || !written.Load() {
		t.Error(err)
	}
	look(t, server)
	front.Answer(nil)
	if c := mustPublish(t, p, Request{Collect: true}).Collected; c == nil {
		t.Error("nothing is collected any more")
	}
	look(t, server)
}
