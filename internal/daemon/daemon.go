package daemon

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"

	"syncd/internal/config"
	"syncd/internal/daemon/signals"
	"syncd/internal/engine"
	"syncd/internal/engine/operation"
	"syncd/internal/host/claims"
	"syncd/internal/host/clock"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// maxSleep is the longest sleep of the loop. A clock that was set, or a machine
// that was suspended, delays a schedule by no more than this.
const maxSleep = 30 * time.Second

// Daemon runs an engine. Its methods are safe for concurrent use; only the loop
// in Run changes the timetable.
type Daemon struct {
	engine     *engine.Engine
	operations *operation.Table               // of the engine, logged
	load       func() (*config.Config, error) // reads the configuration again, for SIGHUP
	log        zerolog.Logger
	watchdog   time.Duration                  // systemd restarts a daemon that is silent for longer; 0 for no watchdog
	requests   chan request.Sync              // from the API
	orders     chan func(ctx context.Context) // from the API
	retries    chan map[string]time.Time      // ends of backoffs, see firstRetries
	timetable  *timetable
	scrubs     scrubPlan
	syncing    claims.Set                // manifests in a sync that the loop began
	awakeAt    atomic.Pointer[time.Time] // last round of the loop
	windows    windows
}

// New returns a Daemon over an open engine. load reads the configuration again.
func New(e *engine.Engine, load func() (*config.Config, error), log zerolog.Logger) *Daemon {
	d := &Daemon{engine: e, load: load, log: log, requests: make(chan request.Sync, 1), orders: make(chan func(context.Context)), retries: make(chan map[string]time.Time), timetable: newTimetable(e.Jitter())}
	d.operations = d.newOperations()
	d.watchdog, _ = systemd.SdWatchdogEnabled(false) // an unusable value in the environment means no watchdog
	d.stayAwake(time.Now())
	return d
}

// Run syncs at once, then by the schedule, and on each signal to sync; the other signal
// reloads the configuration. It returns nil once ctx has ended and the running syncs have
// stopped.
func (d *Daemon) Run(ctx context.Context, asked signals.Pending) error {
	q := newQueue(d.engine.Config().Names())
	d.timetable.plan(d.engine.Config(), clock.Now(), nil)
	notify(systemd.SdNotifyReady)
	headlines := make(chan struct{})
	go func() {
		defer close(headlines)
		d.reportHeadline(ctx)
	}()
	defer func() { <-headlines }()
	var running sync.WaitGroup
	running.Go(func() { d.dropRemoved(ctx, request.TriggerStart) })
	d.activateDue(ctx, &running)
	running.Go(func() { d.scrub(ctx) })
	running.Go(func() { d.verifyBucket(ctx) })
	running.Go(func() { d.notifyStale(ctx) })
	running.Go(func() { d.expire(ctx) })
	running.Go(func() { d.destroyDue(ctx) })
	running.Go(func() { d.logProgress(ctx) })
	running.Go(func() { d.takeBundles(ctx) })
	running.Go(func() { d.engine.Followers.Run(ctx) })
	running.Go(func() { d.engine.Uploads.KeepSigned(ctx) })
	running.Go(func() { d.engine.Patches.Run(ctx) })
	d.engine.Hooks.Deliver()
	running.Go(func() { d.engine.Probes.Run(ctx) })
	for {
		released := d.syncing.Released() // asked for before next, so that no release is missed
		for req, ok := q.next(d.isFree); ok; req, ok = q.next(d.isFree) {
			d.startSync(ctx, req, &running)
		}
		select {
		case <-ctx.Done():
			notify(systemd.SdNotifyStopping)
			running.Wait()
			return nil
		case <-released:
		case <-asked.Sync:
			d.queueDemand(q, request.Sync{Trigger: request.TriggerSignal})
		case <-asked.Reload:
			d.reload(q)
			running.Go(func() { d.dropRemoved(ctx, request.TriggerReload) })
		case ends := <-d.retries:
			d.timetable.retry(ends, clock.Now())
		case req := <-d.requests:
			d.queueDemand(q, req)
		case order := <-d.orders:
			running.Go(func() { order(ctx) })
		case <-time.After(d.untilNext()):
		}
		d.renewID(q)
		d.timetable.collectDue(d.engine.Config(), q, clock.Now())
		d.activateDue(ctx, &running)
		d.stayAwake(time.Now())
		notify(systemd.SdNotifyWatchdog)
	}
}

// startSync runs a sync of manifests that are free. Each is free again as soon as its
// outcome is recorded, so that its next sync does not wait for the others.
func (d *Daemon) startSync(ctx context.Context, req request.Sync, running *sync.WaitGroup) {
	claim := d.syncing.TryTake(req.Manifests)
	req.Finished = claim.Release
	running.Go(func() {
		defer claim.Close()
		result, _ := operation.Sync.Do(ctx, d.operations, req) // it has logged the outcome
		if ends := d.firstRetries(result); len(ends) > 0 {
			select {
			case d.retries <- ends:
			case <-ctx.Done():
			}
		}
	})
}

// firstRetries are the ends of the backoffs of manifests that failed and of which nothing is
// served yet: they do not wait for their schedule.
func (d *Daemon) firstRetries(result report.Sync) map[string]time.Time {
	ends := map[string]time.Time{}
	status, err := d.engine.Status()
	if err != nil {
		return nil
	}
	for _, m := range status.Manifests {
		failed := slices.ContainsFunc(result.Manifests, func(r report.ManifestResult) bool { return r.Name == m.Name && r.Result == report.Failed })
		if failed && m.Release == "" && m.RetryAt != nil {
			ends[m.Name] = *m.RetryAt
		}
	}
	return ends
}

// renewID queues what failed under a Customer ID that the provider refused, once there is
// another one.
func (d *Daemon) renewID(q *queue) {
	if !d.engine.RenewID() {
		return
	}
	status, err := d.engine.Status()
	if err != nil {
		d.log.Error().Err(err).Msg("finding what failed under the old Customer ID failed; its schedule tries it again")
		return
	}
	for _, m := range status.Manifests {
		if m.State == report.StateFailed {
			q.add(request.Sync{Trigger: request.TriggerReload}, []string{m.Name})
		}
	}
}

func (d *Daemon) isFree(name string) bool { return !d.syncing.Has(name) }

// queueDemand queues a request on demand; one for no manifest is for all.
func (d *Daemon) queueDemand(q *queue, req request.Sync) {
	names := req.Manifests
	if len(names) == 0 {
		names = d.engine.Config().Names()
	}
	q.add(req, names)
}

// untilNext is how long the loop may sleep.
func (d *Daemon) untilNext() time.Duration {
	sleep := maxSleep
	if d.watchdog > 0 {
		sleep = min(sleep, d.watchdog/2)
	}
	return min(sleep, d.timetable.untilNext(clock.Now()), d.untilWindow(time.Now()))
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
