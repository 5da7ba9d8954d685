package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"syncd/internal/config"
	"syncd/internal/disk/flock"
	"syncd/internal/engine"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/ui/control"
)

// engineClient asks an engine for work: over the control socket, or in this process.
type engineClient interface {
	Sync(ctx context.Context, req request.Sync, show func(report.Snapshot)) (report.Sync, error)
	Rollback(ctx context.Context, req request.Rollback) (report.Sync, error)
	Activate(ctx context.Context, req request.Activate) (report.Sync, error)
	Order(ctx context.Context, req request.Order) (report.Sync, error)
	Forget(ctx context.Context, req request.Forget) (report.Sync, error)
	Publish(ctx context.Context, req request.Publish) (report.Publication, error)
	Repair(ctx context.Context, req request.Verify, show func(report.Snapshot)) (report.Verification, error)
	Adopt(ctx context.Context, req request.Adopt, show func(report.Snapshot)) (report.Adoption, error)
	ChangeDeliveries(ctx context.Context, req request.Deliveries) (report.Deliveries, error)
	ServeRelease(ctx context.Context, req request.ServeRelease) ([]report.Stop, error)
}

// startPatience is how long a command waits for an engine that has the lock and
// does not listen yet.
const startPatience = 3 * time.Second

// withEngine runs work with the running engine, or with one of its own. An engine
// that is just starting has the lock and does not listen yet, so it is tried again.
func (a *app) withEngine(ctx context.Context, cfg *config.Config, work func(engineClient) error) error {
	for deadline := time.Now().Add(startPatience); ; {
		client, err := control.Dial(ctx, stateDir(cfg))
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
func (a *app) withOwnEngine(ctx context.Context, cfg *config.Config, work func(engineClient) error) error {
	if err := a.readSecrets(cfg); err != nil {
		return err
	}
	if err := becomeOwner(cfg.DataDir); err != nil {
		return err
	}
	e, err := a.openEngine(cfg, a.logger(zerolog.WarnLevel), prometheus.NewRegistry())
	if err != nil {
		return err
	}
	server, err := control.NewServer(ctx, stateDir(cfg), e)
	if err != nil {
		return errors.Join(err, e.Close())
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	end := func() error {
		server.Stop(ctx)
		return errors.Join(<-served, e.Close())
	}
	if !a.deliverLast {
		e.Deliver()
	}
	err = work(ownEngine{e})
	e.Deliver()
	if !e.IsDelivering() {
		return errors.Join(err, end())
	}
	// The command prints its outcome first: hooks may take long.
	a.endings = append(a.endings, func() {
		e.Rest(ctx)
		if err := end(); err != nil {
			a.warn(err.Error())
		}
	})
	return err
}

func (a *app) openEngine(cfg *config.Config, log zerolog.Logger, registry *prometheus.Registry) (*engine.Engine, error) {
	return engine.Open(cfg, engine.Options{Log: log, Registry: registry, Version: version(), Built: buildTime(), AddSecret: a.secrets.add})
}

func stateDir(cfg *config.Config) string { return filepath.Join(cfg.DataDir, "state") }

// ownEngine is the engine of this process.
type ownEngine struct{ engine *engine.Engine }

func (o ownEngine) Sync(ctx context.Context, req request.Sync, show func(report.Snapshot)) (report.Sync, error) {
	defer o.watch(show)()
	return o.engine.Sync(ctx, req)
}

func (o ownEngine) Rollback(ctx context.Context, req request.Rollback) (report.Sync, error) {
	return o.engine.Rollback(ctx, req)
}

func (o ownEngine) Activate(ctx context.Context, req request.Activate) (report.Sync, error) {
	return o.engine.Activate(ctx, req)
}

func (o ownEngine) Order(ctx context.Context, req request.Order) (report.Sync, error) {
	return o.engine.Order(ctx, req)
}

func (o ownEngine) Forget(ctx context.Context, req request.Forget) (report.Sync, error) {
	return o.engine.Forget(ctx, req)
}

func (o ownEngine) Publish(ctx context.Context, req request.Publish) (report.Publication, error) {
	return o.engine.Publish(ctx, req)
}

func (o ownEngine) Repair(ctx context.Context, req request.Verify, show func(report.Snapshot)) (report.Verification, error) {
	defer o.watch(show)()
	return o.engine.Repair(ctx, req)
}

func (o ownEngine) Adopt(ctx context.Context, req request.Adopt, show func(report.Snapshot)) (report.Adoption, error) {
	defer o.watch(show)()
	return o.engine.Adopt(ctx, req)
}

func (o ownEngine) ChangeDeliveries(ctx context.Context, req request.Deliveries) (report.Deliveries, error) {
	return o.engine.ChangeDeliveries(ctx, req)
}

func (o ownEngine) ServeRelease(ctx context.Context, req request.ServeRelease) ([]report.Stop, error) {
	return o.engine.ServeRelease(ctx, req)
}

// watch calls show with the progress, again and again, until the returned function
// is called.
func (o ownEngine) watch(show func(report.Snapshot)) func() {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				return
			case <-ticker.C:
				show(o.engine.Progress())
			}
		}
	}()
	return func() { close(quit); <-done }
}
