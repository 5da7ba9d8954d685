package publisher

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"syncd/internal/report"
)

// queue lets one publication run and one wait, however slow the server is: the one that
// waits publishes what is served when its turn comes, also for all calls before it. The
// newest call does the work; a call in whose place it waits ends, or takes its outcome if
// it has asked for more than a plain publication.
type queue struct {
	mu   sync.Mutex // guards what follows
	busy bool
	next *publication // nil for none
}

// publication is the work of one turn.
type publication struct {
	req   Request       // of all calls that it stands for; guarded by queue.mu until begin
	newer chan struct{} // closed when another call does it; guarded by queue.mu
	begin chan struct{} // closed when its turn has come
	ended chan struct{} // closed once it has an outcome

	done report.Upload // the outcome
	err  error
}

// work does a publication.
type work = func(context.Context, Request) (report.Upload, error)

// errAbandoned is the outcome of a publication whose call was cancelled.
var errAbandoned = errors.New("its call was cancelled")

// do calls work in its turn, or lets a newer call do it.
func (q *queue) do(ctx context.Context, req Request, work work) (report.Upload, error) {
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
		if req == (Request{}) {
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
func (q *queue) join(req Request) (p *publication, newer chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	newer = make(chan struct{})
	if q.next != nil {
		close(q.next.newer)
		q.next.newer, q.next.req = newer, q.next.req.and(req)
		return q.next, newer
	}
	p = &publication{req: req, newer: newer, begin: make(chan struct{}), ended: make(chan struct{})}
	if q.busy {
		q.next = p
	} else {
		q.busy = true
		close(p.begin)
	}
	return p, newer
}

// isMine is true if no newer call does the publication. No other call joins it any more.
func (q *queue) isMine(p *publication, newer chan struct{}) bool {
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
func (q *queue) run(ctx context.Context, p *publication, work work) (done report.Upload, err error) {
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

// and is a request for both.
func (r Request) and(other Request) Request {
	return Request{Collect: r.Collect || other.Collect, Check: r.Check || other.Check, Force: r.Force || other.Force, mend: cmp.Or(r.mend, other.mend)}
}
