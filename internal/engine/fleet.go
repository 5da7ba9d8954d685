package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"syncd/internal/config"
	"syncd/internal/downstream/catalog"
	"syncd/internal/downstream/publisher"
	"syncd/internal/downstream/rings"
	"syncd/internal/engine/offer"
	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
	"syncd/internal/metrics"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/report/status"
)

var errNoFollowers = errors.New("no followers are served here: set serve.listen, or serve.rings beside publish.s3")

// openFleet reads what followers reported before. Without serve there are none.
func (f *Followers) openFleet(cfg *config.Config) (err error) {
	if !cfg.HasFleet() {
		return nil
	}
	f.fleet, err = rings.New(offer.Releases{Catalog: f.catalog, Orders: f.orders}, f.store, cfg.Serve.MaxHosts, f.options.Log)
	if err == nil {
		f.withhold()
	}
	f.catalog.SetNeeded(func(*catalog.Snapshot) []*catalog.Revision { return f.needed() })
	return err
}

// withhold keeps from followers what the upstream of this host shows it no more.
func (f *Followers) withhold() {
	if f.fleet == nil {
		return
	}
	all, err := offer.Withheld(f.store, f.mirror.Current())
	if err != nil {
		f.options.Log.Warn().Err(err).Msg("reading what the upstream shows no more failed; followers see it until the next sync")
		return
	}
	f.fleet.Withhold(all)
}

// needed are the revisions that rings need. They may be older than all that `retain` keeps.
func (f *Followers) needed() (revisions []*catalog.Revision) {
	if len(f.Config().Serve.Rings) == 0 {
		return nil
	}
	snapshot := f.Catalog().Snapshot() // a command without a server has none yet
	for _, name := range f.mirror.Current().Names() {
		needed := f.fleet.Needed(name)
		for _, r := range snapshot.Revisions(name) {
			if slices.Contains(needed, r.InRings().Version) {
				revisions = append(revisions, r)
			}
		}
	}
	return revisions
}

// servedTo is what the bucket shows to a ring, "" for all.
func (f *Followers) servedTo(ring string) publisher.Mirror {
	served := withheld{f.mirror, f.notes}
	if ring == "" {
		return served
	}
	return offer.Ringed{Mirror: served, Ring: ring, Catalog: f.Catalog, Fleet: func() *rings.Fleet { return f.fleet }, Revision: f.mirror.Records.Revision}
}

// Order is what followers must destroy of a manifest.
func (f *Followers) Order(name string) destruction.Order { return f.orders.Of(name) }

// Fleet is what is known of the followers; nil without serve.
func (f *Followers) Fleet() *rings.Fleet { return f.fleet }

// Run saves what followers tell until the context ends.
func (f *Followers) Run(ctx context.Context) {
	if f.fleet != nil {
		f.fleet.Run(ctx, f.tellWaiting)
	}
}

// tellWaiting adds the event for a ring that waits too long.
func (f *Followers) tellWaiting(w report.WaitingRing) error {
	current := f.mirror.Current()
	of := mirror.Record{Manifest: w.Manifest, Release: w.Release, Revision: w.Revision}
	return f.hooks.outbox.Add(f.hooks.outbox.Waiting(of, current.Number, w.Ring, w.Text(time.Now())))
}

// Page shows a part of the followers.
func (f *Followers) Page(req request.Fleet) (report.FleetPage, error) {
	if f.fleet == nil {
		return report.FleetPage{}, errNoFollowers
	}
	page := f.fleet.Page(req)
	if req.After == nil {
		page.Signed = f.signing.Signed(f.Generations)
	}
	return page, nil
}

// Overview counts the followers, and shows the first ones in the worst states; nil without
// serve.
func (f *Followers) Overview(most int) *report.FleetOverview {
	if f.fleet == nil {
		return nil
	}
	view := f.fleet.Overview(most)
	return &view
}

// FleetOnDisk is Followers.Page when no engine is running; state is nil when there is no state
// database.
func FleetOnDisk(cfg *config.Config, m *mirror.Mirror, state status.StateReader) (func(request.Fleet) (report.FleetPage, error), error) {
	if !cfg.HasFleet() {
		return nil, errNoFollowers
	}
	fleet, err := rings.Read(offer.Now{Mirror: m}, state, offer.RingsOf(cfg), cfg.Serve.MaxHosts)
	if err != nil {
		return nil, err
	}
	return func(req request.Fleet) (report.FleetPage, error) { return fleet.Page(req), nil }, nil
}

// release lets a release go on to the rings that do not see it because hosts refused
// it. It returns the stops that it ended.
func (f *Followers) release(ctx context.Context, req request.ServeRelease) (ended []report.Stop, err error) {
	if f.fleet == nil {
		return nil, errNoFollowers
	}
	err = f.work(ctx, func() error {
		f.Catalog() // a command without a server has none yet
		ended, err = f.fleet.Approve(manifest.Release(req.Release))
		return err
	})
	if err == nil {
		f.options.Log.Info().Str("release", req.Release).Int("stopped", len(ended)).Msg("later rings see the release after their delay, whatever hosts say of it")
	}
	return ended, err
}

// tell adds to the state of a manifest what an upstream must know of consumers and followers.
func (f *Followers) tell(name string, s rings.State) rings.State {
	return offer.Tell(f.notes, f.fleet, name, s)
}

// shown is what the metrics show of the followers.
func (f *Followers) shown() metrics.Fleet { return offer.Shown(f.Config(), f.fleet) }
