package syncer

import (
	"maps"
	"slices"
	"time"
)

// DueAt returns when the next window opens for a staged revision, the zero time for never. A
// revision whose window is open and that waits for something else is left to the next sync.
func (s *Syncer) DueAt(now time.Time) (next time.Time) {
	for name, e := range s.cfg.Staging.All() {
		policy := s.cfg.target(name).Activate
		opens := policy.Opens(now)
		if !e.IsStaged() || opens.IsZero() || policy.Open(now) {
			continue
		}
		if next.IsZero() || opens.Before(next) {
			next = opens
		}
	}
	return next
}

// HasDue is true if something staged may go live now.
func (s *Syncer) HasDue(now time.Time) bool {
	entries := s.cfg.Staging.All()
	return len(s.cfg.readyGroups(slices.Collect(maps.Keys(entries)), entries, now, false)) > 0
}
