package probe

import (
	"context"
	"errors"
	"sync"

	"syncd/internal/host/claims"
)

// ErrOvertaken ends a watch whose revision is not served any more, or whose probe changed.
var ErrOvertaken = errors.New("something else was served meanwhile")

// Docket holds the watches that run, at most one for each manifest. The zero value is ready.
// Safe for concurrent use.
type Docket struct {
	watched claims.Set

	mu      sync.Mutex // guards running
	running map[string]context.CancelCauseFunc
}

// Take waits until no watch of a manifest runs, and returns a function that lets the next
// one in.
func (d *Docket) Take(ctx context.Context, name string) (done func(), err error) {
	claim, err := d.watched.Take(ctx, []string{name})
	if err != nil {
		return nil, err
	}
	return claim.Close, nil
}

// Watch returns the context of a watch, which Overtake ends.
func (d *Docket) Watch(ctx context.Context, name string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running == nil {
		d.running = map[string]context.CancelCauseFunc{}
	}
	d.running[name] = cancel
	return ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.running, name)
		cancel(nil)
	}
}

// Overtake ends the watches of manifests; without names, all of them.
func (d *Docket) Overtake(names ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(names) == 0 {
		for _, cancel := range d.running {
			cancel(ErrOvertaken)
		}
	}
	for _, name := range names {
		if cancel := d.running[name]; cancel != nil {
			cancel(ErrOvertaken)
		}
	}
}
