package accounts

import (
	"context"
	"math"
	"sync"
)

// Rate is what all identities share.
type Rate interface {
	// Most is how many bytes should be taken at once, math.MaxInt without a limit.
	Most() int
	// Wait returns once n bytes may pass, or with the context's cause.
	Wait(ctx context.Context, n int) error
}

// Queue shares a rate evenly between the identities that wait for it: the one that took
// least comes next, whatever number of its answers wait. Safe for concurrent use.
type Queue struct {
	rate Rate

	mu    sync.Mutex
	taken bool  // a waiter has the turn
	level int64 // bytes that the identity of the last turn had taken before it
	lines map[Identity]*line
}

// line is the waiters of one identity.
type line struct {
	lists, downloads []*waiter
	used             int64 // bytes; behind the others' when it waited for nothing
}

type waiter struct {
	n    int
	turn chan struct{} // closed when it has the turn
}

// NewQueue returns a queue for a rate.
func NewQueue(rate Rate) *Queue { return &Queue{rate: rate, lines: map[Identity]*line{}} }

// Most is how many bytes a Wait should ask for.
func (q *Queue) Most() int { return q.rate.Most() }

// Wait returns once n bytes may pass, or with the context's cause. Lists go before the
// downloads of their identity.
func (q *Queue) Wait(ctx context.Context, who Identity, isList bool, n int) error {
	if q.rate.Most() == math.MaxInt {
		return context.Cause(ctx)
	}
	w := &waiter{n: n, turn: make(chan struct{})}
	q.enter(who, isList, w)
	select {
	case <-w.turn:
	case <-ctx.Done():
		if q.leave(who, w) {
			return context.Cause(ctx)
		}
	}
	err := q.rate.Wait(ctx, n)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.nextLocked()
	return err
}

// enter adds a waiter, which has the turn at once if nobody else has it.
func (q *Queue) enter(who Identity, isList bool, w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[who]
	if l == nil {
		l = &line{}
		q.lines[who] = l
	}
	if l.used = max(l.used, q.level); isList {
		l.lists = append(l.lists, w)
	} else {
		l.downloads = append(l.downloads, w)
	}
	if !q.taken {
		q.nextLocked()
	}
}

// leave is false for a waiter that has the turn.
func (q *Queue) leave(who Identity, w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[who]
	if l == nil {
		return false
	}
	for _, waiters := range []*[]*waiter{&l.lists, &l.downloads} {
		for i, other := range *waiters {
			if other == w {
				*waiters = append((*waiters)[:i:i], (*waiters)[i+1:]...)
				return true
			}
		}
	}
	return false
}

// nextLocked gives the turn to the next waiter, if there is one.
func (q *Queue) nextLocked() {
	var next *line
	for who, l := range q.lines {
		switch {
		case len(l.lists)+len(l.downloads) > 0:
			if next == nil || l.used < next.used {
				next = l
			}
		case l.used <= q.level:
			delete(q.lines, who) // it has no advantage of that
		}
	}
	if q.taken = next != nil; !q.taken {
		return
	}
	waiters := &next.lists
	if len(*waiters) == 0 {
		waiters = &next.downloads
	}
	w := (*waiters)[0]
	*waiters = (*waiters)[1:]
	q.level = next.used
	next.used += int64(w.n)
	close(w.turn)
}
