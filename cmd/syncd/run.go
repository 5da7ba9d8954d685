package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"syncd/internal/config"
	"syncd/internal/control"
	"syncd/internal/daemon"
	"syncd/internal/web"
)

func (a *app) runCommand() *cobra.Command {
	return &cobra.Command{
		Use: "run", Short: "Run the daemon: sync by schedule and on signals", Args: cobra.NoArgs,
		Long: `Run the daemon. It syncs at start and then by schedule.

SIGUSR1 syncs now; one that comes during a sync runs after it. SIGHUP reloads the
configuration: a bad one is reported and the old one kept, an added or changed
manifest is synced at once, a removed one leaves at the next sync. SIGTERM and
SIGINT end it; unfinished downloads are kept and continued at the next start.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runDaemon(cmd.Context()) },
	}
}

// runDaemon wires the daemon together, in the order in which its parts are needed.
func (a *app) runDaemon(ctx context.Context) error {
	signals := make(chan os.Signal, 8) // from here on a SIGHUP ends nothing
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGHUP)
	defer signal.Stop(signals)

	cfg, err := a.load()
	if err != nil {
		return err
	}
	log := a.logger(zerolog.InfoLevel)
	for _, line := range cfg.Warnings() {
		log.Warn().Msg(line)
	}
	if _, err := a.readID(cfg); err != nil {
		return err
	}
	if err := becomeOwner(cfg.DataDir); err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	engine, err := a.open(cfg, log, registry)
	if err != nil {
		return err
	}
	defer engine.Close()
	listener, err := listenWeb(cfg.HTTP)
	if err != nil {
		return err
	}
	d := daemon.New(engine, a.load)

	group, ctx := errgroup.WithContext(ctx)
	stopControl, err := serveControl(ctx, cfg, d)
	if err != nil {
		return err
	}
	group.Go(func() error {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), controlGrace)
		defer cancel()
		return stopControl(grace)
	})
	if listener != nil {
		log.Info().Stringer("address", listener.Addr()).Msg("listening")
		group.Go(func() error {
			return web.Serve(ctx, listener, web.Handler(d, registry), cfg.HTTP.WebConfig, slogTo(log))
		})
	}
	group.Go(func() error { return d.Run(ctx, signals) })
	log.Info().Str("version", version()).Str("data_dir", cfg.DataDir).Int("manifests", len(cfg.Manifests)).Msg("started")
	if err := group.Wait(); err != nil {
		return err
	}
	log.Info().Msg("stopped")
	return nil
}

func (a *app) open(cfg *config.Config, log zerolog.Logger, registry prometheus.Registerer) (*daemon.Engine, error) {
	return daemon.Open(cfg, daemon.Options{Log: log, Registry: registry, Version: version(), Secret: a.stdout.secrets.add})
}

func listenWeb(cfg config.HTTP) (net.Listener, error) {
	if cfg.Listen == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("http.listen: %w", err)
	}
	return listener, nil
}

// slogTo passes on what the web toolkit logs.
func slogTo(log zerolog.Logger) *slog.Logger {
	return slog.New(zerolog.NewSlogHandler(log.Level(zerolog.WarnLevel)))
}

// controlGrace is how long the daemon waits, at its end, for the answers under way.
const controlGrace = time.Second

// serveControl opens the control socket. What is asked there is done under ctx.
// The returned function stops listening and waits for the answers under way,
// until its own context ends.
func serveControl(ctx context.Context, cfg *config.Config, holder control.Holder) (stop func(context.Context) error, err error) {
	listener, err := control.Listen(stateDir(cfg))
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: control.Handler(ctx, holder), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	return func(ctx context.Context) error {
		if server.Shutdown(ctx) != nil {
			server.Close()
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}, nil
}
