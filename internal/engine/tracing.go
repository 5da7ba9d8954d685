package engine

import (
	"cmp"
	"context"
	"errors"

	"syncd/internal/metrics/tracing"
	"syncd/internal/report"
)

// traced does work in a trace of its own, whose ID the result has.
func traced[Request any](e *Engine, name string, do func(context.Context, Request) (report.Sync, error)) func(context.Context, Request) (report.Sync, error) {
	return func(ctx context.Context, req Request) (report.Sync, error) {
		ctx, span := e.options.Tracing.Begin(ctx, name)
		result, err := do(ctx, req)
		result.TraceID = tracing.ID(ctx)
		span.SetNumber(tracing.Generation, int64(result.Generation))
		span.End(cmp.Or(err, problemOf(result)))
		return result, err
	}
}

// problemOf is the first failure in a result, nil for none.
func problemOf(result report.Sync) error {
	if result.OK() {
		return nil
	}
	for _, m := range result.Manifests {
		if m.Error != "" {
			return errors.New(m.Name + ": " + m.Error)
		}
	}
	return errors.New("a view, an export or the publication failed")
}
