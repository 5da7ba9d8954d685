package syncer

import (
	"context"
	"errors"

	"syncd/internal/manifest/refusal"
	"syncd/internal/metrics/tracing"
)

// startSpan begins a span below that of the job.
func (j *job) startSpan(ctx context.Context, name string) (context.Context, *tracing.Span) {
	ctx, span := tracing.Start(j.span.In(ctx), name, j.target.Name)
	span.Set(tracing.Release, string(j.release))
	return ctx, span
}

// endSpan ends the span of the job with its outcome, if it has one.
func (j *job) endSpan() {
	e := j.ended()
	j.span.Set(tracing.Release, string(j.release))
	j.span.Set(tracing.Result, string(e.result))
	if reason := refusal.ReasonOf(e.err); reason != "" {
		j.span.Set(tracing.Reason, string(reason))
	}
	j.span.End(e.err)
}

// traced takes a step in a span of its own. The end of a job without a failure is no failure
// of the step.
func (a asking) traced(ctx context.Context, name string, step func(context.Context) error) error {
	ctx, span := tracing.Start(ctx, name, a.job.target.Name)
	err := step(ctx)
	span.Set(tracing.Release, string(a.job.release))
	failure := err
	if e, ok := errors.AsType[*end](err); ok {
		failure = e.err
	}
	span.End(failure)
	return err
}
