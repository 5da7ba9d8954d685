package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"syncd/internal/golive/destroyer"
	"syncd/internal/manifest/destruction"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// destroyer destroys revisions by one configuration.
func (e *Engine) destroyer(a *active) destroyer.Destroyer {
	return destroyer.Destroyer{Tree: a.syncer.Tree(), Schedule: &e.destructions}
}

// DestroyDue destroys what `destroy_after` and the upstream want gone, and goes on with
// destructions that have begun.
func (e *Engine) DestroyDue(ctx context.Context) {
	err := e.work(ctx, func() error {
		a := e.begin()
		defer e.finish(a)
		return e.destroyer(a).DestroyDue(ctx)
	})
	if err != nil && ctx.Err() == nil {
		e.options.Log.Error().Err(err).Msg("a destruction failed; the next attempt comes within a minute, or with the next sync")
	}
}

// DestroyOnTime is DestroyDue outside of a sync: the bucket follows at once.
func (e *Engine) DestroyOnTime(ctx context.Context) {
	before := e.orders.gone()
	e.DestroyDue(ctx)
	if !maps.EqualFunc(before, e.orders.gone(), slices.Equal[[]destruction.Gone]) {
		if done := e.uploads.uploadDestroyed(ctx); done != nil && done.Error != "" {
			e.options.Log.Error().Str("error", done.Error).Msg("removing what was destroyed from the bucket failed; the next sync tries again")
		}
	}
}

// destroy does what `syncd destroy` asks for. The bucket follows at once.
func (e *Engine) destroy(a *active, ctx context.Context, req request.Destroy) (report.DestroyResult, error) {
	result, err := e.destroyer(a).Command(ctx, req)
	if !req.DryRun && len(result.Destroyed) > 0 {
		result.Upload = e.uploads.uploadDestroyed(ctx)
	}
	return result, err
}

// NextDestruction is when DestroyDue may find something, the zero time for now.
func (e *Engine) NextDestruction() time.Time {
	return e.destroyer(e.active.Load()).NextDue()
}
