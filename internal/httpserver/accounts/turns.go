package accounts

import (
	"context"
	"sync"
)

// Turns lets one piece of work be done at a time. Of each identity, one request waits among those
// of the others, and the further ones wait behind it: however many requests an identity makes,
// another one waits for a single one of them. Make it with NewTurns. Safe for concurrent use.
type Turns struct {
	all chan struct{} // held by the one that works

	mu    sync.Mutex
	lines map[Identity]*turns
}

// turns are those of an identity.
type turns struct {
	first chan struct{} // held by the request that waits or works
	many  int           // requests that hold or want it, guarded by Turns.mu
}

// NewTurns returns turns that nobody has.
func NewTurns() *Turns {
	return &Turns{all: make(chan struct{}, 1), lines: map[Identity]*turns{}}
}

// Take waits for the turn of an identity. Call end once the work is done, unless Take fails with
// the context's cause.
func (t *Turns) Take(ctx context.Context, who Identity) (end func(), err error) {
	own := t.enter(who)
	for i, lock := range []chan struct{}{own.first, t.all} {
		select {
		case lock <- struct{}{}:
		case <-ctx.Done():
			if i > 0 {
				<-own.first
			}
			t.leave(who)
			return nil, context.Cause(ctx)
		}
	}
	return func() {
		<-t.all
		<-own.first
		t.leave(who)
	}, nil
}

func (t *Turns) enter(who Identity) *turns {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.lines[who]
	if own == nil {
		own = &turns{first: make(chan struct{}, 1)}
		t.lines[who] = own
	}
	own.many++
	return own
}

func (t *Turns) leave(who Identity) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines[who].many--; t.lines[who].many == 0 {
		delete(t.lines, who)
	}
}
