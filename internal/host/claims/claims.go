package claims

import (
	"context"
	"slices"
	"sync"
)

// Set holds the keys that are claimed. The zero value is ready for use. Safe for
// concurrent use.
type Set struct {
	mu     sync.Mutex
	held   map[string]bool
	change chan struct{} // closed at the next release; nil when no goroutine waits
}

// Claim is what one piece of work has claimed. Safe for concurrent use.
type Claim struct {
	set  *Set
	keys []string // guarded by set.mu
}

// Take claims the free ones of the keys. It waits until at least one is
// free.
func (s *Set) Take(ctx context.Context, keys []string) (*Claim, error) {
	for {
		released := s.Released()
		if c := s.TryTake(keys); c != nil {
			return c, nil
		}
		select {
		case <-released:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// TryTake claims the free ones of the keys. It returns nil when none is free.
func (s *Set) TryTake(keys []string) *Claim {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &Claim{set: s}
	for _, key := range keys {
		if s.held[key] {
			continue
		}
		if s.held == nil {
			s.held = map[string]bool{}
		}
		s.held[key] = true
		c.keys = append(c.keys, key)
	}
	if len(c.keys) == 0 {
		return nil
	}
	return c
}

// Has is true while a key is claimed.
func (s *Set) Has(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[key]
}

// Released returns a channel that is closed when the next key becomes free.
func (s *Set) Released() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.change == nil {
		s.change = make(chan struct{})
	}
	return s.change
}

// Keys returns the keys that are still claimed.
func (c *Claim) Keys() []string {
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	return slices.Clone(c.keys)
}

// Release gives one key back. It does nothing for a key that the claim does not hold.
func (c *Claim) Release(key string) {
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	if i := slices.Index(c.keys, key); i >= 0 {
		c.keys = slices.Delete(c.keys, i, i+1)
		c.set.freeLocked(key)
	}
}

// Close gives back all keys that are still claimed.
func (c *Claim) Close() {
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	c.set.freeLocked(c.keys...)
	c.keys = nil
}

func (s *Set) freeLocked(keys ...string) {
	for _, key := range keys {
		delete(s.held, key)
	}
	if s.change != nil && len(keys) > 0 {
		close(s.change)
		s.change = nil
	}
}
