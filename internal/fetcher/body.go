package fetcher

import (
	"cmp"
	"context"
	"io"

	"golang.org/x/time/rate"
)

// bodyReader reads a response body into buffers, no faster than the limiter allows.
type bodyReader struct {
	body    io.Reader
	limiter *rate.Limiter
}

// read replaces the bytes of b by the next ones of the body. As with an io.Reader,
// there can be bytes beside an error, and io.EOF is the end.
func (r *bodyReader) read(ctx context.Context, b *buffer) error {
	n, err := r.body.Read(b.data[:bufferSize])
	b.data = b.data[:n]
	if n == 0 || r.limiter.WaitN(ctx, n) == nil {
		return err
	}
	b.data = b.data[:0]
	// WaitN also returns an error when the wait would end after the deadline.
	return cmp.Or(context.Cause(ctx), context.DeadlineExceeded)
}
