package web

import "context"

// semaphore bounds how many expensive responses are made at once. The others wait, so
// that a flood of requests leaves CPU and memory to a sync.
type semaphore chan struct{}

// do waits for its turn and calls f, unless ctx ends first. Callers send the response
// after do, because a slow client must not keep the others waiting.
func (s semaphore) do(ctx context.Context, f func() error) error {
	select {
	case s <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-s }()
	return f()
}
