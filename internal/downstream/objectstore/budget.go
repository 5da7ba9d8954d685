package objectstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
)

// Limits are what one job may ask of the server.
type Limits struct {
	Requests int64
	Bytes    int64         // of answers
	Time     time.Duration // counts from the begin
}

// Budget bounds one job. Each single answer of a server can be valid, and the sum of them
// without an end. The budget travels in the context of the job: wire takes every request and
// every byte of an answer from it, and refuses a request without one.
type Budget struct {
	job    string
	began  time.Time
	cancel context.CancelCauseFunc
	end    *time.Timer

	mu   sync.Mutex // guards what follows
	most Limits
	used Limits // but for its time
}

type budgetKey struct{}

// ErrOverrun is the error of a job that has used up its budget.
var ErrOverrun = errors.New("the bucket's answers have no end: look at what else writes to it, or publish below an empty prefix")

// Within gives a job its budget. The caller must call cancel.
func Within(ctx context.Context, job string, l Limits) (_ context.Context, cancel func()) {
	b := &Budget{job: job, began: time.Now(), most: l}
	ctx, b.cancel = context.WithCancelCause(context.WithValue(ctx, budgetKey{}, b))
	b.end = time.AfterFunc(l.Time, func() { b.cancel(b.overrun()) })
	return ctx, func() {
		b.end.Stop()
		b.cancel(nil)
	}
}

// BudgetOf returns the budget of a job. It is nil outside of one.
func BudgetOf(ctx context.Context) *Budget {
	b, _ := ctx.Value(budgetKey{}).(*Budget)
	return b
}

// Grow lets the job ask for more, because it has work of this host to do.
func (b *Budget) Grow(by Limits) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.most.Requests += by.Requests
	b.most.Bytes += by.Bytes
	b.most.Time += by.Time
	b.end.Reset(b.most.Time - time.Since(b.began))
}

// take takes requests and bytes from the budget. Once it is used up, the job ends.
func (b *Budget) take(requests, bytes int64) error {
	if b == nil {
		return &LocalError{errors.New("a request outside of a job")} // not possible
	}
	b.mu.Lock()
	b.used.Requests += requests
	b.used.Bytes += bytes
	isOver := b.used.Requests > b.most.Requests || b.used.Bytes > b.most.Bytes
	b.mu.Unlock()
	if !isOver {
		return nil
	}
	err := b.overrun()
	b.cancel(err)
	return &LocalError{err}
}

func (b *Budget) overrun() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Errorf("%s was given up after %d requests, %s of answers and %s: %w", b.job, b.used.Requests, humanize.IBytes(uint64(b.used.Bytes)), time.Since(b.began).Round(time.Second), ErrOverrun)
}
