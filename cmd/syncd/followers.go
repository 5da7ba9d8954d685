//go:build linux

package main

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"syncd/internal/config"
	"syncd/internal/downstream/serve"
	"syncd/internal/engine"
	"syncd/internal/host/rate"
	"syncd/internal/httpserver"
	"syncd/internal/metrics"
)

// followers are the files and limits of the server for followers. A nil one is no server.
type followers struct {
	webConfig *httpserver.WebConfig
	ids       *serve.IDs
	budget    *rate.Budget
	name      func(ids map[string]string) // tells who may follow; nil before serve
}

// openFollowers reads serve.web_config, unless there is no server.
func openFollowers(cfg *config.Config) (*followers, error) {
	if !cfg.Serve.IsOn() {
		return nil, nil
	}
	webConfig, err := httpserver.OpenWebConfig(cfg.Serve.WebConfig)
	if err == nil && webConfig.HasUsers() {
		err = errors.Join(errors.New("has basic_auth_users, but followers show an id and no password"), webConfig.Close())
	}
	if err != nil {
		return nil, serveConfigError(cfg, err)
	}
	return &followers{webConfig: webConfig, budget: rate.NewBudget(cfg.Serve.Bandwidth)}, nil
}

func serveConfigError(cfg *config.Config, err error) error {
	if err == nil {
		return nil
	}
	return cfg.At("serve.web_config").Error(cfg.Path, err.Error(), "correct the file, or leave the key out for plain http")
}

// openIDs reads the ids and checks the files that are read again later. It must run as the
// user who does that.
func (f *followers) openIDs(cfg *config.Config) error {
	if f == nil {
		return nil
	}
	if err := f.webConfig.CheckFiles(); err != nil {
		return serveConfigError(cfg, err)
	}
	if cfg.Serve.IDsFile == "" {
		return nil
	}
	ids, err := serve.OpenIDs(cfg.Serve.IDsFile)
	if err != nil {
		return cfg.At("serve.ids_file").Error(cfg.Path, strings.TrimPrefix(err.Error(), "serve.ids_file: "), "")
	}
	f.ids = ids
	return nil
}

// Close closes the copy of web_config.
func (f *followers) Close() error {
	if f == nil {
		return nil
	}
	return f.webConfig.Close()
}

// reload puts changed files and another bandwidth in force. After an error the old files
// stay in force.
func (f *followers) reload(cfg *config.Config, log zerolog.Logger) {
	if f == nil {
		return
	}
	f.budget.Set(cfg.Serve.Bandwidth)
	if err := f.webConfig.Reload(); err != nil {
		log.Error().Err(err).Msg(httpserver.NotReloaded("serve"))
	}
	if err := f.ids.Reload(); err != nil {
		log.Error().Err(err).Msg("serve.ids_file not reloaded: the old ids stay in force")
	}
	if f.name != nil {
		f.name(f.ids.Rings())
	}
}

// serve answers followers for as long as the group runs.
func (f *followers) serve(ctx context.Context, group *errgroup.Group, cfg *config.Config, e *engine.Engine, registry prometheus.Registerer, log zerolog.Logger) error {
	if f == nil {
		return nil
	}
	listener, err := net.Listen("tcp", cfg.Serve.Listen)
	if err != nil {
		return listenError("serve.listen", err)
	}
	log.Info().Stringer("address", listener.Addr()).Msg("serving followers")
	f.name = e.Followers.Name
	f.name(f.ids.Rings())
	editions, err := e.Followers.Generations()
	if err != nil {
		return err
	}
	service := serve.New(serve.Config{
		Catalog: e.Followers.Catalog(), Generations: editions, PublicURL: cfg.Serve.PublicURL.String(), IDParam: cfg.Source.CustomerIDParam,
		IDs: f.ids, Bandwidth: f.budget, Patches: e.Patches.Store(), Asker: serve.ByFleet(e.Followers.Fleet()), Order: e.Followers.Order, Observe: metrics.NewServe(registry).Request,
	})
	group.Go(func() error {
		return serve.Serve(ctx, listener, service, httpserver.Options{
			WebConfig: f.webConfig, Hosts: []string{cfg.Serve.PublicURL.Hostname()}, Section: "serve", HostsKey: "serve.public_url", Log: slogTo(log),
		})
	})
	return nil
}
