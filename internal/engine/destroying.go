package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"syncd/internal/engine/orders"
	"syncd/internal/golive/destroyer"
	"syncd/internal/manifest/destruction"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

// Destruction destroys what is due, and what an operator names.
type Destruction struct{ engine *Engine }

// by destroys revisions by one configuration.
func (d Destruction) by(a *active) destroyer.Destroyer {
	return destroyer.Destroyer{Tree: a.syncer.Tree(), Schedule: &d.engine.destructions}
}

// ordersOf are what followers of this host must destroy.
func ordersOf(b *base) *orders.Orders {
	return orders.New(orders.Config{
		Mirror: b.mirror, Manifests: func() (map[string]store.Manifest, error) { return b.store.Manifests() },
		Config: b.Config, Warn: func(message string, err error) { b.options.Log.Warn().Err(err).Msg(message) },
	})
}

// Due destroys what `destroy_after` and the upstream want gone, and goes on with
// destructions that have begun.
func (d Destruction) Due(ctx context.Context) {
	err := d.engine.work(ctx, func() error {
		a := d.engine.begin()
		defer d.engine.finish(a)
		return d.by(a).DestroyDue(ctx)
	})
	if err != nil && ctx.Err() == nil {
		d.engine.options.Log.Error().Err(err).Msg("a destruction failed; the next attempt comes within a minute, or with the next sync")
	}
}

// OnTime is Due outside of a sync: the bucket follows at once.
func (d Destruction) OnTime(ctx context.Context) {
	e := d.engine
	before := e.orders.Gone()
	d.Due(ctx)
	if !maps.EqualFunc(before, e.orders.Gone(), slices.Equal[[]destruction.Gone]) {
		if done := e.Uploads.UploadDestroyed(ctx); done != nil && done.Error != "" {
			e.options.Log.Error().Str("error", done.Error).Msg("removing what was destroyed from the bucket failed; the next sync tries again")
		}
	}
}

// command does what `syncd destroy` asks for. The bucket follows at once.
func (d Destruction) command(ctx context.Context, a *active, req request.Destroy) (report.DestroyResult, error) {
	result, err := d.by(a).Command(ctx, req)
	if !req.DryRun && len(result.Destroyed) > 0 {
		result.Upload = d.engine.Uploads.UploadDestroyed(ctx)
	}
	return result, err
}

// Next is when Due may find something, the zero time for now.
func (d Destruction) Next() time.Time {
	return d.by(d.engine.active.Load()).NextDue()
}
