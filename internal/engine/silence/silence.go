package silence

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"syncd/internal/clients/origin"
	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/report/progress"
	"syncd/internal/store"
)

// MinPatience is how long the provider may be silent, at least, before a sync counts
// as stuck.
const MinPatience = 5 * time.Minute

// Silence knows how long the provider has been silent, and until when it wants no requests.
// Safe for concurrent use.
type Silence struct {
	config   func() *config.Config // in force
	progress *progress.Tracker
	log      *zerolog.Logger

	store *store.Store
	gate  *transport.Gate // nil before Open

	coolUntil atomic.Pointer[time.Time] // latest end of a wait that the provider asked for since the start
}

// New returns what knows the silence of syncs with this progress.
func New(config func() *config.Config, progress *progress.Tracker, log *zerolog.Logger) *Silence {
	return &Silence{config: config, progress: progress, log: log}
}

// Open takes up the cool-downs that earlier processes saw, and returns the gate that keeps them.
func (s *Silence) Open(saved *store.Store) (*transport.Gate, error) {
	coolDowns, err := saved.CoolDowns()
	if err != nil {
		return nil, err
	}
	for _, until := range coolDowns {
		s.noteCoolDown(until)
	}
	s.store, s.gate = saved, transport.NewGate(coolDowns, s.CoolDown)
	return s.gate, nil
}

// CoolDown notes and saves until when an origin wants no requests. Calls come one at a time.
func (s *Silence) CoolDown(origin string, until time.Time) {
	s.noteCoolDown(until)
	if err := s.store.SetCoolDown(origin, until); err != nil {
		s.log.Warn().Err(err).Str("origin", origin).Msg("saving the provider's cool-down failed: a restart forgets it")
	}
}

// CoolsUntil is until when the configured origin wants no requests; zero for no wait.
func (s *Silence) CoolsUntil() time.Time {
	cfg := s.config()
	if cfg == nil {
		return time.Time{}
	}
	return s.gate.Until(origin.Of(cfg.Source.URL))
}

// heardAt is when the provider was last heard of in a wait. The end of a longer wait
// that the provider asked for counts.
func (s *Silence) heardAt(w progress.Wait) time.Time {
	until := s.coolUntil.Load()
	if until == nil || !until.After(w.Since) {
		return w.Since
	}
	// A request never waits for longer than its retry budget.
	return earliest(*until, w.Since.Add(s.config().Source.Retry.MaxElapsed), time.Now())
}

// LastProgress is when the provider was last heard of in the wait that has been silent
// longest; the zero time while no sync waits for it.
func (s *Silence) LastProgress() time.Time {
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

// noteCoolDown notes the end of a wait that the provider asked for.
func (s *Silence) noteCoolDown(until time.Time) {
	if last := s.coolUntil.Load(); last == nil || until.After(*last) {
		s.coolUntil.Store(&until)
	}
}

// patience is how long a wait may be silent. An answer to a small question may take the
// whole retry budget, and one attempt more, which may take as long.
func (s *Silence) patience(w progress.Wait) time.Duration {
	source := s.config().Source
	patience := max(2*source.StallTimeout, MinPatience)
	if w.Asking {
		patience += 2 * (source.Retry.MaxElapsed + source.StallTimeout)
	}
	return patience
}

// StuckSince is since when a sync does not move, for each manifest whose sync does not.
func (s *Silence) StuckSince() map[string]time.Time {
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

// Check is nil unless a running sync is stuck.
func (s *Silence) Check() error {
	var errs []error
	stuck := s.StuckSince()
	for _, name := range slices.Sorted(maps.Keys(stuck)) {
		errs = append(errs, fmt.Errorf("the running sync of %s has not moved for %s, no byte and no answer came from the provider: restart syncd", name, time.Since(stuck[name]).Round(time.Second)))
	}
	return errors.Join(errs...)
}
