package daemon

import (
	"context"
	"errors"
	"maps"
	"os"
	"reflect"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"

	"syncd/internal/config"
	"syncd/internal/report"
	"syncd/internal/request"
)

// maxNap is the longest that the loop sleeps, so that a clock that was set, or a
// machine that was suspended, delays a schedule by no more than this.
const maxNap = 30 * time.Second

// Daemon runs an Engine by the schedule and by signals.
type Daemon struct {
	*Engine
	load     func() (*config.Config, error) // reads the configuration again, for SIGHUP
	watchdog time.Duration                  // within which systemd wants to hear of the loop, 0 when it does not ask
	wanted   chan request.Sync              // on demand, from the API
	tick     atomic.Pointer[time.Time]      // when the loop was last awake
	next     atomic.Pointer[map[string]time.Time]
}

// New returns a Daemon over an open Engine.
func New(engine *Engine, load func() (*config.Config, error)) *Daemon {
	d := &Daemon{Engine: engine, load: load, wanted: make(chan request.Sync, 1)}
	d.watchdog, _ = daemon.SdWatchdogEnabled(false) // what is no duration asks for nothing
	d.next.Store(&map[string]time.Time{})
	d.awake()
	return d
}

// queue is what the loop is to sync next; it belongs to the loop.
type queue struct {
	due     map[string]bool // by the schedule or after a reload
	trigger string          // why the due ones are
	demand  *request.Sync   // all that was asked for since the running sync began
}

// Run syncs at once, then by the schedule, and on each SIGUSR1; SIGHUP reloads.
// It ends with nil when ctx does, after the work under way has stopped.
func (d *Daemon) Run(ctx context.Context, signals <-chan os.Signal) error {
	q := &queue{due: map[string]bool{}, trigger: "start"}
	for _, name := range d.Config().Names() {
		q.due[name] = true
	}
	d.plan(time.Now(), nil)
	notify(daemon.SdNotifyReady)
	telling := make(chan struct{})
	go func() {
		defer close(telling)
		d.tellHeadline(ctx)
	}()
	defer func() { <-telling }()
	done := make(chan struct{})
	running := false
	for {
		if !running {
			if req, ok := q.take(); ok {
				running, req.Queued = true, true
				go func() {
					defer func() { done <- struct{}{} }()
					_, _ = d.Sync(ctx, req) // it has logged what happened
				}()
			}
		}
		select {
		case <-ctx.Done():
			notify(daemon.SdNotifyStopping)
			if running {
				<-done
			}
			return nil
		case <-done:
			running = false
		case s := <-signals:
			d.signal(s, q)
		case req := <-d.wanted:
			q.want(req)
		case <-time.After(d.nap()):
		}
		d.collectDue(q, time.Now())
		d.awake()
		notify(daemon.SdNotifyWatchdog)
	}
}

// awake notes that the loop went round.
func (d *Daemon) awake() {
	now := time.Now()
	d.tick.Store(&now)
}

// notify tells systemd, when it listens; without it there is nothing to tell.
func notify(state string) { _, _ = daemon.SdNotify(false, state) }

// Sync does one sync and logs its whole story in one event.
func (d *Daemon) Sync(ctx context.Context, req request.Sync) (report.Sync, error) {
	started := time.Now()
	result, err := d.Engine.Sync(ctx, req)
	event := d.options.Log.Info()
	switch {
	case err != nil && ctx.Err() != nil:
		event.Bool("stopped", true)
	case err != nil || !result.OK():
		event = d.options.Log.Error().AnErr("error", err)
	}
	event.Str("trigger", req.Trigger).Int("generation", result.Generation).Bool("changed", result.Changed).
		Float64("seconds", time.Since(started).Seconds()).Array("manifests", story(result)).Msg("sync")
	return result, err
}

// Rollback publishes an earlier state and logs it.
func (d *Daemon) Rollback(ctx context.Context, req request.Rollback) (report.Sync, error) {
	result, err := d.Engine.Rollback(ctx, req)
	event := d.options.Log.Info()
	if err != nil {
		event = d.options.Log.Error().Err(err)
	}
	event.Int("generation", result.Generation).Array("manifests", story(result)).Msg("rollback")
	return result, err
}

// Repair mends what is damaged and logs each damaged file.
func (d *Daemon) Repair(ctx context.Context, req request.Verify) (report.Verification, error) {
	result, err := d.Engine.Repair(ctx, req)
	for _, damage := range result.Damage {
		d.options.Log.Error().Str("manifest", damage.Manifest).Str("path", damage.Path).
			Bool("repaired", damage.Repaired).Str("error", damage.Error).Msg("damage")
	}
	return result, err
}

// story is what a log event says of each manifest of a sync.
func story(result report.Sync) *zerolog.Array {
	manifests := zerolog.Arr()
	for _, m := range result.Manifests {
		entry := zerolog.Dict().Str("manifest", m.Name).Str("release", m.Release).Str("revision", m.Revision).
			Str("result", string(m.Result)).Int("files", m.FilesTotal).Int("downloaded", m.FilesDownloaded).
			Int64("bytes_downloaded", m.BytesDownloaded).Float64("seconds", m.DurationSeconds)
		if m.Error != "" {
			entry.Str("reason", m.Reason).Str("error", m.Error)
		}
		manifests.Dict(entry)
	}
	return manifests
}

// signal acts on one signal.
func (d *Daemon) signal(s os.Signal, q *queue) {
	switch s {
	case syscall.SIGUSR1:
		q.want(request.Sync{Demand: true, Trigger: "signal"})
	case syscall.SIGHUP:
		before := d.Config()
		changed, err := d.reload()
		if err != nil {
			d.metrics.Reloaded(false)
			d.options.Log.Error().Err(err).Msg("configuration not reloaded: the old one stays in force")
			return
		}
		d.options.Log.Info().Strs("changed", changed).Msg("configuration reloaded")
		for _, name := range changed {
			q.due[name], q.trigger = true, "reload"
		}
		d.plan(time.Now(), before)
	}
}

// Trigger asks for a sync soon and returns at once. A request that waits already
// is joined by it.
func (d *Daemon) Trigger(ctx context.Context, req request.Sync) error {
	select {
	case d.wanted <- req:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// want joins a request to those that wait.
func (q *queue) want(req request.Sync) {
	if q.demand == nil {
		q.demand = &req
		return
	}
	q.demand.Force = q.demand.Force || req.Force
	if len(req.Manifests) == 0 || len(q.demand.Manifests) == 0 {
		q.demand.Manifests = nil
		return
	}
	for _, name := range req.Manifests { // once each: a sync can take hours, and who asks need not get tired
		if !slices.Contains(q.demand.Manifests, name) {
			q.demand.Manifests = append(q.demand.Manifests, name)
		}
	}
}

// take returns the next request: first what was asked for, then what is due.
func (q *queue) take() (request.Sync, bool) {
	if req := q.demand; req != nil {
		q.demand = nil
		return *req, true
	}
	if len(q.due) == 0 {
		return request.Sync{}, false
	}
	req := request.Sync{Manifests: slices.Sorted(maps.Keys(q.due)), Trigger: q.trigger}
	q.due, q.trigger = map[string]bool{}, "schedule"
	return req, true
}

// plan computes when each manifest is due next. A manifest that has the same
// schedule in before, which may be nil, keeps its time: a stream of reloads must
// not put a sync off for ever.
func (d *Daemon) plan(now time.Time, before *config.Config) {
	planned := *d.next.Load()
	cfg := d.Config()
	next := make(map[string]time.Time, len(cfg.Manifests))
	for _, m := range cfg.Manifests {
		at, known := planned[m.Name]
		if !known || before == nil || !sameSchedule(before, m) {
			at = d.first(m.Schedule, now)
		}
		next[m.Name] = at
	}
	d.next.Store(&next)
}

// first is when a schedule runs for the first time. An interval would begin for
// all hosts that start together at once, so its first run comes later by this
// host's share of the jitter; the others keep that distance.
func (d *Daemon) first(schedule config.Schedule, now time.Time) time.Time {
	most := min(schedule.Interval(), d.Config().Jitter)
	return d.after(schedule, now).Add(time.Duration(d.jitter * float64(most)))
}

func sameSchedule(before *config.Config, m config.Manifest) bool {
	return slices.ContainsFunc(before.Manifests, func(old config.Manifest) bool {
		return old.Name == m.Name && old.Schedule.Equal(m.Schedule)
	})
}

// after is the first time after now, shifted by this host's share of the jitter
// so that hosts do not all come at once. It is a time of the wall clock alone:
// the monotonic one stands still while a machine is suspended.
func (d *Daemon) after(schedule config.Schedule, now time.Time) time.Time {
	shift := time.Duration(d.jitter * float64(d.Config().Jitter))
	return schedule.Next(now.Round(0).Add(-shift)).Add(shift)
}

func (d *Daemon) nap() time.Duration {
	nap := maxNap
	if d.watchdog > 0 {
		nap = min(nap, d.watchdog/2)
	}
	for _, at := range *d.next.Load() {
		nap = min(nap, time.Until(at))
	}
	return max(nap, 0)
}

// collectDue moves what is due into the queue. When the clock was set back, what
// seems due far in the future is planned anew.
func (d *Daemon) collectDue(q *queue, now time.Time) {
	if now.Before(d.tick.Load().Round(0).Add(-time.Minute)) {
		d.plan(now, nil)
		return
	}
	next := maps.Clone(*d.next.Load())
	for _, m := range d.Config().Manifests {
		if at := next[m.Name]; !at.After(now) {
			q.due[m.Name] = true
			next[m.Name] = d.after(m.Schedule, now)
		}
	}
	d.next.Store(&next)
}

// reload reads the configuration again and returns the manifests that are to be
// synced at once for it.
func (d *Daemon) reload() (changed []string, err error) {
	before := d.Config()
	cfg, err := d.load()
	if err != nil {
		return nil, err
	}
	if cfg.DataDir != before.DataDir || cfg.HTTP != before.HTTP {
		d.options.Log.Warn().Msg("data_dir and http take effect at a restart: the old ones stay in use")
		cfg.DataDir, cfg.HTTP = before.DataDir, before.HTTP
	}
	if err := d.Configure(cfg); err != nil {
		return nil, err
	}
	for _, m := range cfg.Manifests {
		i := slices.IndexFunc(before.Manifests, func(old config.Manifest) bool { return old.Name == m.Name })
		if i < 0 || !sameContent(before.Manifests[i], m) || !sameSource(before.Source, cfg.Source) {
			changed = append(changed, m.Name)
		}
	}
	return changed, nil
}

// sameContent is true when both mirror the same files; the schedule may differ.
func sameContent(a, b config.Manifest) bool {
	return a.Release == b.Release && reflect.DeepEqual(a.Filter, b.Filter)
}

func sameSource(a, b config.Source) bool {
	return a.URL.String() == b.URL.String() && a.Hash == b.Hash
}

// Status adds what only a daemon knows.
func (d *Daemon) Status() (report.Status, error) {
	status, err := d.Engine.Status()
	status.Daemon = true
	next := *d.next.Load()
	for i := range status.Manifests {
		if at, planned := next[status.Manifests[i].Name]; planned {
			status.Manifests[i].NextSync = &at
		}
	}
	status.Explain(time.Now())
	return status, err
}

// errStuck says that the loop has not been awake for long.
var errStuck = errors.New("the scheduler's loop is stuck")

// Alive is nil while the loop goes round and has a data directory to work in. It
// goes by the monotonic clock: a clock that is set makes no loop look stuck, and
// hides none that is.
func (d *Daemon) Alive() error {
	if time.Since(*d.tick.Load()) > 4*maxNap {
		return errStuck
	}
	return d.Engine.Alive()
}
