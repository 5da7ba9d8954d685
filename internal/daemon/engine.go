// Package daemon holds a data directory and keeps it current. Engine is the
// holder: the lock, the state and the mirror, doing one piece of work at a time,
// for a one-shot command as for the daemon. Daemon adds the schedule and the
// signals.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"syncd/internal/clients/releases"
	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/durable"
	"syncd/internal/fetcher"
	"syncd/internal/lockfile"
	"syncd/internal/manifest"
	"syncd/internal/metrics"
	"syncd/internal/mirror"
	"syncd/internal/origin"
	"syncd/internal/report"
	"syncd/internal/request"
	"syncd/internal/store"
	"syncd/internal/syncer"
)

// stateTimeout bounds the wait for a reader of the state file to be done.
const stateTimeout = 10 * time.Second

// Options are what an Engine needs beside its configuration.
type Options struct {
	Log      zerolog.Logger
	Registry prometheus.Registerer
	Version  string
	Secret   func(customerID string) // is told every Customer ID before it is used, to redact it
}

// Engine holds a data directory. Its methods are safe for concurrent use; work
// is done one piece at a time, in the order of the calls as far as that can be told.
type Engine struct {
	options  Options
	lock     *lockfile.Lock
	store    *store.Store
	mirror   *mirror.Mirror
	metrics  *metrics.Metrics
	gate     *transport.Gate
	progress report.Progress
	jitter   float64       // this host's share of every jitter
	turn     chan struct{} // holds one token: whoever takes it works

	setup atomic.Pointer[setup]
}

// setup is what a configuration turns into; a reload replaces it whole.
type setup struct {
	config *config.Config
	client *releases.Client
	syncer *syncer.Syncer
}

// Open locks cfg's data directory, recovers what a crash left and opens the
// state. It fails with *lockfile.HeldError when another process holds the lock.
func Open(cfg *config.Config, options Options) (*Engine, error) {
	warn := func(message string) { options.Log.Warn().Msg(message) }
	m, err := mirror.Open(cfg.DataDir, &durable.Disk{Warn: warn})
	var broken *mirror.BrokenError
	if errors.As(err, &broken) {
		warn(broken.Error())
	} else if err != nil {
		return nil, cannotHold(cfg.DataDir, err)
	}
	if err := m.MakeState(); err != nil {
		return nil, cannotHold(cfg.DataDir, err)
	}
	lock, err := lockfile.Acquire(filepath.Join(m.State(), "lock"))
	if err != nil {
		return nil, cannotHold(cfg.DataDir, err)
	}
	e := &Engine{options: options, lock: lock, mirror: m, turn: make(chan struct{}, 1)}
	if err := e.start(cfg, warn); err != nil {
		return nil, errors.Join(err, e.release())
	}
	e.turn <- struct{}{}
	return e, nil
}

// cannotHold says what to do about a data directory that cannot be held.
func cannotHold(dir string, err error) error {
	var held *lockfile.HeldError
	switch {
	case errors.As(err, &held):
		return err
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("data_dir %s is read-only: readers and `syncd status` can use it as it is; to sync, mount it for writing: %w", dir, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("data_dir %s: run syncd as the user that owns it: %w", dir, err)
	}
	return fmt.Errorf("data_dir: %w", err)
}

func (e *Engine) start(cfg *config.Config, warn func(string)) error {
	if err := e.mirror.Recover(); err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	s, note, err := store.Open(filepath.Join(e.mirror.State(), "syncd.db"), stateTimeout)
	if err != nil {
		return err
	}
	e.store = s
	if note != "" {
		warn(note)
	}
	if e.jitter, err = s.Jitter(rand.Float64); err != nil {
		warn(fmt.Sprintf("jitter not kept: the next start draws another: %v", err))
	}
	coolDowns, err := s.CoolDowns()
	if err != nil {
		return err
	}
	e.gate = transport.NewGate(coolDowns, e.saveCoolDown)
	e.metrics = metrics.New(e.options.Registry, e.options.Version, metrics.Asked{DiskFree: e.freeBytes, CoolDown: e.coolDown})
	return e.Configure(cfg)
}

// coolDown is until when the configured origin asked to wait.
func (e *Engine) coolDown() time.Time {
	now := e.setup.Load()
	if now == nil {
		return time.Time{}
	}
	return e.gate.Until(origin.Of(now.config.Source.URL))
}

func (e *Engine) saveCoolDown(origin string, until time.Time) {
	if err := e.store.SetCoolDown(origin, until); err != nil {
		e.options.Log.Warn().Err(err).Str("origin", origin).Msg("cool-down not kept across restarts")
	}
}

func (e *Engine) freeBytes() float64 {
	free, err := e.mirror.Free()
	if err != nil || e.present() != nil {
		return math.NaN() // unknown is not full
	}
	return float64(free.Bytes)
}

// present is nil while the data directory's name leads to the one that is held.
// Unmounted or moved, it may have left an empty folder, which is no place to
// begin a new mirror in: the lock and the state are of the first one.
func (e *Engine) present() error {
	if err := e.lock.Check(); err != nil {
		return fmt.Errorf("data_dir %s vanished or was replaced beside the running syncd: is it unmounted? Put it back, or restart syncd: %w", e.mirror.Dir(), err)
	}
	return nil
}

// Close waits for the work under way, which its context should have ended, and
// gives the data directory back.
func (e *Engine) Close() error {
	<-e.turn
	return e.release()
}

func (e *Engine) release() error {
	var err error
	if now := e.setup.Load(); now != nil {
		now.client.Close()
	}
	if e.store != nil {
		err = e.store.Close()
	}
	return errors.Join(err, e.lock.Release())
}

// Configure makes cfg the configuration of all work that starts from now on. On
// an error the old one stays. The data directory is not changed by it.
func (e *Engine) Configure(cfg *config.Config) error {
	id, err := cfg.Source.Credential.Read()
	if err != nil {
		return err
	}
	e.options.Secret(id.Reveal())
	settings := ClientConfig(cfg.Source.Service(), id)
	settings.UserAgent, settings.Observer, settings.Gate = "syncd/"+e.options.Version, e.metrics, e.gate
	carrier, err := transport.New(settings)
	if err != nil {
		return err
	}
	client := releases.New(carrier)
	next := &setup{config: cfg, client: client}
	next.syncer = syncer.New(e.syncerConfig(cfg, client), &e.progress)
	e.restoreMetrics(cfg)
	if before := e.setup.Swap(next); before != nil {
		e.forgetRemoved(before.config)
		before.client.Close()
	}
	e.metrics.Reloaded(true)
	return nil
}

func (e *Engine) syncerConfig(cfg *config.Config, client *releases.Client) syncer.Config {
	return syncer.Config{
		Provider: client, Mirror: e.mirror, Store: e.store, Metrics: e.metrics,
		Fetcher: fetcher.New(client, e.mirror.Partial(), fetcher.Config{
			Files: cfg.Transfers.Files, Segments: cfg.Transfers.Segments, Bandwidth: cfg.Transfers.Bandwidth,
		}),
		Log: e.options.Log, Version: e.options.Version,
		Source:    transport.PublicURL(cfg.Source.URL),
		Algorithm: cfg.Source.Hash,
		Targets:   targetsOf(cfg), Transfers: cfg.Transfers.Files,
		Recheck: cfg.RecheckInterval, MinKeepRatio: cfg.Guards.MinKeepRatio,
		Retain: cfg.Retain, RetainFor: cfg.RetainFor,
	}
}

func targetsOf(cfg *config.Config) []syncer.Target {
	targets := make([]syncer.Target, len(cfg.Manifests))
	for i, m := range cfg.Manifests {
		targets[i] = syncer.Target{Name: m.Name, Release: m.Release, Filter: m.Filter}
	}
	return targets
}

// restoreMetrics makes the series of cfg's manifests exist with what is known of them.
func (e *Engine) restoreMetrics(cfg *config.Config) {
	states, err := e.store.Manifests()
	if err != nil {
		e.options.Log.Warn().Err(err).Msg("metrics start without the remembered times")
	}
	current := e.mirror.Current()
	for _, m := range cfg.Manifests {
		e.metrics.Manifest(m.Name, report.LabelValues())
		e.metrics.Pinned(m.Name, m.Release != manifest.Latest)
		report.ShowManifest(e.metrics, m.Name, current.Records[m.Name], states[m.Name])
	}
}

// Config is the configuration in force.
func (e *Engine) Config() *config.Config { return e.setup.Load().config }

// work waits for its turn and runs f with the configuration that is in force
// then. Nothing is done while the data directory is not the one that is held;
// back again, it is worked in as before.
func (e *Engine) work(ctx context.Context, f func(*syncer.Syncer) error) error {
	select {
	case <-e.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { e.turn <- struct{}{} }()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := e.present(); err != nil {
		return err
	}
	begun := e.setup.Load()
	defer e.forgetRemoved(begun.config)
	return f(begun.syncer)
}

// forgetRemoved drops the series of manifests that before had and the
// configuration in force has not: work that began before may have set them again.
func (e *Engine) forgetRemoved(before *config.Config) {
	now := e.Config()
	for _, name := range before.Names() {
		if !now.Has(name) {
			e.metrics.Forget(name)
		}
	}
}

// Sync does one sync; see syncer.Syncer.Sync.
func (e *Engine) Sync(ctx context.Context, req request.Sync) (result report.Sync, err error) {
	err = e.work(ctx, func(s *syncer.Syncer) (err error) {
		result, err = s.Sync(ctx, req)
		return err
	})
	return result, err
}

// Rollback publishes an earlier state; see syncer.Syncer.Rollback.
func (e *Engine) Rollback(ctx context.Context, req request.Rollback) (result report.Sync, err error) {
	err = e.work(ctx, func(s *syncer.Syncer) (err error) {
		result, err = s.Rollback(ctx, req)
		return err
	})
	return result, err
}

// Repair mends what is damaged; see syncer.Syncer.Repair.
func (e *Engine) Repair(ctx context.Context, req request.Verify) (result report.Verification, err error) {
	err = e.work(ctx, func(s *syncer.Syncer) (err error) {
		result, err = s.Repair(ctx, req)
		return err
	})
	return result, err
}
