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
	"syncd/internal/engine/operation"
	"syncd/internal/ui/control"
)

// startPatience is how long a command waits for an engine that has the lock and
// does not listen yet.
const startPatience = 3 * time.Second

// withEngine runs work with the running engine, or with one of its own. An engine
// that is just starting has the lock and does not listen yet, so it is tried again.
func (a *app) withEngine(ctx context.Context, cfg *config.Config, work func(operation.Engine) error) error {
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
func (a *app) withOwnEngine(ctx context.Context, cfg *config.Config, work func(operation.Engine) error) error {
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
	server, err := control.NewServer(ctx, stateDir(cfg), e.Operations())
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
			a.warn(err.Error())
		}
	})
	return err
}

func (a *app) openEngine(cfg *config.Config, log zerolog.Logger, registry *prometheus.Registry) (*engine.Engine, error) {
	return engine.Open(cfg, engine.Options{Log: log, Registry: registry, Version: version(), Built: buildTime(), AddSecret: a.secrets.add})
}

func stateDir(cfg *config.Config) string { return filepath.Join(cfg.DataDir, "state") }
