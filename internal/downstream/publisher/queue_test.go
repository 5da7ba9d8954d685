package publisher

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/report"
)

// A bucket that is slower than the syncs holds up two calls, however many there are.
func TestASlowBucketLetsOnePublicationWait(t *testing.T) {
	server := start(t)
	front := buckettest.NewFront(t, server)
	reached, free := make(chan struct{}), make(chan struct{})
	var once sync.Once
	front.Answer(func(http.ResponseWriter, *http.Request) bool {
		once.Do(func() { close(reached) })
		<-free
		return false
	})
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a": "first"})
	p := newPublisher(t, front.Endpoint, h, nil)
	const calls = 100
	results := make(chan report.Upload, calls+1)
	upload := func() {
		done, err := p.Upload(context.Background(), Request{})
		if err != nil {
			t.Error(err)
		}
		results <- done
	}
	go upload()
	<-reached
	for range calls {
		go upload()
	}
	for range calls - 1 {
		if done := <-results; done.Result != report.UploadPending {
			t.Errorf("%+v", done)
		}
	}
	h.serve("addr", "2026.11", map[string]string{"a": "last"})
	close(free)
	for range 2 {
		if done := <-results; done.Result != report.Uploaded && done.Result != report.UploadUnchanged {
			t.Errorf("%+v", done)
		}
	}
	if c := look(t, server); c.files["addr/a"] != "last" {
		t.Errorf("%v", c.files)
	}
}
