// Package daemon keeps a data directory current: it runs an engine by the
// schedule, on signals and on requests of the API, and reports to systemd.
package daemon

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"

	"syncd/internal/clock"
	"syncd/internal/config"
	"syncd/internal/engine"
	"syncd/internal/request"
)

// maxSleep is the longest sleep of the loop. A clock that was set, or a machine
// that was suspended, delays a schedule by no more than this.
const maxSleep = 30 * time.Second

// Daemon runs an engine. Its methods are safe for concurrent use; only the loop
// in Run changes the timetable.
type Daemon struct {
	engine    *engine.Engine
	load      func() (*config.Config, error) // reads the configuration again, for SIGHUP
	log       zerolog.Logger
	watchdog  time.Duration     // systemd restarts a daemon that is silent for longer; 0 for no watchdog
	requests  chan request.Sync // from the API
	timetable *timetable
	awakeAt   atomic.Pointer[time.Time] // last round of the loop
}

// New returns a Daemon over an open engine. load reads the configuration again.
func New(e *engine.Engine, load func() (*config.Config, error), log zerolog.Logger) *Daemon {
	d := &Daemon{engine: e, load: load, log: log, requests: make(chan request.Sync, 1), timetable: newTimetable(e.Jitter())}
	d.watchdog, _ = systemd.SdWatchdogEnabled(false) // an unusable value in the environment means no watchdog
	d.stayAwake(time.Now())
	return d
}

// Signals ask a daemon for work. Each has a channel of its own, because a burst of one
// signal fills its channel and the runtime then drops every further signal for it.
type Signals struct {
	Sync, Reload <-chan os.Signal
}

// Run syncs at once, then by the schedule, and on each signal to sync; the other signal
// reloads the configuration. It returns nil once ctx has ended and the running sync has
// stopped.
func (d *Daemon) Run(ctx context.Context, signals Signals) error {
	q := newQueue(d.engine.Config().Names())
	d.timetable.plan(d.engine.Config(), clock.Now(), nil)
	notify(systemd.SdNotifyReady)
	headlines := make(chan struct{})
	go func() {
		defer close(headlines)
		d.reportHeadline(ctx)
	}()
	defer func() { <-headlines }()
	done := make(chan struct{})
	running := false
	for {
		if !running {
			if req, ok := q.next(); ok {
				running = true
				go func() {
					defer func() { done <- struct{}{} }()
					_, _ = d.Sync(ctx, req) // Sync has logged the outcome
				}()
			}
		}
		select {
		case <-ctx.Done():
			notify(systemd.SdNotifyStopping)
			if running {
				<-done
			}
			return nil
		case <-done:
			running = false
		case <-signals.Sync:
			q.add(request.Sync{Demand: true, Trigger: request.TriggerSignal})
		case <-signals.Reload:
			d.reload(q)
		case req := <-d.requests:
			q.add(req)
		case <-time.After(d.untilNext()):
		}
		d.timetable.collectDue(d.engine.Config(), q, clock.Now())
		d.stayAwake(time.Now())
		notify(systemd.SdNotifyWatchdog)
	}
}

// untilNext is how long the loop may sleep.
func (d *Daemon) untilNext() time.Duration {
	sleep := maxSleep
	if d.watchdog > 0 {
		sleep = min(sleep, d.watchdog/2)
	}
	return min(sleep, d.timetable.untilNext(clock.Now()))
}

// Trigger queues a sync and returns without waiting for it. It waits for the loop
// until ctx ends.
func (d *Daemon) Trigger(ctx context.Context, req request.Sync) error {
	select {
	case d.requests <- req:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stayAwake notes a round of the loop.
func (d *Daemon) stayAwake(now time.Time) { d.awakeAt.Store(&now) }

// errStuck says that the loop has made no round for a long time.
var errStuck = errors.New("the scheduler's loop is stuck: restart syncd")

// Alive is nil while the loop runs and the data directory is in its place.
// It reads the monotonic clock, so that setting the wall clock has no effect.
func (d *Daemon) Alive() error {
	if time.Since(*d.awakeAt.Load()) > 4*maxSleep {
		return errStuck
	}
	return d.engine.Alive()
}
