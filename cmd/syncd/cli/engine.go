package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"syncd/internal/config"
	"syncd/internal/disk/durable"
	"syncd/internal/disk/flock"
	"syncd/internal/engine"
	"syncd/internal/engine/operation"
	"syncd/internal/metrics/tracing"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/status"
	"syncd/internal/store"
	"syncd/internal/ui/control"
)

// A command waits so long for an engine that has the lock and does not listen yet, and says
// so on stderr when the wait is long enough to be noticed.
const (
	startPatience = 30 * time.Second
	noticeAfter   = time.Second
	nextTry       = 50 * time.Millisecond
)

// WithEngine runs work with the running engine, or with one of its own.
func (a *App) WithEngine(ctx context.Context, cfg *config.Config, work func(operation.Engine) error) error {
	isReady := false
	return a.reach(ctx, cfg, func(client *control.Client) error { return work(client) }, func() error {
		if !isReady {
			if err := a.ReadSecrets(cfg); err != nil {
				return err
			}
			if err := BecomeOwner(cfg.DataDir); err != nil {
				return err
			}
			isReady = true
		}
		return a.withOwnEngine(ctx, cfg, work)
	})
}

// reach calls running with the running engine, or alone when none is running. An engine
// that is just starting or ending has the lock and does not listen, so both are tried again.
func (a *App) reach(ctx context.Context, cfg *config.Config, running func(*control.Client) error, alone func() error) error {
	began, isNoticed := time.Now(), false
	for {
		err := a.ask(ctx, cfg, running)
		if !errors.Is(err, control.ErrNotRunning) {
			return err
		}
		err = alone()
		waited := time.Since(began)
		if !isHeld(err) || waited > startPatience {
			return err
		}
		if waited > noticeAfter && !isNoticed {
			isNoticed = true
			a.Note(fmt.Sprintf("waiting up to %s for another syncd, which has %s and does not answer yet", startPatience, cfg.DataDir))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(nextTry):
		}
	}
}

// ask calls running with the running engine. The error is control.ErrNotRunning when there
// is none, or when it ended before it took a request.
func (a *App) ask(ctx context.Context, cfg *config.Config, running func(*control.Client) error) error {
	client, err := control.Dial(ctx, StateDir(cfg))
	if err != nil {
		return err
	}
	defer client.Close()
	return running(client)
}

// isHeld is true for the error of a data directory that another process has.
func isHeld(err error) bool {
	var held *flock.HeldError
	return errors.As(err, &held) || errors.Is(err, store.ErrLocked)
}

// withOwnEngine runs work with an engine of this process. Other commands reach it
// over the control socket meanwhile.
func (a *App) withOwnEngine(ctx context.Context, cfg *config.Config, work func(operation.Engine) error) error {
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
	if err := CheckPrograms(cfg); err != nil {
		return nil, err
	}
	return engine.Open(cfg, engine.Options{Log: log, Registry: registry, Version: a.options.Version, Built: a.options.Built, AddSecret: a.Secrets.Add, Tracing: a.tracing(cfg, log)})
}

// tracing sends traces until the process ends.
func (a *App) tracing(cfg *config.Config, log zerolog.Logger) *tracing.Tracer {
	if a.tracer == nil {
		a.tracer = tracing.New(tracing.Config{Endpoint: cfg.Tracing.Endpoint, Getenv: a.Getenv, Version: a.options.Version, Clean: a.clean, Log: log})
	}
	return a.tracer
}

// maxTraced limits a text of a trace, in bytes.
const maxTraced = 2 << 10

// clean makes one printable line of a text, without secrets.
func (a *App) clean(text string) string {
	text = report.OneLine(string(a.Secrets.redactText([]byte(text))))
	return strings.ToValidUTF8(text[:min(len(text), maxTraced)], "")
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
func Ask[T any](ctx context.Context, a *App, cfg *config.Config, q operation.Query[T], fromDisk FromDisk[T]) (answer T, err error) {
	err = Read(ctx, a, cfg, func(e operation.Engine) error {
		answer, err = q.Ask(ctx, e)
		return err
	}, func(m *mirror.Mirror, s status.StateReader) error {
		if answer, err = fromDisk(m, s); err == nil {
			answer, err = report.VisibleCopy(answer) // as the client does
		}
		return err
	})
	return answer, err
}

// Read calls ask with the running engine, or fromDisk when none is running.
func Read(ctx context.Context, a *App, cfg *config.Config, ask func(operation.Engine) error, fromDisk func(*mirror.Mirror, status.StateReader) error) error {
	return a.reach(ctx, cfg, func(client *control.Client) error { return ask(client) }, func() error { return readDisk(a, cfg, fromDisk) })
}

func readDisk(a *App, cfg *config.Config, fromDisk func(*mirror.Mirror, status.StateReader) error) error {
	m, err := mirror.Open(cfg.DataDir, &durable.Disk{})
	if err != nil {
		return err
	}
	s, err := store.OpenReadOnly(m.Root(), engine.StateFile, 2*nextTry)
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
	return err
}
