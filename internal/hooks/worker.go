package hooks

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"syncd/internal/hooks/event"
	"syncd/internal/metrics/tracing"
	"syncd/internal/store"
)

// Pauses between attempts. The first is about a second, and each is twice the one before.
const (
	firstPause   = time.Second
	longestPause = time.Hour
)

// leastAttempts is how often a hook must fail in a row before a delivery is given up,
// however old it is: the clock may have been set forward, or no daemon may have run. These
// attempts take about a quarter of an hour.
const leastAttempts = 10

// State is the state of a worker, for reports.
type State struct {
	Disabled bool      // the receiver answered 410, until the configuration is loaded again
	NextTry  time.Time // end of a pause; zero for none
}

// worker makes the deliveries of one hook, one at a time.
type worker struct {
	runner *Runner
	id     string
	ctx    context.Context
	stop   context.CancelFunc
	added  chan struct{}   // a delivery was added
	tryNow chan struct{}   // a pause is to end
	after  <-chan struct{} // closed when an earlier worker of this hook has ended; nil for none
	ended  chan struct{}

	pauses *backoff.ExponentialBackOff // of run
	made   uint64                      // delivery that was made and is still in the outbox; of run
	warned bool                        // the log says that the hook fails; of run
	failed int                         // attempts in a row; of run

	mu    sync.Mutex // guards what follows
	hook  Hook
	state State
	phase phase
	moved chan struct{} // closed and replaced when phase changes
}

// phase says whether a worker has anything to do at the moment.
type phase int

const (
	busy phase = iota
	idle
	pausing
)

func newWorker(r *Runner, hook Hook, after <-chan struct{}) *worker {
	w := &worker{
		runner: r, id: hook.ID, hook: hook, after: after,
		added: make(chan struct{}, 1), tryNow: make(chan struct{}, 1), ended: make(chan struct{}), moved: make(chan struct{}),
		pauses: backoff.NewExponentialBackOff(backoff.WithInitialInterval(firstPause), backoff.WithMaxInterval(longestPause),
			backoff.WithMultiplier(2), backoff.WithRandomizationFactor(0.1), backoff.WithMaxElapsedTime(0)),
	}
	w.ctx, w.stop = context.WithCancel(r.ctx)
	return w
}

// reconfigure changes the hook from the next attempt on, which comes at once.
func (w *worker) reconfigure(hook Hook) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hook, w.state.Disabled = hook, false
	w.callLocked(w.tryNow)
}

// call sends a signal to the worker, which is busy from then on if that ends its rest.
func (w *worker) call(c chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.callLocked(c)
}

func (w *worker) callLocked(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // a signal waits already
	}
	if w.phase == idle || w.phase == pausing && c == w.tryNow {
		w.enterLocked(busy)
	}
}

// rest enters a phase, unless a signal that would end it waits already.
func (w *worker) rest(p phase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.tryNow) == 0 && (p == pausing || len(w.added) == 0) {
		w.enterLocked(p)
	}
}

func (w *worker) enter(p phase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.enterLocked(p)
}

func (w *worker) enterLocked(p phase) {
	w.phase = p
	close(w.moved)
	w.moved = make(chan struct{})
}

func (w *worker) run() {
	defer close(w.ended)
	defer w.stop()
	defer w.enter(idle)
	if w.after != nil {
		<-w.after
	}
	for w.ctx.Err() == nil {
		next, found, err := w.runner.cfg.Store.NextDelivery(w.id)
		switch {
		case err != nil:
			w.runner.cfg.Log.Error().Err(err).Str("hook", w.id).Msg("reading the outbox failed")
			w.pause()
		case !found, w.isDisabled():
			w.wait()
		default:
			w.deliver(next)
		}
	}
}

// deliver makes one attempt and records it. Nothing is recorded of an attempt that was
// cancelled.
func (w *worker) deliver(d store.Delivery) {
	var err error
	if d.Number != w.made {
		err = w.attempt(d)
	}
	if err != nil && w.ctx.Err() != nil {
		return
	}
	if err == nil {
		w.noteSuccess(d)
		return
	}
	_, isGone := errors.AsType[*goneError](err)
	w.noteFailure(d, err, isGone)
	if isGone {
		w.disable()
		return
	}
	w.pause()
}

// attempt makes one attempt, in a span of the trace that the event belongs to.
func (w *worker) attempt(d store.Delivery) error {
	ctx, span := w.runner.cfg.Tracing.Resume(w.ctx, d.Trace, "hook", d.Manifest)
	if about, err := event.Parse(d.Body); err == nil && span != nil {
		span.Set(tracing.Release, about.Release)
	}
	span.Set(tracing.Hook, w.id)
	span.Set(tracing.Event, d.Event)
	err := w.runner.send(ctx, w.current(), d)
	span.End(err)
	return err
}

func (w *worker) noteSuccess(d store.Delivery) {
	if d.Number != w.made {
		w.runner.cfg.Metrics.HookResult(w.id, Delivered)
	}
	w.made, w.warned, w.failed = d.Number, false, 0
	if !w.record(func(box *store.Outbox) error { return box.Remove(d) }) {
		w.pause() // remove it later, and do not make it a second time
		return
	}
	w.pauses.Reset()
}

// noteFailure also tells that the delivery is tried again, unless the hook is turned off.
func (w *worker) noteFailure(d store.Delivery, err error, isLast bool) {
	now := time.Now().UTC()
	if d.Since.After(now) { // the clock was set back
		d.Since = now
	}
	w.failed++
	d.Attempts, d.TriedAt, d.Error = d.Attempts+1, now, err.Error()
	w.runner.cfg.Metrics.HookResult(w.id, Failed)
	if !w.warned && !isLast {
		w.runner.cfg.Log.Warn().Ctx(tracing.Within(w.ctx, d.Trace)).Str("hook", w.id).Str("event", d.Event).Str("id", d.ID).Str("manifest", d.Manifest).Str("error", d.Error).
			Msg("delivery failed, it is tried again")
		w.warned = true
	}
	if now.Sub(d.Since) < Patience || w.failed < leastAttempts {
		w.record(func(box *store.Outbox) error { return box.Save(d) })
		return
	}
	d.GaveUp = now
	w.record(func(box *store.Outbox) error { return box.GiveUp(d) })
	w.runner.GaveUp(d)
	w.pauses.Reset() // the next delivery may be as old, and thousands may wait
}

// record is false when the outbox could not be changed.
func (w *worker) record(change func(*store.Outbox) error) bool {
	err := w.runner.cfg.Store.Update(change)
	if err != nil {
		w.runner.cfg.Log.Error().Err(err).Str("hook", w.id).Msg("recording a delivery failed: it may be made twice")
	}
	return err == nil
}

// wait waits for a delivery or for another configuration.
func (w *worker) wait() {
	w.rest(idle)
	defer w.enter(busy)
	select {
	case <-w.added:
	case <-w.tryNow:
	case <-w.ctx.Done():
	}
}

// pause waits before the next attempt.
func (w *worker) pause() {
	length := w.pauses.NextBackOff()
	w.setNextTry(time.Now().Add(length))
	defer w.setNextTry(time.Time{})
	w.rest(pausing)
	defer w.enter(busy)
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.tryNow:
		w.pauses.Reset()
	case <-w.ctx.Done():
	}
}

func (w *worker) current() Hook {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hook
}

func (w *worker) isDisabled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state.Disabled
}

func (w *worker) disable() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Disabled = true
	w.runner.cfg.Log.Error().Str("hook", w.id).Msg("the receiver wants no more events (410): the hook is off until the configuration is loaded again")
}

func (w *worker) setNextTry(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.NextTry = at
}

// rested waits until there is nothing to do at the moment. It is false when ctx ended
// before.
func (w *worker) rested(ctx context.Context) bool {
	for {
		w.mu.Lock()
		resting, moved := w.phase != busy, w.moved
		w.mu.Unlock()
		if resting {
			return true
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return false
		}
	}
}

// States returns the state of each worker, by hook.
func (r *Runner) States() map[string]State {
	r.mu.Lock()
	defer r.mu.Unlock()
	states := make(map[string]State, len(r.workers))
	for id, w := range r.workers {
		w.mu.Lock()
		states[id] = w.state
		w.mu.Unlock()
	}
	return states
}
