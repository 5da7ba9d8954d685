package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/disk/durable"
	"syncd/internal/disk/flock"
	"syncd/internal/disk/fsops"
	"syncd/internal/downstream/patches"
	"syncd/internal/engine/operation"
	"syncd/internal/engine/silence"
	"syncd/internal/engine/upload"
	"syncd/internal/golive"
	"syncd/internal/golive/destroyer"
	"syncd/internal/host/claims"
	"syncd/internal/host/rate"
	"syncd/internal/metrics"
	"syncd/internal/metrics/tracing"
	"syncd/internal/mirror"
	"syncd/internal/mirror/audit"
	"syncd/internal/mirror/lifespan"
	"syncd/internal/mirror/staging"
	"syncd/internal/report/progress"
	"syncd/internal/store"
	"syncd/internal/syncer"
)

// StateFile is the path of the state database in the data directory.
const StateFile = "state/syncd.db"

// stateTimeout bounds the wait for another process to close the state database.
const stateTimeout = 10 * time.Second

// Options are what an Engine needs in addition to its configuration.
type Options struct {
	Log       zerolog.Logger
	Registry  *prometheus.Registry
	Version   string
	Built     time.Time // zero when not known
	Tracing   *tracing.Tracer
	AddSecret func(customerID string) // called with each Customer ID before its first use, so that output is redacted
}

// Engine owns a data directory until Close. Its methods are safe for concurrent
// use. Syncs of other manifests, rollbacks and repairs run at the same time; they take
// turns only while they change the tree, see golive.Directory.
type Engine struct {
	*base
	Hooks     *Hooks
	Scrub     *Scrub
	Ages      *Ages
	Followers *Followers
	Probes    *Probes
	Bundles   *Bundles
	Uploads   *upload.Uploader
	Patches   *patches.Maker

	Destruction Destruction

	configuring sync.Mutex // held while a configuration is put in force

	operations *operation.Table
	series     metricSet
	silence    *silence.Silence
	retries    *retries
	audit      *audit.Log
	gate       *transport.Gate
	progress   progress.Tracker
	bandwidth  *rate.Budget // of all syncs and repairs
	jitter     float64
	syncing    claims.Set // manifests that are in a sync
	shared     *syncer.Shared
	directory  *golive.Directory

	destructions destroyer.Schedule
}

// Open locks cfg's data directory, removes what a crash left unfinished and opens
// the state database. It fails with *flock.HeldError when another process holds
// the lock. The caller must call Close.
func Open(cfg *config.Config, options Options) (*Engine, error) {
	options.Log = tracing.Log(options.Log)
	warn := func(message string) { options.Log.Warn().Msg(message) }
	disk := &durable.Disk{Warn: warn} // one, so that it warns once
	m, err := mirror.Open(cfg.DataDir, disk)
	if broken, ok := errors.AsType[*mirror.BrokenError](err); ok {
		warn(broken.Error())
	} else if err != nil {
		return nil, openError(err)
	}
	if err := m.MakeState(); err != nil {
		return nil, openError(err)
	}
	lock, err := flock.Acquire(m.Root(), "state/lock")
	if err != nil {
		return nil, openError(err)
	}
	e := newEngine(&base{options: options, dirLock: lock, mirror: m, running: semaphore.NewWeighted(maxWork)})
	if err := e.start(cfg, disk, warn); err != nil {
		return nil, errors.Join(err, e.release())
	}
	return e, nil
}

func newEngine(b *base) *Engine {
	b.orders = ordersOf(b)
	e := &Engine{base: b, bandwidth: rate.NewBudget(rate.Timetable{})}
	e.silence = silence.New(b.Config, &e.progress, &b.options.Log)
	e.Hooks, e.Scrub, e.Followers = &Hooks{base: b}, newScrub(e), &Followers{base: b}
	e.Followers.hooks = e.Hooks
	e.Bundles = &Bundles{base: b, engine: e}
	e.Probes = &Probes{base: b, engine: e, changed: make(chan struct{}, 1)}
	e.Ages = &Ages{base: b, engine: e}
	e.retries = &retries{hooks: e.Hooks, progress: &e.progress}
	e.Destruction = Destruction{e}
	e.shared = syncer.NewShared()
	e.directory = golive.NewDirectory(e.mayChange, e.shared)
	e.series = metricSet{base: b, directory: e.directory}
	e.operations = e.newOperations()
	return e
}

// openError adds what the operator can do. The error names the path, and those of package
// datadir say what to do, too.
func openError(err error) error {
	var held *flock.HeldError
	var path *fs.PathError
	switch {
	case errors.As(err, &held):
		return err
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("data_dir: %w: mount it for writing to sync; readers and `syncd status` work as it is", err)
	case fsops.IsFull(err):
		return fmt.Errorf("data_dir: %w: make room on that file system", err)
	case errors.Is(err, syscall.EACCES) && errors.As(err, &path) && path.Op == "mkdir":
		return fmt.Errorf("data_dir: %w: make it as root with `install -d -o USER DIR`, or choose another data_dir", err)
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return fmt.Errorf("data_dir: %w: run syncd as the user that owns it", err)
	}
	return fmt.Errorf("data_dir: %w", err)
}

func (e *Engine) start(cfg *config.Config, disk *durable.Disk, warn func(string)) error {
	if err := e.recoverTree(cfg, disk, warn); err != nil {
		return err
	}
	if err := e.Probes.open(disk); err != nil {
		return err
	}
	if err := e.openState(warn); err != nil {
		return err
	}
	e.metrics = metrics.New(e.options.Registry, e.options.Version, metrics.Probes{
		DiskFree: e.freeBytes, CoolDown: e.silence.CoolsUntil, Orphaned: func() float64 { return float64(len(e.orphaned())) }, Overdue: func() float64 { return float64(len(e.destructions.Waiting())) },
		Hooks: e.Hooks.queues, Scrub: e.Scrub.shown, Fleet: e.Followers.shown,
		Bandwidth: func() float64 { return float64(e.bandwidth.Rate()) }, LastProgress: e.silence.LastProgress, RetryingSince: e.progress.RetryingSince, UpstreamExpires: e.believedUntil, Patches: func() metrics.Patches { return patchesShown(e.Patches) },
	})
	var err error
	if e.audit, err = audit.Open(e.mirror, disk, cfg.Audit.Keep); err != nil {
		e.auditFailed(err)
	}
	e.mirror.Served = func(g mirror.Generation) {
		if err := e.audit.Note(g); err != nil {
			e.auditFailed(err)
		}
		e.Followers.refresh()
		e.Patches.Wake()
	}
	if err := errors.Join(e.Followers.open(cfg, e.audit, disk), openPatches(e, disk)); err != nil {
		return err
	}
	e.Hooks.open()
	e.Uploads = upload.New(upload.Config{
		Served: e.Followers.servedTo, Mirror: e.mirror, Store: e.store, Metrics: e.metrics, Log: e.options.Log, Version: e.options.Version,
		ScrubRate: e.Scrub.rate, Config: e.Config, Order: e.orders.Of, Patches: e.Patches.Store(),
	})
	e.Patches.OnNews(func(ctx context.Context) { e.Uploads.Upload(ctx) })
	if err := e.Configure(cfg); err != nil {
		return err
	}
	tree := e.active.Load().syncer.Tree()
	if err := e.Destruction.by(e.active.Load()).Continue(context.Background()); err != nil {
		e.options.Log.Error().Err(err).Msg("a destruction that began is not over; the next start tries again")
	}
	if err := tree.CatchUp(); err != nil {
		e.options.Log.Warn().Err(err).Msg("telling hooks what is served failed; the next sync or start tries again")
	}
	return nil
}

// recoverTree removes what a crash left unfinished in the tree.
func (e *Engine) recoverTree(cfg *config.Config, disk *durable.Disk, warn func(string)) (err error) {
	e.mirror.SetAccess(mirror.Access(cfg.Permissions))
	if err = e.mirror.Recover(); err == nil {
		e.staging, err = staging.Open(e.mirror, warn)
	}
	if err == nil {
		e.lifespans, err = lifespan.Open(e.mirror.Root(), disk, warn)
	}
	if err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	return nil
}

// openState opens the state database and takes up what it knows.
func (e *Engine) openState(warn func(string)) error {
	s, note, err := store.Open(e.mirror.Root(), StateFile, stateTimeout)
	if err != nil {
		return err
	}
	e.store = s
	if note != "" {
		warn(note)
	}
	if e.jitter, err = s.Jitter(rand.Float64); err != nil {
		warn(fmt.Sprintf("saving this host's jitter failed, the next start draws another: %v", err))
	}
	if e.gate, err = e.silence.Open(s); err != nil {
		return err
	}
	if e.witness, err = newWitness(s, warn); err != nil {
		return err
	}
	if err := learnPast(s); err != nil {
		warn(fmt.Sprintf("reading past releases from the history failed, the next start tries again: %v", err))
	}
	return e.Scrub.open()
}

func (e *Engine) auditFailed(err error) {
	e.options.Log.Warn().Err(err).Msg("recording what is served failed; the next publish or start tries again")
}

// Jitter is this host's share of every jitter, from 0 to below 1. It is drawn once
// and kept in the state database.
func (e *Engine) Jitter() float64 { return e.jitter }

// Close waits for the running work, which the caller ends by way of its context,
// and unlocks the data directory.
func (e *Engine) Close() error {
	if err := e.running.Acquire(context.Background(), maxWork); err != nil {
		return err
	}
	return e.release()
}

func (e *Engine) release() error {
	var err error
	if active := e.active.Load(); active != nil {
		active.close()
	}
	e.Hooks.close()
	if e.Uploads != nil {
		e.Uploads.Close()
	}
	if e.Followers.fleet != nil {
		err = e.Followers.fleet.Save()
	}
	if e.store != nil {
		err = errors.Join(err, e.store.Close())
	}
	return errors.Join(err, e.dirLock.Release(), e.mirror.Close())
}
