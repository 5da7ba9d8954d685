package tracing

import (
	"context"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// flushTime bounds the wait for the collector when the process ends.
const flushTime = 5 * time.Second

// scope is OpenTelemetry's name for the code that makes the spans.
const scope = "syncd"

// Config is what New needs.
type Config struct {
	Endpoint *url.URL            // of the configuration; nil for that of the environment
	Getenv   func(string) string // the exporter reads the process's own environment, too
	Version  string
	Clean    func(string) string // makes one printable line of a text, without secrets
	Log      zerolog.Logger
}

// Tracer begins traces. A nil Tracer is one that is off. Safe for concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	sent     *sender
}

// New returns nil if tracing is off. It sends nothing. A setting that cannot be followed
// turns tracing off with a line in the log: no sync fails for it. The caller must call
// Close.
func New(cfg Config) *Tracer {
	collector, err := Collector(cfg.Endpoint, cfg.Getenv)
	if err == nil && collector == nil {
		return nil
	}
	var t *Tracer
	if err == nil {
		t, err = connect(cfg, collector)
	}
	if err != nil {
		cfg.Log.Warn().Str("error", cfg.Clean(err.Error())).Msg("no traces are sent")
		return nil
	}
	return t
}

func connect(cfg Config, collector *url.URL) (*Tracer, error) {
	// The library has one place for its own problems, for all of a process. Without these
	// lines it writes them to stderr, beside the log.
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		cfg.Log.Warn().Str("error", cfg.Clean(err.Error())).Msg("a setting of OpenTelemetry cannot be used")
	}))
	exporter, err := otlptracehttp.New(context.Background(), otlptracehttp.WithEndpointURL(collector.String()))
	if err != nil {
		return nil, err
	}
	// Only what the operator set and syncd's own name: the command line may hold a secret.
	about, err := resource.New(context.Background(),
		resource.WithAttributes(attribute.String("service.name", "syncd"), attribute.String("service.version", cfg.Version)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if about == nil {
		return nil, err
	}
	s := &sender{to: exporter, at: collector, clean: cfg.Clean, log: cfg.Log}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(s), sdk.WithResource(about))
	return &Tracer{provider: provider, tracer: provider.Tracer(scope), sent: s}, nil
}

// Close sends what waits, for flushTime at most.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.sent.note(err)
	}
}
