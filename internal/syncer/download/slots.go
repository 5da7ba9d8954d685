package download

import (
	"container/list"
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
	waiting  list.List // of a chan struct{} for each download that waits; closed when it is its turn
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
	for hasWaited := false; ; hasWaited = true {
		taken, turn := s.tryTake(limit, hasWaited)
		if taken != nil {
			return taken, nil
		}
		select {
		case <-turn.Value.(chan struct{}):
			continue
		case <-time.After(crawlWindow):
		case <-ctx.Done():
		}
		s.leave(turn)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// tryTake takes a slot that is free. Those who have not waited yet go behind those who
// wait.
func (s *slots) tryTake(limit int, hasWaited bool) (taken *slot, turn *list.Element) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.assessLocked()
	counting := 0
	for other := range s.taken {
		if !other.crawling {
			counting++
		}
	}
	if counting >= limit || !hasWaited && s.waiting.Len() > 0 {
		return nil, s.waiting.PushBack(make(chan struct{}))
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
	s.wakeLocked()
}

// leave ends a wait. If it was the download's turn just now, it is the next one's.
func (s *slots) leave(turn *list.Element) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-turn.Value.(chan struct{}):
		s.wakeLocked()
	default:
		s.waiting.Remove(turn)
	}
}

// wakeLocked wakes the download that has waited longest. Waking all of them would cost
// more than a small file.
func (s *slots) wakeLocked() {
	if first := s.waiting.Front(); first != nil {
		close(s.waiting.Remove(first).(chan struct{}))
	}
}
