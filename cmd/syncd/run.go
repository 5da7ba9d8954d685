//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config"
	"syncd/internal/daemon"
	"syncd/internal/daemon/signals"
	"syncd/internal/engine/operation"
	"syncd/internal/httpserver"
	"syncd/internal/ui/control"
	"syncd/internal/ui/web"
)

func runCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "run", Short: "Run the daemon: sync by schedule and on signals", Args: cli.Arguments(0, 0),
		Long: `Run the daemon. It syncs at start and then by schedule.

SIGUSR1 syncs now, or after the running sync. SIGHUP reloads the configuration. If
it has errors, they are logged and the old one stays in force. Added and changed
manifests sync at once. A removed one stays served until 'syncd forget', or leaves at
once with 'removed: drop'.
SIGTERM and SIGINT stop the daemon; its next start continues unfinished downloads.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDaemon(cmd.Context(), a) },
	}
}

// runDaemon builds the daemon from its parts and runs it until a signal ends it.
func runDaemon(ctx context.Context, a *cli.App) error {
	a.IsDaemon = true
	log := a.Logger(zerolog.InfoLevel)
	stdlog.SetOutput(cli.NewLibraryLog(a.Secrets, func(line []byte) { log.Warn().Msg(string(bytes.TrimSpace(line))) }))
	a.Secrets.Warn = func(message string) { log.Warn().Msg(message) }
	cfg, webConfig, followers, err := readSettings(a, log)
	if err != nil {
		return err
	}
	defer webConfig.Close()
	defer followers.Close()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	e, err := a.OpenEngine(cfg, log, registry)
	if err != nil {
		return err
	}
	defer e.Close() // waits for a sync that a command asked for
	d := daemon.New(e, func() (*config.Config, error) { return reload(a, webConfig, followers, log) }, log)

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	if err := serveControl(ctx, group, cfg, d.Operations()); err != nil {
		return err
	}
	if err := serveWeb(ctx, group, cfg.HTTP, webConfig, web.Handler(d, registry), log); err != nil {
		return err
	}
	if err := followers.serve(ctx, group, cfg, e, registry, log); err != nil {
		return err
	}
	group.Go(func() error { return d.Run(ctx, signals.Catch()) })
	log.Info().Str("version", version()).Str("data_dir", cfg.DataDir).Int("manifests", len(cfg.Manifests)).Msg("started")
	if err := group.Wait(); err != nil {
		return err
	}
	log.Info().Msg("stopped")
	return nil
}

// readSettings reads the configuration, the secrets, http.web_config and the files of serve as
// the user who started syncd. Then it becomes the owner of the data directory.
func readSettings(a *cli.App, log zerolog.Logger) (*config.Config, *httpserver.WebConfig, *followers, error) {
	cfg, err := loadAndLog(a, log)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := a.ReadSecrets(cfg); err != nil {
		return nil, nil, nil, err
	}
	webConfig, err := openWebConfig(cfg)
	if err != nil {
		return nil, nil, nil, err
	}
	followers, err := openFollowers(cfg)
	if err == nil {
		err = cli.BecomeOwner(cfg.DataDir)
	}
	if err == nil {
		err = webConfigError(cfg, webConfig.CheckFiles())
	}
	if err == nil {
		err = followers.openIDs(cfg)
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, webConfig.Close(), followers.Close())
	}
	return cfg, webConfig, followers, nil
}

// reload reads the configuration again, and the files of the servers, which would notice a
// change only later.
func reload(a *cli.App, webConfig *httpserver.WebConfig, followers *followers, log zerolog.Logger) (*config.Config, error) {
	cfg, err := loadAndLog(a, log)
	if err == nil {
		err = cli.CheckPrograms(cfg)
	}
	if err != nil {
		return nil, err
	}
	if err := webConfig.Reload(); err != nil {
		log.Error().Err(err).Msg(httpserver.NotReloaded("http"))
	}
	followers.reload(cfg, log)
	return cfg, nil
}

// loadAndLog is load for a daemon: it logs warnings and notes.
func loadAndLog(a *cli.App, log zerolog.Logger) (*config.Config, error) {
	cfg, err := a.Load()
	if err != nil {
		return nil, err
	}
	for _, line := range cfg.Warnings() {
		log.Warn().Msg(line)
	}
	for _, line := range cfg.Notes() {
		log.Info().Msg(line)
	}
	return cfg, nil
}

// openWebConfig reads http.web_config, unless there is no server.
func openWebConfig(cfg *config.Config) (*httpserver.WebConfig, error) {
	if cfg.HTTP.Listen == "" {
		return nil, nil
	}
	webConfig, err := httpserver.OpenWebConfig(cfg.HTTP.WebConfig)
	return webConfig, webConfigError(cfg, err)
}

func webConfigError(cfg *config.Config, err error) error {
	if err == nil {
		return nil
	}
	return cfg.At("http.web_config").Error(cfg.Path, err.Error(), `correct the file, or leave the key out for plain http without passwords`)
}

// serveWeb listens for metrics and the API, unless http.listen is empty.
func serveWeb(ctx context.Context, group *errgroup.Group, cfg config.HTTP, webConfig *httpserver.WebConfig, handler http.Handler, log zerolog.Logger) error {
	if cfg.Listen == "" {
		return nil
	}
	listener, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return listenError("http.listen", err)
	}
	log.Info().Stringer("address", listener.Addr()).Msg("listening")
	group.Go(func() error {
		return httpserver.Serve(ctx, listener, handler, httpserver.Options{WebConfig: webConfig, Hosts: cfg.Names(), Section: "http", HostsKey: "http.hosts", Log: slogTo(log)})
	})
	return nil
}

// listenError adds what to do about an address that cannot be used.
func listenError(key string, err error) error {
	next := "choose another address"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		next = "stop the program that `ss -ltnp` shows there, or choose another address"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		next = "choose an address that `ip address` shows, or a port alone"
	case errors.Is(err, syscall.EACCES):
		next = "choose a port from 1024 on"
	}
	return fmt.Errorf("%s: %w: %s", key, err, next)
}

// slogTo passes the log of the web toolkit on to log.
func slogTo(log zerolog.Logger) *slog.Logger {
	return slog.New(zerolog.NewSlogHandler(log.Level(zerolog.WarnLevel)))
}

// controlGrace is how long a stopping daemon waits for running answers.
const controlGrace = time.Second

// serveControl opens the control socket for as long as the group runs.
func serveControl(ctx context.Context, group *errgroup.Group, cfg *config.Config, t *operation.Table) error {
	server, err := control.NewServer(ctx, cli.StateDir(cfg), t)
	if err != nil {
		return err
	}
	group.Go(server.Serve)
	group.Go(func() error {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), controlGrace)
		defer cancel()
		server.Stop(grace)
		return nil
	})
	return nil
}
