package engine

import (
	"context"
	"errors"

	"syncd/internal/config"
	"syncd/internal/fleet"
	"syncd/internal/manifest"
	"syncd/internal/metrics"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/request"
)

var errNoFollowers = errors.New("no followers are served here: set serve.listen")

// openFleet reads what followers told before. Without serve there are none.
func (e *Engine) openFleet(cfg *config.Config) (err error) {
	if cfg.Serve.IsOn() {
		e.fleet, err = fleet.New(current{e.mirror}, e.store, e.options.Log)
	}
	return err
}

// Fleet is what is known of the followers; nil without serve.
func (e *Engine) Fleet() *fleet.Fleet { return e.fleet }

// RunFleet saves what followers tell until the context ends.
func (e *Engine) RunFleet(ctx context.Context) {
	if e.fleet != nil {
		e.fleet.Run(ctx)
	}
}

// FleetView shows the followers.
func (e *Engine) FleetView() (fleet.View, error) {
	if e.fleet == nil {
		return fleet.View{}, errNoFollowers
	}
	return e.fleet.View(), nil
}

// FleetOnDisk is FleetView when no engine is running; state is nil when there is no state
// database.
func FleetOnDisk(cfg *config.Config, m *mirror.Mirror, state report.StateReader) (fleet.View, error) {
	if !cfg.Serve.IsOn() {
		return fleet.View{}, errNoFollowers
	}
	return fleet.Read(current{m}, state, ringsOf(cfg))
}

// ServeRelease lets a release go on to the rings that do not see it because hosts refused
// it. It returns the stops that it ended.
func (e *Engine) ServeRelease(ctx context.Context, req request.ServeRelease) (ended []fleet.Stop, err error) {
	if e.fleet == nil {
		return nil, errNoFollowers
	}
	err = e.work(ctx, func() error {
		ended, err = e.fleet.Approve(manifest.Release(req.Release))
		return err
	})
	if err == nil {
		e.options.Log.Info().Str("release", req.Release).Int("stopped", len(ended)).Msg("later rings see the release after their delay, whatever hosts say of it")
	}
	return ended, err
}

func ringsOf(cfg *config.Config) (rings []fleet.Ring) {
	for _, r := range cfg.Serve.Rings {
		rings = append(rings, fleet.Ring(r))
	}
	return rings
}

// fleetMetrics is what the metrics show of the followers.
func (e *Engine) fleetMetrics() (shown metrics.Fleet) {
	if e.fleet == nil {
		return shown
	}
	for c, hosts := range e.fleet.Counts() {
		shown.Hosts = append(shown.Hosts, metrics.FleetHosts{Ring: c.Ring, Release: c.Release, State: string(c.State), Hosts: hosts})
	}
	shown.Stopped = e.fleet.Stopped()
	return shown
}

// current is a catalog of what `current` shows.
type current struct{ mirror *mirror.Mirror }

func (c current) Manifests() []string { return c.mirror.Current().Names() }

func (c current) Published(name string) (string, []fleet.Published) {
	record, served := c.mirror.Current().Records[name]
	if !served {
		return name, nil
	}
	return name, []fleet.Published{{Release: record.Release, LiveAt: record.PublishedAt}}
}
