package rate

import (
	"context"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxBurst is how many bytes pass at once.
const maxBurst = 256 << 10

// Budget is the rate that all transfers share. A change of it, by Set or by the timetable,
// also applies to transfers under way. Safe for concurrent use.
type Budget struct {
	mu      sync.Mutex // guards what follows
	table   Timetable
	phase   Phase
	limiter *rate.Limiter // nil for no limit
	changed chan struct{} // closed when the limiter is replaced
}

// NewBudget returns a Budget that follows a timetable.
func NewBudget(t Timetable) *Budget {
	b := &Budget{changed: make(chan struct{})}
	b.Set(t)
	return b
}

// Set replaces the timetable.
func (b *Budget) Set(t Timetable) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.table = t
	b.enterLocked(t.At(time.Now().Round(0)))
}

// Rate returns the bytes per second that are allowed now, 0 for no limit.
func (b *Budget) Rate() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.followLocked()
	return b.phase.Rate
}

// Most is how many bytes should be taken at once, so that bytes keep moving: under a low
// limit no more than one second brings.
func (b *Budget) Most() int {
	limiter, _, _ := b.now()
	if limiter == nil {
		return math.MaxInt
	}
	return limiter.Burst()
}

// Wait returns once n bytes may pass, or with the context's cause.
func (b *Budget) Wait(ctx context.Context, n int) error {
	for n > 0 && ctx.Err() == nil {
		limiter, changed, until := b.now()
		if limiter == nil {
			return nil
		}
		part := min(n, limiter.Burst())
		reserved := limiter.ReserveN(time.Now(), part)
		if sleep(ctx, changed, reserved.Delay(), until) {
			n -= part
		} else {
			reserved.Cancel()
		}
	}
	return context.Cause(ctx)
}

// sleep returns false when the context, the rate or the phase ended before the delay.
func sleep(ctx context.Context, changed <-chan struct{}, delay time.Duration, until time.Time) bool {
	if delay == 0 {
		return true
	}
	isWhole := true
	if !until.IsZero() {
		if left := max(time.Until(until), time.Millisecond); left < delay {
			delay, isWhole = left, false
		}
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return isWhole
	case <-changed:
	case <-ctx.Done():
	}
	return false
}

// now returns the present limiter, what closes when it is replaced, and the phase's end.
func (b *Budget) now() (*rate.Limiter, <-chan struct{}, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.followLocked()
	return b.limiter, b.changed, b.phase.Until
}

// followLocked enters the phase of the present time, also after the clock was set.
func (b *Budget) followLocked() {
	if b.phase.Until.IsZero() {
		return
	}
	if now := time.Now().Round(0); now.Before(b.phase.From) || !now.Before(b.phase.Until) {
		b.enterLocked(b.table.At(now))
	}
}

func (b *Budget) enterLocked(p Phase) {
	isSame := p.Rate == b.phase.Rate
	b.phase = p
	if isSame {
		return
	}
	b.limiter = nil
	if p.Rate > 0 {
		b.limiter = rate.NewLimiter(rate.Limit(p.Rate), int(min(p.Rate, maxBurst)))
	}
	close(b.changed)
	b.changed = make(chan struct{})
}
