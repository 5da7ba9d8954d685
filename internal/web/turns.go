package web

import "context"

// turns are taken for what costs much: no more than their capacity is made at
// once, the rest waits. A flood of requests then takes neither the processors nor
// the memory from a sync.
type turns chan struct{}

// take calls work in a turn, unless ctx ends before there is one. What was made is
// sent after the turn, for a slow client can take long over it.
func (t turns) take(ctx context.Context, work func() error) error {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-t }()
	return work()
}
