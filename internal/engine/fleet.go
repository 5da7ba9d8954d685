package engine

import (
	"context"
	"errors"
	"slices"

	"syncd/internal/config"
	"syncd/internal/downstream/catalog"
	"syncd/internal/downstream/rings"
	"syncd/internal/manifest"
	"syncd/internal/metrics"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

var errNoFollowers = errors.New("no followers are served here: set serve.listen")

// openFleet reads what followers told before. Without serve there are none.
func (e *Engine) openFleet(cfg *config.Config) (err error) {
	if !cfg.Serve.IsOn() {
		return nil
	}
	e.fleet, err = rings.New(published{e.catalog}, e.store, e.options.Log)
	e.catalog.SetNeeded(func(*catalog.Snapshot) []*catalog.Revision { return e.needed() })
	return err
}

// needed are the revisions that rings need. They may be older than all that `retain` keeps.
func (e *Engine) needed() (revisions []*catalog.Revision) {
	if len(e.Config().Serve.Rings) == 0 {
		return nil
	}
	snapshot := e.Catalog().Snapshot() // a command without a server has none yet
	for _, name := range e.mirror.Current().Names() {
		releases := e.fleet.Needed(name)
		for _, r := range snapshot.Revisions(name) {
			if slices.Contains(releases, r.Release) {
				revisions = append(revisions, r)
			}
		}
	}
	return revisions
}

// Fleet is what is known of the followers; nil without serve.
func (e *Engine) Fleet() *rings.Fleet { return e.fleet }

// RunFleet saves what followers tell until the context ends.
func (e *Engine) RunFleet(ctx context.Context) {
	if e.fleet != nil {
		e.fleet.Run(ctx)
	}
}

// FleetStatus shows the followers.
func (e *Engine) FleetStatus() (report.FleetStatus, error) {
	if e.fleet == nil {
		return report.FleetStatus{}, errNoFollowers
	}
	return e.fleet.Status(), nil
}

// FleetOnDisk is FleetStatus when no engine is running; state is nil when there is no state
// database.
func FleetOnDisk(cfg *config.Config, m *mirror.Mirror, state report.StateReader) (report.FleetStatus, error) {
	if !cfg.Serve.IsOn() {
		return report.FleetStatus{}, errNoFollowers
	}
	return rings.Read(current{m}, state, ringsOf(cfg))
}

// serveRelease lets a release go on to the rings that do not see it because hosts refused
// it. It returns the stops that it ended.
func (e *Engine) serveRelease(ctx context.Context, req request.ServeRelease) (ended []report.Stop, err error) {
	if e.fleet == nil {
		return nil, errNoFollowers
	}
	err = e.work(ctx, func() error {
		e.Catalog() // a command without a server has none yet
		ended, err = e.fleet.Approve(manifest.Release(req.Release))
		return err
	})
	if err == nil {
		e.options.Log.Info().Str("release", req.Release).Int("stopped", len(ended)).Msg("later rings see the release after their delay, whatever hosts say of it")
	}
	return ended, err
}

func ringsOf(cfg *config.Config) (all []rings.Ring) {
	for _, r := range cfg.Serve.Rings {
		all = append(all, rings.Ring(r))
	}
	return all
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

// published is the catalog as a fleet needs it.
type published struct{ catalog *catalog.Catalog }

func (p published) Manifests() []string { return p.catalog.Snapshot().Entries() }

// Published leaves out what is newer than the served release: a rollback left it.
func (p published) Published(name string) (string, []rings.Published) {
	var releases []rings.Published
	revisions := p.catalog.Snapshot().Revisions(name)
	for _, r := range revisions {
		isKnown := slices.ContainsFunc(releases, func(known rings.Published) bool { return known.Release == r.Release })
		if name = r.Manifest; !isKnown && !r.Release.Newer(revisions[0].Release) {
			releases = append(releases, rings.Published{Release: r.Release, LiveAt: r.LiveAt})
		}
	}
	return name, releases
}

// current is a catalog of what `current` shows, when no engine is running.
type current struct{ mirror *mirror.Mirror }

func (c current) Manifests() []string { return c.mirror.Current().Names() }

func (c current) Published(name string) (string, []rings.Published) {
	record, served := c.mirror.Current().Records[name]
	if !served {
		return name, nil
	}
	return name, []rings.Published{{Release: record.Release, LiveAt: record.PublishedAt}}
}
