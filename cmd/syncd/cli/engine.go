package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"syncd/internal/config"
	"syncd/internal/disk/durable"
	"syncd/internal/disk/flock"
	"syncd/internal/engine"
	"syncd/internal/engine/operation"
	"syncd/internal/mirror"
	"syncd/internal/report/status"
	"syncd/internal/store"
	"syncd/internal/ui/control"
)

// startPatience is how long a command waits for an engine that has the lock and
// does not listen yet.
const startPatience = 3 * time.Second

// WithEngine runs work with the running engine, or with one of its own. An engine
// that is just starting has the lock and does not listen yet, so it is tried again.
func (a *App) WithEngine(ctx context.Context, cfg *config.Config, work func(operation.Engine) error) error {
	for deadline := time.Now().Add(startPatience); ; {
		client, err := control.Dial(ctx, StateDir(cfg))
		if err == nil {
			defer client.Close()
			return work(client)
		}
		if !errors.Is(err, control.ErrNotRunning) {
			return err
		}
		err = a.withOwnEngine(ctx, cfg, work)
		var held *flock.HeldError
		if !errors.As(err, &held) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// withOwnEngine runs work with an engine of this process. Other commands reach it
// over the control socket meanwhile.
func (a *App) withOwnEngine(ctx context.Context, cfg *config.Config, work func(operation.Engine) error) error {
	if err := a.ReadSecrets(cfg); err != nil {
		return err
	}
	if err := BecomeOwner(cfg.DataDir); err != nil {
		return err
	}
	e, err := a.OpenEngine(cfg, a.Logger(zerolog.WarnLevel), prometheus.NewRegistry())
	if err != nil {
		return err
	}
	server, err := control.NewServer(ctx, StateDir(cfg), e.Operations())
	if err != nil {
		return errors.Join(err, e.Close())
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	end := func() error {
		server.Stop(ctx)
		return errors.Join(<-served, e.Close())
	}
	if !a.DeliverLast {
		e.Hooks.Deliver()
	}
	err = work(e.Operations())
	e.Hooks.Deliver()
	if !e.Hooks.IsDelivering() {
		return errors.Join(err, end())
	}
	// The command prints its outcome first: hooks may take long.
	a.endings = append(a.endings, func() {
		e.Hooks.Rest(ctx)
		if err := end(); err != nil {
			a.Warn(err.Error())
		}
	})
	return err
}

// OpenEngine opens the engine of a configuration in this process.
func (a *App) OpenEngine(cfg *config.Config, log zerolog.Logger, registry *prometheus.Registry) (*engine.Engine, error) {
	return engine.Open(cfg, engine.Options{Log: log, Registry: registry, Version: a.options.Version, Built: a.options.Built, AddSecret: a.Secrets.Add})
}

// StateDir is the state folder of a data directory.
func StateDir(cfg *config.Config) string { return filepath.Join(cfg.DataDir, "state") }

// Do has an engine do an operation, and shows its progress on stderr if shows.
func Do[Request, Result any](ctx context.Context, a *App, cfg *config.Config, op operation.Work[Request, Result], req Request, shows bool) (result Result, err error) {
	err = a.WithEngine(ctx, cfg, func(e operation.Engine) error {
		if !shows {
			result, err = op.Do(ctx, e, req)
			return err
		}
		progress := a.Progress(false)
		defer progress.Close()
		result, err = op.Watch(ctx, e, req, progress.Show)
		return err
	})
	return result, err
}

// FromDisk answers a query when no engine is running; the state is nil when there is no state
// database.
type FromDisk[T any] func(*mirror.Mirror, status.StateReader) (T, error)

// Ask answers from the running engine, or from the disk when none is running.
func Ask[T any](ctx context.Context, a *App, cfg *config.Config, q operation.Query[T], fromDisk FromDisk[T]) (T, error) {
	var none T
	client, err := control.Dial(ctx, StateDir(cfg))
	if err == nil {
		defer client.Close()
		return q.Ask(ctx, client)
	}
	if !errors.Is(err, control.ErrNotRunning) {
		return none, err
	}
	m, err := mirror.Open(cfg.DataDir, &durable.Disk{})
	if err != nil {
		return none, err
	}
	s, err := store.OpenReadOnly(m.Root(), engine.StateFile, startPatience)
	var damaged *store.DamagedError
	switch {
	case err == nil:
		defer s.Close()
		return fromDisk(m, s)
	case errors.Is(err, fs.ErrNotExist):
		return fromDisk(m, nil)
	case errors.As(err, &damaged):
		a.Warn(fmt.Sprintf("%v: the next sync sets it aside", damaged))
		return fromDisk(m, nil)
	}
	return none, err
}
