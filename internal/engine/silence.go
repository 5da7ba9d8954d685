package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"syncd/internal/metrics"
	"syncd/internal/report"
)

// minPatience is how long the provider may be silent, at least, before a sync counts
// as stuck.
const minPatience = 5 * time.Minute

// observer counts requests, and tells the progress that something came of them. It is
// a transport.Observer.
type observer struct {
	metrics  *metrics.Metrics
	progress *report.Progress
}

// Request notes the end of a request.
func (o observer) Request(endpoint, code string) {
	o.metrics.Request(endpoint, code)
	o.progress.Moved()
}

// Retry notes that a request is repeated.
func (o observer) Retry(endpoint string) {
	o.metrics.Retry(endpoint)
	o.progress.Moved()
}

// lastProgress is when the provider was last heard of, while a sync waits for it; the
// zero time while none does. A wait that the provider asked for counts as progress.
func (e *Engine) lastProgress() (at time.Time, asking bool) {
	at, asking = e.progress.SilentSince()
	if at.IsZero() {
		return at, false
	}
	if until := e.coolUntil.Load(); until != nil && until.After(at) {
		// A request never waits for longer than its retry budget.
		at = earliest(*until, at.Add(e.Config().Source.Retry.MaxElapsed), time.Now())
	}
	return at, asking
}

func earliest(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }

// noteCoolDown notes the end of a wait that the provider asked for. Calls come one at a
// time.
func (e *Engine) noteCoolDown(until time.Time) {
	if last := e.coolUntil.Load(); last == nil || until.After(*last) {
		e.coolUntil.Store(&until)
	}
}

// stuckSince is since when a running sync does not move; the zero time when all do. An
// answer to a small question may take its whole retry budget.
func (e *Engine) stuckSince() time.Time {
	at, asking := e.lastProgress()
	source := e.Config().Source
	patience := max(2*source.StallTimeout, minPatience)
	if asking {
		patience += source.Retry.MaxElapsed + source.StallTimeout
	}
	if at.IsZero() || time.Since(at) <= patience {
		return time.Time{}
	}
	return at
}

// checkMoving is nil unless a running sync is stuck.
func (e *Engine) checkMoving() error {
	since := e.stuckSince()
	if since.IsZero() {
		return nil
	}
	return fmt.Errorf("the running sync has not moved for %s, no byte and no answer came from the provider: restart syncd", time.Since(since).Round(time.Second))
}

// Alive is nil while the data directory is there to work in and every running sync
// moves.
func (e *Engine) Alive() error { return errors.Join(e.checkDataDir(), e.checkMoving()) }
