package engine

import (
	"context"
	"time"

	"syncd/internal/golive"
)

// DestroyDue destroys what `destroy_after` and the upstream want gone, and goes on with
// destructions that have begun.
func (e *Engine) DestroyDue(ctx context.Context) {
	err := e.work(ctx, func() error {
		a := e.begin()
		defer e.finish(a)
		return golive.Destroyer{Tree: a.syncer.Tree()}.DestroyDue(ctx)
	})
	if err != nil && ctx.Err() == nil {
		e.options.Log.Error().Err(err).Msg("a destruction failed; the next attempt comes within a minute, or with the next sync")
	}
}

// NextDestruction is when DestroyDue may find something, the zero time for now.
func (e *Engine) NextDestruction() time.Time {
	return golive.Destroyer{Tree: e.active.Load().syncer.Tree()}.NextDue()
}
