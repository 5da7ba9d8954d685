package publisher

import (
	"net/http"
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
