package publisher

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

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

// slot is a queue whose first call holds the turn until it is released.
func slot(t *testing.T) (q *queue, release func()) {
	q = &queue{}
	running, free, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = q.do(context.Background(), Request{}, func(context.Context, Request) (report.Upload, error) {
			close(running)
			<-free
			return report.Upload{}, nil
		})
	}()
	<-running
	return q, func() { close(free); <-ended }
}

// waits is true once a call waits for its turn, in the place of another one than before.
func (q *queue) waits(before chan struct{}) chan struct{} {
	for {
		q.mu.Lock()
		if q.next != nil && q.next.newer != before {
			defer q.mu.Unlock()
			return q.next.newer
		}
		q.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
}

// A call that asked for more than a plain publication gets it from a newer call, also when
// the first of these is cancelled.
func TestACallThatAskedForMoreGetsTheOutcomeOfANewerOne(t *testing.T) {
	q, release := slot(t)
	work := func(_ context.Context, req Request) (report.Upload, error) {
		if !req.Collect || !req.Check {
			t.Errorf("%+v", req)
		}
		return report.Upload{Generation: 7}, nil
	}
	outcomes := make(chan report.Upload, 2)
	call := func(req Request) {
		done, err := q.do(context.Background(), req, work)
		if err != nil {
			t.Error(err)
		}
		outcomes <- done
	}
	go call(Request{Collect: true})
	first := q.waits(nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancelled := make(chan error)
	go func() {
		_, err := q.do(ctx, Request{}, work)
		cancelled <- err
	}()
	second := q.waits(first)
	cancel()
	if err := <-cancelled; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	third := q.waits(second) // the first call waits again
	go call(Request{Check: true})
	q.waits(third)
	release()
	for range 2 {
		if done := <-outcomes; done.Generation != 7 {
			t.Errorf("%+v", done)
		}
	}
}
