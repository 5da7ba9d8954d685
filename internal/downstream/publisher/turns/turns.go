package turns

import (
	"context"
	"errors"
	"sync"

	"syncd/internal/report"
)

// Request is what a call asks for. The zero value asks for a plain publication.
type Request[R any] interface {
	comparable
	And(R) R // a request for both
}

// Work does a publication.
type Work[R any] = func(context.Context, R) (report.Upload, error)

// Queue lets one publication run and one wait, however slow the server is: the one that
// waits publishes what is served when its turn comes, also for all calls before it. The
// newest call does the work; a call in whose place it waits ends, or takes its outcome if
// it has asked for more than a plain publication.
type Queue[R Request[R]] struct {
	mu   sync.Mutex // guards what follows
	busy bool
	next *publication[R] // nil for none
}

// publication is the work of one turn.
type publication[R any] struct {
	req   R             // of all calls that it stands for; guarded by queue.mu until begin
	newer chan struct{} // closed when another call does it; guarded by queue.mu
	begin chan struct{} // closed when its turn has come
	ended chan struct{} // closed once it has an outcome

	done report.Upload // the outcome
	err  error
}

// errAbandoned is the outcome of a publication whose call was cancelled.
var errAbandoned = errors.New("its call was cancelled")

// Do calls work in its turn, or lets a newer call do it.
func (q *Queue[R]) Do(ctx context.Context, req R, work Work[R]) (report.Upload, error) {
	for {
		p, newer := q.join(req)
		select {
		case <-p.begin:
		case <-newer:
		case <-ctx.Done():
		}
		if q.isMine(p, newer) {
			return q.run(ctx, p, work)
		}
		if req == *new(R) {
			return report.Upload{Result: report.UploadPending}, nil
		}
		select {
		case <-p.ended:
		case <-ctx.Done():
			return report.Upload{}, context.Cause(ctx)
		}
		if !errors.Is(p.err, errAbandoned) {
			return p.done, p.err
		}
	}
}

// join lets the call do the publication that waits, or a new one.
func (q *Queue[R]) join(req R) (p *publication[R], newer chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	newer = make(chan struct{})
	if q.next != nil {
		close(q.next.newer)
		q.next.newer, q.next.req = newer, q.next.req.And(req)
		return q.next, newer
	}
	p = &publication[R]{req: req, newer: newer, begin: make(chan struct{}), ended: make(chan struct{})}
	if q.busy {
		q.next = p
	} else {
		q.busy = true
		close(p.begin)
	}
	return p, newer
}

// isMine is true if no newer call does the publication. No other call joins it any more.
func (q *Queue[R]) isMine(p *publication[R], newer chan struct{}) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p.newer != newer {
		return false
	}
	if q.next == p { // cancelled before its turn came
		q.next = nil
	}
	return true
}

// run does a publication, unless it was cancelled, and passes the turn on.
func (q *Queue[R]) run(ctx context.Context, p *publication[R], work Work[R]) (done report.Upload, err error) {
	if err = context.Cause(ctx); err == nil {
		done, err = work(ctx, p.req)
	}
	if p.done, p.err = done, err; err != nil && ctx.Err() != nil {
		p.err = errAbandoned
	}
	close(p.ended)
	select {
	case <-p.begin:
	default:
		return done, err // it never had the turn
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy = q.next != nil; q.busy {
		close(q.next.begin)
		q.next = nil
	}
	return done, err
}
