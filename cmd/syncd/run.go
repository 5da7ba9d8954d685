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

	log := a.logger(zerolog.InfoLevel)
	cfg, err := a.settings(log)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	engine, err := a.open(cfg, log, registry)
	if err != nil {
		return err
	}
	defer engine.Close() // which waits for a sync that has come over the socket
	d := daemon.New(engine, a.load)

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	if err := serveDaemon(ctx, group, cfg, d); err != nil {
		return err
	}
	if err := serveWeb(ctx, group, cfg.HTTP, web.Handler(d, registry), log); err != nil {
		return err
	}
	group.Go(func() error { return d.Run(ctx, signals) })
	log.Info().Str("version", version()).Str("data_dir", cfg.DataDir).Int("manifests", len(cfg.Manifests)).Msg("started")
	if err := group.Wait(); err != nil {
		return err
	}
	log.Info().Msg("stopped")
	return nil
}

// settings reads the configuration and the Customer ID, as the user who started
// syncd, and then becomes the owner of the data directory.
func (a *app) settings(log zerolog.Logger) (*config.Config, error) {
	cfg, err := a.load()
	if err != nil {
		return nil, err
	}
	for _, line := range cfg.Warnings() {
		log.Warn().Msg(line)
	}
	if _, err := a.readID(cfg); err != nil {
		return nil, err
	}
	if err := becomeOwner(cfg.DataDir); err != nil {
		return nil, err
	}
	return cfg, checkWebConfig(cfg)
}

// checkWebConfig finds a web_config that cannot be used before systemd is told that
// all is well: the server itself would only find it then.
func checkWebConfig(cfg *config.Config) error {
	if cfg.HTTP.Listen == "" {
		return nil
	}
	if err := web.CheckConfig(cfg.HTTP.WebConfig); err != nil {
		return &config.Error{File: cfg.Path, Key: "http.web_config", Problem: err.Error(), Suggestion: `mend it, or leave the key out for plain http without passwords`}
	}
	return nil
}

func (a *app) open(cfg *config.Config, log zerolog.Logger, registry prometheus.Registerer) (*daemon.Engine, error) {
	return daemon.Open(cfg, daemon.Options{Log: log, Registry: registry, Version: version(), Secret: a.stdout.secrets.add})
}

// serveWeb listens for metrics and the API, unless http.listen is empty.
func serveWeb(ctx context.Context, group *errgroup.Group, cfg config.HTTP, handler http.Handler, log zerolog.Logger) error {
	if cfg.Listen == "" {
		return nil
	}
	listener, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("http.listen: %w", err)
	}
	log.Info().Stringer("address", listener.Addr()).Msg("listening")
	group.Go(func() error { return web.Serve(ctx, listener, handler, cfg.WebConfig, slogTo(log)) })
	return nil
}

// slogTo passes on what the web toolkit logs.
func slogTo(log zerolog.Logger) *slog.Logger {
	return slog.New(zerolog.NewSlogHandler(log.Level(zerolog.WarnLevel)))
}

// controlGrace is how long the daemon waits, at its end, for the answers under way.
const controlGrace = time.Second

// headerTimeout bounds a client of the socket that does not say what it wants.
const headerTimeout = 5 * time.Second

// serveDaemon opens the control socket for as long as the group runs.
func serveDaemon(ctx context.Context, group *errgroup.Group, cfg *config.Config, holder control.Holder) error {
	socket, err := openSocket(ctx, cfg, holder)
	if err != nil {
		return err
	}
	group.Go(socket.serve)
	group.Go(func() error {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), controlGrace)
		defer cancel()
		socket.stop(grace)
		return nil
	})
	return nil
}

// socket is the open control socket.
type socket struct {
	listener net.Listener
	server   *http.Server
}

// openSocket listens; what is asked there is done under ctx.
func openSocket(ctx context.Context, cfg *config.Config, holder control.Holder) (*socket, error) {
	listener, err := control.Listen(stateDir(cfg))
	if err != nil {
		return nil, err
	}
	return &socket{listener: listener, server: &http.Server{Handler: control.Handler(ctx, holder), ReadHeaderTimeout: headerTimeout}}, nil
}

// serve answers until stop is called.
func (s *socket) serve() error {
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("control socket: %w", err)
	}
	return nil
}

// stop waits for the answers under way, until ctx ends.
func (s *socket) stop(ctx context.Context) {
	if s.server.Shutdown(ctx) != nil {
		s.server.Close()
	}
}
