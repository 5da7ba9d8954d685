package election

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
)

// ErrLost says that this publisher does not hold the lease.
var ErrLost = errors.New("another publisher holds the lease")

// limits are those of a round.
var limits = objectstore.Limits{Requests: 1000, Bytes: 32 << 20, Time: 24 * time.Hour}

// Election decides which of several publishers writes. The lease's holder renews it with
// conditional writes. Another publisher takes it when its text has not changed for the
// length of the lease, by that publisher's own clock. No two clocks are compared. Safe for
// concurrent use.
type Election struct {
	Store  *objectstore.Store // set before Run
	holder string
	length time.Duration

	mu      sync.Mutex // guards what follows
	held    bool
	lease   bucket.Lease
	etag    string
	until   time.Duration // by uptime; this publisher writes nothing from then on
	seen    string        // ETag of another one's lease
	seenAt  time.Duration // when it was first seen
	other   string        // the holder of that lease
	demands bool          // an operator wants this publisher to lead
	renewed bool          // another one renewed its lease while this one looked
	err     error         // of the last round
	rounds  chan struct{} // closed at the end of a round
}

// New returns an election for leases of a length, in which this publisher has the name
// holder. Run takes part in it.
func New(holder string, length time.Duration) *Election {
	return &Election{holder: holder, length: length, rounds: make(chan struct{})}
}

// Holds is true while this publisher may write; nil is no election.
func (e *Election) Holds() bool { return e == nil || e.MayUpload() == nil }

// MayUpload is nil while the lease is held, and ErrLost otherwise.
func (e *Election) MayUpload() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.held && uptime() < e.until {
		return nil
	}
	return ErrLost
}

// MayWriteLease fails for a holder whose lease has expired: it must read the lease first.
func (e *Election) MayWriteLease() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.held && uptime() >= e.until {
		return ErrLost
	}
	return nil
}

// Demand makes this publisher take the lease, although another one renews it. The fence
// keeps that one from writing.
func (e *Election) Demand() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.demands = !(e.held && uptime() < e.until)
}

// Fence is the number of the lease that is held.
func (e *Election) Fence() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lease.Fence
}

// Leader names the publisher that holds the lease, and says whether it is this one.
func (e *Election) Leader() (name string, own bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.held && uptime() < e.until {
		return e.holder, true
	}
	return e.other, false
}

// Run keeps the lease, or tries to get it, until ctx ends; then it gives it back. It calls
// gained each time that this publisher got the lease.
func (e *Election) Run(ctx context.Context, leastFence func(context.Context) (int64, error), gained func()) {
	for {
		had := e.MayUpload() == nil
		e.note(e.timedRound(ctx, leastFence))
		if has := e.MayUpload() == nil; has && !had {
			gained()
		}
		if !rest(ctx, e.length/4) {
			break
		}
	}
	if e.MayUpload() == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.length/4)
		defer cancel()
		ctx, end := objectstore.Within(ctx, "giving the lease back", limits)
		defer end()
		e.giveBack(ctx)
	}
}

// rest waits. It is false if ctx ends first.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// timedRound is round, but not for so long that the lease could not be renewed.
func (e *Election) timedRound(ctx context.Context, leastFence func(context.Context) (int64, error)) error {
	ctx, cancel := context.WithTimeout(ctx, e.length/2)
	defer cancel()
	ctx, end := objectstore.Within(ctx, "renewing the lease", limits)
	defer end()
	return e.round(ctx, leastFence)
}

func (e *Election) note(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = err
	close(e.rounds)
	e.rounds = make(chan struct{})
}

// round renews the own lease, or reads the lease of another publisher and takes it once it has expired.
func (e *Election) round(ctx context.Context, leastFence func(context.Context) (int64, error)) error {
	if e.MayUpload() == nil {
		next := e.lease // only run changes it
		next.Renewal++
		err := e.write(ctx, next, objectstore.Condition{ETag: e.etag})
		if !errors.Is(err, objectstore.ErrChanged) && !errors.Is(err, ErrLost) {
			return err
		}
	}
	e.drop()
	text, found, err := e.Store.Text(ctx, bucket.LeaseName, bucket.MaxText)
	if errors.Is(err, objectstore.ErrNotThere) {
		return e.take(ctx, 0, objectstore.Condition{Absent: true}, leastFence)
	}
	if err != nil {
		return err
	}
	lease, err := bucket.ParseLease(text)
	if err != nil {
		e.forgetLeader()
		return fmt.Errorf("%w: delete it to begin a new election, if no newer syncd wrote it", err)
	}
	if !e.isOver(lease, found.ETag) {
		return nil
	}
	return e.take(ctx, lease.Fence, objectstore.Condition{ETag: found.ETag}, leastFence)
}

func (e *Election) drop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held = false
}

// forgetLeader notes that the lease cannot be read: its holder cannot renew it, so that
// waiting for the holder would have no end.
func (e *Election) forgetLeader() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.other, e.renewed, e.seen = "", false, ""
}

// isOver is true when no publisher holds the lease any more.
func (e *Election) isOver(lease bucket.Lease, etag string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.other = lease.Holder
	if e.demands || lease.Holder == "" || lease.Holder == e.holder { // its own one: an answer was lost
		return true
	}
	if etag != e.seen {
		e.renewed = e.seen != ""
		e.seen, e.seenAt = etag, uptime()
		return false
	}
	return uptime()-e.seenAt > max(e.length, time.Duration(lease.Seconds)*time.Second)
}

// maxFence is more than publishers can reach one by one.
const maxFence = 1 << 53

func (e *Election) take(ctx context.Context, fence int64, c objectstore.Condition, leastFence func(context.Context) (int64, error)) error {
	least, err := leastFence(ctx)
	if err != nil {
		return err
	}
	if fence > maxFence || least > maxFence {
		return fmt.Errorf("election: fence %d in %s, %d in %s: one above %d was not written by syncd, and leaves no numbers for the publishers after it: delete that text, and find out who wrote it", fence, bucket.LeaseName, least, bucket.CurrentName, int64(maxFence))
	}
	next := bucket.Lease{Holder: e.holder, Fence: max(fence, least) + 1, Seconds: int(e.length / time.Second)}
	if err := e.write(ctx, next, c); !errors.Is(err, objectstore.ErrChanged) {
		return err
	}
	return nil // another publisher was faster, or the next rounds find that this lease has expired
}

// write writes the lease. Its time counts from before the request, so that it expires
// here before another publisher can take it.
func (e *Election) write(ctx context.Context, next bucket.Lease, c objectstore.Condition) error {
	from := uptime()
	etag, err := e.Store.Put(ctx, bucket.LeaseName, next.Text(), c)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held, e.lease, e.etag, e.until = true, next, etag, from+e.length*9/10
	e.seen, e.renewed, e.demands = "", false, false
	return nil
}

// giveBack lets another publisher take the lease at once.
func (e *Election) giveBack(ctx context.Context) {
	next := e.lease
	next.Holder = ""
	_, _ = e.Store.Put(ctx, bucket.LeaseName, next.Text(), objectstore.Condition{ETag: e.etag}) // otherwise the others wait for its end
	e.drop()
}

// Await waits until this publisher has the lease, or knows that another one keeps it
// (ErrLost).
func (e *Election) Await(ctx context.Context) error {
	failing := time.Time{}
	for {
		e.mu.Lock()
		held, renewed, demands, err, round := e.held && uptime() < e.until, e.renewed, e.demands, e.err, e.rounds
		e.mu.Unlock()
		switch {
		case held:
			return nil
		case renewed && !demands:
			return ErrLost
		case err == nil:
			failing = time.Time{}
		case failing.IsZero():
			failing = time.Now()
		case time.Since(failing) > e.length:
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-round:
		}
	}
}
