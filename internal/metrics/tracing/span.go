package tracing

import (
	"context"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The attributes of spans.
const (
	Manifest   = "syncd.manifest"
	Release    = "syncd.release"
	Result     = "syncd.result"
	Reason     = "syncd.reason" // of a refusal
	Trigger    = "syncd.trigger"
	Generation = "syncd.generation"
	Endpoint   = "syncd.endpoint" // of the provider
	Path       = "syncd.path"     // of a file in its manifest
	Bytes      = "syncd.bytes"
	Hook       = "syncd.hook"
	Event      = "syncd.event"
	Status     = "http.response.status_code"
	Resends    = "http.request.resend_count"
)

// Span is a piece of work in a trace. All methods of a nil Span do nothing, so work that is
// not traced needs no case of its own. The caller must call End.
type Span struct{ span trace.Span }

// Begin begins a trace.
func (t *Tracer) Begin(ctx context.Context, name string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	return begin(ctx, t.tracer, name, "", trace.WithNewRoot())
}

// Start begins a span below that of ctx, if there is one, and gives it the manifest unless
// that is "".
func Start(ctx context.Context, name, manifest string) (context.Context, *Span) {
	above := trace.SpanFromContext(ctx)
	if !above.IsRecording() {
		return ctx, nil
	}
	return begin(ctx, above.TracerProvider().Tracer(scope), name, manifest)
}

// Resume begins a span below one of an earlier time, whose text Parent returned.
func (t *Tracer) Resume(ctx context.Context, parent, name, manifest string) (context.Context, *Span) {
	if t == nil || parent == "" {
		return ctx, nil
	}
	above := Within(ctx, parent)
	if !trace.SpanContextFromContext(above).IsSampled() {
		return ctx, nil
	}
	return begin(above, t.tracer, name, manifest)
}

// Within returns ctx for log lines about a span of an earlier time, whose text Parent
// returned.
func Within(ctx context.Context, parent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{parentKey: parent})
}

func begin(ctx context.Context, tracer trace.Tracer, name, manifest string, options ...trace.SpanStartOption) (context.Context, *Span) {
	ctx, span := tracer.Start(ctx, name, options...)
	s := &Span{span}
	if manifest != "" {
		s.Set(Manifest, manifest)
	}
	return ctx, s
}

const parentKey = "traceparent"

// Parent is the span of ctx as a text for Resume, "" for none.
func Parent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[parentKey]
}

// ID is the trace of ctx, "" for none.
func ID(ctx context.Context) string {
	if of := trace.SpanContextFromContext(ctx); of.IsValid() {
		return of.TraceID().String()
	}
	return ""
}

// Of returns the span of ctx.
func Of(ctx context.Context) *Span {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		return &Span{span}
	}
	return nil
}

// In returns ctx with the span, so that spans of work with it stand below.
func (s *Span) In(ctx context.Context) context.Context {
	if s == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, s.span)
}

// Set sets an attribute to a text.
func (s *Span) Set(key, value string) {
	if s != nil {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// SetNumber sets an attribute to a number.
func (s *Span) SetNumber(key string, value int64) {
	if s != nil {
		s.span.SetAttributes(attribute.Int64(key, value))
	}
}

// End ends the span, with a failure unless err is nil.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, err.Error())
	}
	s.span.End()
}

// Log returns a logger whose lines have the ids of their context's trace.
func Log(log zerolog.Logger) zerolog.Logger { return log.Hook(ids{}) }

// ids adds the ids to log lines.
type ids struct{}

// Run implements zerolog.Hook.
func (ids) Run(e *zerolog.Event, _ zerolog.Level, _ string) {
	if of := trace.SpanContextFromContext(e.GetCtx()); of.IsValid() {
		e.Stringer("trace_id", of.TraceID()).Stringer("span_id", of.SpanID())
	}
}
