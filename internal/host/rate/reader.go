package rate

import (
	"context"
	"io"
)

// Reader reads no faster than a budget allows, and ends with its context. A nil budget has no
// limit.
func Reader(ctx context.Context, from io.Reader, b *Budget) io.Reader { return paced{ctx, from, b} }

type paced struct {
	ctx    context.Context //nolint:containedctx // as long as what reads
	from   io.Reader
	budget *Budget
}

func (r paced) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	n, err := r.from.Read(p)
	if err == nil && r.budget != nil {
		err = r.budget.Wait(r.ctx, n)
	}
	return n, err
}

// ReaderAt is Reader for an io.ReaderAt.
func ReaderAt(ctx context.Context, from io.ReaderAt, b *Budget) io.ReaderAt {
	return pacedAt{ctx, from, b}
}

type pacedAt struct {
	ctx    context.Context //nolint:containedctx // as long as what reads
	from   io.ReaderAt
	budget *Budget
}

func (r pacedAt) ReadAt(p []byte, at int64) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	n, err := r.from.ReadAt(p, at)
	if err == nil && r.budget != nil {
		err = r.budget.Wait(r.ctx, n)
	}
	return n, err
}
