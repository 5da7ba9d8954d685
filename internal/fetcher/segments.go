package fetcher

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"syncd/internal/clients/transport"
)

const (
	// worthSegments is the size from which a file gets more than one connection.
	worthSegments = 16 << 20
	// minSegment is the least that is worth a request of its own.
	minSegment = 4 << 20
	// maxSegment keeps what arrives out of its order near, so that it is in the
	// page cache still when its turn to be hashed comes.
	maxSegment = 64 << 20
	// A request should take a part of no more than this of its connection's time.
	// Short ones keep what arrives in order, and little has to come again after a
	// kill.
	requestPart = 0.05
)

// segments are the connections of one file beside its first. They come and go
// with what they bring, see pace.
type segments struct {
	*transfer
	parent  context.Context
	fail    context.CancelCauseFunc // ends the whole transfer, also its first connection
	changed chan struct{}           // something was released

	ctx     context.Context // of what runs beside the first connection, if begun
	end     context.CancelFunc
	workers sync.WaitGroup
	isBegun bool

	mu     sync.Mutex
	pace   pace
	others int // connections beside the first
}

func (s *segments) init(ctx context.Context, t *transfer, fail context.CancelCauseFunc) {
	s.transfer, s.parent, s.fail = t, ctx, fail
	s.changed = make(chan struct{}, 1)
	s.pace = pace{limit: t.Fetcher.segments}
}

// begin looks whether more connections would help from now on, if the file and its
// server are fit for it.
func (s *segments) begin() {
	p := s.partial
	if s.isBegun || s.isAlone || s.Fetcher.segments < 2 || !p.validator.isStrong() || p.validator.Total < worthSegments {
		return
	}
	s.isBegun = true
	s.ctx, s.end = context.WithCancel(s.parent)
	s.workers.Go(s.adapt)
}

// stop ends all connections but the first, and returns when they have.
func (s *segments) stop() {
	if s.isBegun {
		s.end()
		s.workers.Wait()
		s.isBegun = false
	}
}

// adapt opens connections as the pace wants them. Too many end by themselves.
func (s *segments) adapt() {
	ticker := time.NewTicker(paceTime)
	defer ticker.Stop()
	for before := s.partial.size(); ; {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		}
		now := s.partial.size()
		s.look(float64(now-before) / paceTime.Seconds())
		before = now
	}
}

func (s *segments) look(rate float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pace.look(rate, 1+s.others)
	for 1+s.others < s.pace.wanted && s.connections.TryAcquire(1) {
		s.others++
		s.workers.Go(s.work)
	}
}

// work fetches segments over one connection, as long as it is wanted and no file
// waits for it.
func (s *segments) work() {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.others--
		s.signal()
	}()
	if err := s.partial.beginGaps(); err != nil {
		s.connections.Release(1)
		s.fail(err)
		return
	}
	for {
		c := s.claim()
		ok := c != nil && s.fetch(c)
		if c != nil {
			s.release(c)
		}
		s.connections.Release(1)
		if !ok || s.isSurplus() || !s.connections.TryAcquire(1) {
			return
		}
	}
}

// fetch brings one segment; false when this connection should not go on. What
// failed here the first connection will meet too, and answer for.
func (s *segments) fetch(c *claim) bool {
	res, err := s.ask(s.ctx, c)
	var failed *transport.Error
	if err != nil {
		s.giveUp(errors.As(err, &failed) && failed.Kind != transport.Passing)
		return false
	}
	defer res.Body.Close()
	if res.Status != http.StatusPartialContent || checkPlain(res) != nil {
		s.giveUp(true)
		return false
	}
	if _, err := s.partial.validator.checkRange(c.asked, res); err != nil {
		s.giveUp(true)
		return false
	}
	err = s.copy(s.ctx, c, res)
	switch {
	case err == nil:
		return true
	case errors.As(err, &failed):
		s.giveUp(false)
	case s.ctx.Err() == nil:
		s.fail(err) // of the disk or the watcher
	}
	return false
}

func (s *segments) giveUp(forGood bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if forGood {
		s.pace.refuse()
		return
	}
	s.pace.giveUp()
}

// answered tells how long a request took.
func (s *segments) answered(after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pace.latency = after
}

func (s *segments) isSurplus() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return 1+s.others > s.pace.wanted
}

// next is what the first connection is to fetch; nil when all bytes are there, or
// the context has ended.
func (s *segments) next() *claim {
	for s.parent.Err() == nil {
		if c := s.claim(); c != nil {
			return c
		}
		s.mu.Lock()
		others := s.others
		s.mu.Unlock()
		if others == 0 {
			if c := s.claim(); c != nil { // it was released just now
				return c
			}
			return nil
		}
		select {
		case <-s.changed:
		case <-s.parent.Done():
		}
	}
	return nil
}

// claim is the next segment: the first bytes that nobody fetches, else the rear of
// what a busy connection has before it.
func (s *segments) claim() *claim {
	s.mu.Lock()
	limit, alone := s.pace.segment(), s.others == 0
	s.mu.Unlock()
	p := s.partial
	p.mu.Lock()
	defer p.mu.Unlock()
	if alone {
		return p.layout.claim(endless)
	}
	c := p.layout.claim(limit)
	if c == nil && p.layout.cut(limit) {
		c = p.layout.claim(limit)
	}
	return c
}

func (s *segments) release(c *claim) {
	s.partial.mu.Lock()
	defer s.partial.mu.Unlock()
	s.partial.layout.release(c)
	s.signal()
}

// signal wakes the first connection where it waits for the others.
func (s *segments) signal() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}
