package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"syncd/internal/report/progress"
)

// minPatience is how long the provider may be silent, at least, before a sync counts
// as stuck.
const minPatience = 5 * time.Minute

// silence knows how long the provider has been silent.
type silence struct {
	*base
	progress  *progress.Tracker
	coolUntil atomic.Pointer[time.Time] // latest end of a wait that the provider asked for since the start
}

// heardAt is when the provider was last heard of in a wait. The end of a longer wait
// that the provider asked for counts.
func (s *silence) heardAt(w progress.Wait) time.Time {
	until := s.coolUntil.Load()
	if until == nil || !until.After(w.Since) {
		return w.Since
	}
	// A request never waits for longer than its retry budget.
	return earliest(*until, w.Since.Add(s.Config().Source.Retry.MaxElapsed), time.Now())
}

// lastProgress is when the provider was last heard of in the wait that has been silent
// longest; the zero time while no sync waits for it.
func (s *silence) lastProgress() time.Time {
	var times []time.Time
	for _, w := range s.progress.Waits() {
		times = append(times, s.heardAt(w))
	}
	if len(times) == 0 {
		return time.Time{}
	}
	return earliest(times...)
}

func earliest(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }

// noteCoolDown notes the end of a wait that the provider asked for. Calls come one at a
// time.
func (s *silence) noteCoolDown(until time.Time) {
	if last := s.coolUntil.Load(); last == nil || until.After(*last) {
		s.coolUntil.Store(&until)
	}
}

// patience is how long a wait may be silent. An answer to a small question may take the
// whole retry budget, and one attempt more, which may take as long.
func (s *silence) patience(w progress.Wait) time.Duration {
	source := s.Config().Source
	patience := max(2*source.StallTimeout, minPatience)
	if w.Asking {
		patience += 2 * (source.Retry.MaxElapsed + source.StallTimeout)
	}
	return patience
}

// stuckSince is since when a sync does not move, for each manifest whose sync does not.
func (s *silence) stuckSince() map[string]time.Time {
	stuck := map[string]time.Time{}
	for _, w := range s.progress.Waits() {
		at := s.heardAt(w)
		if time.Since(at) <= s.patience(w) {
			continue
		}
		if since, known := stuck[w.Manifest]; !known || at.Before(since) {
			stuck[w.Manifest] = at
		}
	}
	return stuck
}

// check is nil unless a running sync is stuck.
func (s *silence) check() error {
	var errs []error
	stuck := s.stuckSince()
	for _, name := range slices.Sorted(maps.Keys(stuck)) {
		errs = append(errs, fmt.Errorf("the running sync of %s has not moved for %s, no byte and no answer came from the provider: restart syncd", name, time.Since(stuck[name]).Round(time.Second)))
	}
	return errors.Join(errs...)
}
