package publisher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
)

// limits are what one job may ask of the server.
type limits struct {
	requests int64
	bytes    int64         // of answers
	time     time.Duration // counts from the begin
}

// The limits of the jobs. A publication may ask for more with each object that it uploads:
// see budget.grow.
var (
	limitsOfPublication  = limits{requests: 10_000, bytes: 256 << 20, time: time.Hour}
	limitsOfObject       = limits{requests: 16, bytes: 64 << 10, time: time.Second}
	limitsOfCollection   = limits{requests: 500_000, bytes: 16 << 30, time: time.Hour}
	limitsOfVerification = limits{requests: 500_000, bytes: 16 << 30, time: time.Hour} // of texts; it may ask for more for each object
	limitsOfLook         = limits{requests: 100, bytes: 32 << 20, time: 10 * time.Minute}
	limitsOfLease        = limits{requests: 1000, bytes: 32 << 20, time: 24 * time.Hour} // an election's round
)

// slowest is how many bytes a second an upload makes at least, on average.
const slowest = 64 << 10

// budget bounds one job. Each single answer of a server can be valid, and the sum of them
// without an end. The budget travels in the context of the job: wire takes every request and
// every byte of an answer from it, and refuses a request without one.
type budget struct {
	job    string
	began  time.Time
	cancel context.CancelCauseFunc
	end    *time.Timer

	mu   sync.Mutex // guards what follows
	most limits
	used limits // but for its time
}

type budgetKey struct{}

// errOverrun is the error of a job that has used up its budget.
var errOverrun = errors.New("the bucket's answers have no end: look at what else writes to it, or publish below an empty prefix")

// within gives a job its budget. The caller must call cancel.
func within(ctx context.Context, job string, l limits) (_ context.Context, cancel func()) {
	b := &budget{job: job, began: time.Now(), most: l}
	ctx, b.cancel = context.WithCancelCause(context.WithValue(ctx, budgetKey{}, b))
	b.end = time.AfterFunc(l.time, func() { b.cancel(b.overrun()) })
	return ctx, func() {
		b.end.Stop()
		b.cancel(nil)
	}
}

// budgetOf returns the budget of a job. It is nil outside of one.
func budgetOf(ctx context.Context) *budget {
	b, _ := ctx.Value(budgetKey{}).(*budget)
	return b
}

// grow lets the job ask for more, because it has work of this host to do.
func (b *budget) grow(by limits) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.most.requests += by.requests
	b.most.bytes += by.bytes
	b.most.time += by.time
	b.end.Reset(b.most.time - time.Since(b.began))
}

// growFor lets the job upload bytes.
func (b *budget) growFor(bytes int64) {
	more := limitsOfObject
	more.requests += bytes / leastPart * more.requests
	more.bytes += bytes / leastPart * more.bytes
	more.time += time.Duration(bytes/slowest) * time.Second
	b.grow(more)
}

// take takes requests and bytes from the budget. Once it is used up, the job ends.
func (b *budget) take(requests, bytes int64) error {
	if b == nil {
		return &localError{errors.New("a request outside of a job")} // not possible
	}
	b.mu.Lock()
	b.used.requests += requests
	b.used.bytes += bytes
	isOver := b.used.requests > b.most.requests || b.used.bytes > b.most.bytes
	b.mu.Unlock()
	if !isOver {
		return nil
	}
	err := b.overrun()
	b.cancel(err)
	return &localError{err}
}

func (b *budget) overrun() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Errorf("%s was given up after %d requests, %s of answers and %s: %w", b.job, b.used.requests, humanize.IBytes(uint64(b.used.bytes)), time.Since(b.began).Round(time.Second), errOverrun)
}
