package syncer

import (
	"context"
	"sync"
	"time"
)

// A download that receives less than crawlBytes in crawlWindow crawls.
const crawlBytes, crawlWindow = 64 << 10, 10 * time.Second

// slots limit the downloads of all syncs together. Downloads that crawl do not count:
// they hardly use the line, and would hold up every other manifest. Safe for
// concurrent use.
type slots struct {
	mu       sync.Mutex // guards what follows, and the fields of each slot
	taken    map[*slot]struct{}
	assessed time.Time
	released chan struct{} // closed at the next release; nil when no download waits
}

// slot is the place of one download.
type slot struct {
	slots    *slots
	bytes    int64 // received
	before   int64 // at the last assessment
	crawling bool
}

// take waits until fewer than limit downloads run that do not crawl.
func (s *slots) take(ctx context.Context, limit int) (*slot, error) {
	for {
		taken, released := s.tryTake(limit)
		if taken != nil {
			return taken, nil
		}
		select {
		case <-released:
		case <-time.After(crawlWindow):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (s *slots) tryTake(limit int) (taken *slot, released <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.assessLocked()
	counting := 0
	for other := range s.taken {
		if !other.crawling {
			counting++
		}
	}
	if counting >= limit {
		if s.released == nil {
			s.released = make(chan struct{})
		}
		return nil, s.released
	}
	if s.taken == nil {
		s.taken = map[*slot]struct{}{}
	}
	taken = &slot{slots: s}
	s.taken[taken] = struct{}{}
	return taken, nil
}

// assessLocked finds out once in a window which downloads crawl.
func (s *slots) assessLocked() {
	now := time.Now()
	if now.Sub(s.assessed) < crawlWindow {
		return
	}
	s.assessed = now
	for t := range s.taken {
		t.crawling = t.bytes-t.before < crawlBytes
		t.before = t.bytes
	}
}

// moved counts received bytes.
func (t *slot) moved(bytes int64) {
	t.slots.mu.Lock()
	defer t.slots.mu.Unlock()
	t.bytes += bytes
}

func (t *slot) release() {
	s := t.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taken, t)
	if s.released != nil {
		close(s.released)
		s.released = nil
	}
}
