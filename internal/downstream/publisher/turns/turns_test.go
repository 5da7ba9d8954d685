package turns

import (
	"context"
	"errors"
	"testing"
	"time"

	"syncd/internal/report"
)

// request is a set of wishes.
type request int

const collect, check request = 1, 2

func (r request) And(other request) request { return r | other }

// slot is a queue whose first call holds the turn until it is released.
func slot(t *testing.T) (q *Queue[request], release func()) {
	q = &Queue[request]{}
	running, free, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = q.Do(context.Background(), request(0), func(context.Context, request) (report.Upload, error) {
			close(running)
			<-free
			return report.Upload{}, nil
		})
	}()
	<-running
	return q, func() { close(free); <-ended }
}

// waits is true once a call waits for its turn, in the place of another one than before.
func waits(q *Queue[request], before chan struct{}) chan struct{} {
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
	work := func(_ context.Context, req request) (report.Upload, error) {
		if req != collect|check {
			t.Errorf("%+v", req)
		}
		return report.Upload{Generation: 7}, nil
	}
	outcomes := make(chan report.Upload, 2)
	call := func(req request) {
		done, err := q.Do(context.Background(), req, work)
		if err != nil {
			t.Error(err)
		}
		outcomes <- done
	}
	go call(collect)
	first := waits(q, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancelled := make(chan error)
	go func() {
		_, err := q.Do(ctx, request(0), work)
		cancelled <- err
	}()
	second := waits(q, first)
	cancel()
	if err := <-cancelled; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	third := waits(q, second) // the first call waits again
	go call(check)
	waits(q, third)
	release()
	for range 2 {
		if done := <-outcomes; done.Generation != 7 {
			t.Errorf("%+v", done)
		}
	}
}
