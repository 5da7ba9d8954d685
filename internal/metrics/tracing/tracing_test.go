package tracing_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"syncd/internal/metrics/tracing"
)

func environment(set map[string]string) func(string) string {
	return func(name string) string { return set[name] }
}

func TestWhereTracesGo(t *testing.T) {
	const base, direct = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	configured, _ := url.Parse("https://c/base")
	for name, row := range map[string]struct {
		endpoint *url.URL
		set      map[string]string
		want     string // "" for off
		problem  string
	}{
		"off":                    {},
		"configured":             {endpoint: configured, want: "https://c/base/v1/traces"},
		"base":                   {set: map[string]string{base: "http://e:4318/"}, want: "http://e:4318/v1/traces"},
		"direct":                 {set: map[string]string{base: "http://e:4318", direct: "http://d/x"}, want: "http://d/x"},
		"configuration first":    {endpoint: configured, set: map[string]string{direct: "http://d/x"}, want: "https://c/base/v1/traces"},
		"disabled":               {endpoint: configured, set: map[string]string{"OTEL_SDK_DISABLED": "TRUE"}},
		"not disabled":           {endpoint: configured, set: map[string]string{"OTEL_SDK_DISABLED": "1"}, want: "https://c/base/v1/traces"},
		"none":                   {endpoint: configured, set: map[string]string{"OTEL_TRACES_EXPORTER": "none"}},
		"otlp":                   {endpoint: configured, set: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, want: "https://c/base/v1/traces"},
		"console":                {endpoint: configured, set: map[string]string{"OTEL_TRACES_EXPORTER": "console"}, problem: "OTEL_TRACES_EXPORTER"},
		"grpc":                   {endpoint: configured, set: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, problem: "4318"},
		"grpc elsewhere":         {set: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}},
		"no scheme":              {set: map[string]string{base: "user:s3cret@collector:4317"}, problem: base},
		"unusable, but disabled": {set: map[string]string{base: ":", "OTEL_SDK_DISABLED": "true"}},
	} {
		got, err := tracing.Collector(row.endpoint, environment(row.set))
		text := ""
		if got != nil {
			text = got.String()
		}
		switch {
		case text != row.want || (err != nil) != (row.problem != ""):
			t.Errorf("%s: %q, %v", name, text, err)
		case err != nil && (!strings.Contains(err.Error(), row.problem) || strings.Contains(err.Error(), "s3cret")):
			t.Errorf("%s: %v", name, err)
		}
	}
}

// collect runs a server that keeps what it gets.
func collect(t *testing.T) (address *url.URL, got *collectorpb.ExportTraceServiceRequest) {
	got = &collectorpb.ExportTraceServiceRequest{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = proto.Unmarshal(body, got)
		}
		if err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	address, _ = url.Parse(server.URL)
	return address, got
}

func newTracer(address *url.URL, log io.Writer) *tracing.Tracer {
	return tracing.New(tracing.Config{
		Endpoint: address, Getenv: environment(nil), Log: zerolog.New(log),
		Clean: func(text string) string { return strings.ReplaceAll(text, "s3cret", "[redacted]") },
	})
}

func TestNoSpanHoldsASecret(t *testing.T) {
	address, got := collect(t)
	tracer := newTracer(address, io.Discard)
	ctx, root := tracer.Begin(t.Context(), "sync")
	_, span := tracing.Start(ctx, "file", "s3cret")
	span.Set(tracing.Path, "dir/s3cret.dat")
	span.End(io.EOF)
	root.End(errorText("GET /x?id=s3cret: no route"))
	tracer.Close()
	if text := got.String(); strings.Contains(text, "s3cret") || !strings.Contains(text, "dir/[redacted].dat") || !strings.Contains(text, "id=[redacted]: no route") {
		t.Error(text)
	}
}

type errorText string

func (e errorText) Error() string { return string(e) }

func TestAResumedSpanBelongsToItsTrace(t *testing.T) {
	address, got := collect(t)
	tracer := newTracer(address, io.Discard)
	ctx, root := tracer.Begin(t.Context(), "sync")
	parent := tracing.Parent(ctx)
	root.End(nil)
	later, span := tracer.Resume(context.Background(), parent, "hook", "m")
	span.End(nil)
	for _, text := range []string{"", "nonsense", parent + "x"} {
		if _, none := tracer.Resume(context.Background(), text, "hook", "m"); none != nil {
			t.Errorf("resumed %q", text)
		}
	}
	if tracing.ID(later) != tracing.ID(ctx) || tracing.ID(ctx) == "" {
		t.Errorf("trace %s, want %s", tracing.ID(later), tracing.ID(ctx))
	}
	tracer.Close()
	if n := len(got.ResourceSpans[0].ScopeSpans[0].Spans); n != 2 {
		t.Errorf("%d spans", n)
	}
}

func TestLogLinesNameTheTrace(t *testing.T) {
	address, _ := collect(t)
	tracer := newTracer(address, io.Discard)
	defer tracer.Close()
	ctx, root := tracer.Begin(t.Context(), "sync")
	defer root.End(nil)
	var text strings.Builder
	log := tracing.Log(zerolog.New(&text))
	log.Info().Msg("apart")
	log.Info().Ctx(ctx).Msg("within")
	apart, within, _ := strings.Cut(text.String(), "\n")
	if strings.Contains(apart, "trace_id") || !strings.Contains(within, `"trace_id":"`+tracing.ID(ctx)+`"`) {
		t.Error(text.String())
	}
}

// BenchmarkOff is the cost of a span while tracing is off: of each question and each file.
func BenchmarkOff(b *testing.B) {
	type key struct{}
	ctx := context.WithValue(context.WithValue(b.Context(), key{}, 1), key{}, 2)
	b.ReportAllocs()
	for b.Loop() {
		ctx, span := tracing.Start(ctx, "file", "m")
		span.Set(tracing.Path, "path")
		span.End(ctx.Err())
	}
}

// BenchmarkOn is the cost of a span that is sent to a collector.
func BenchmarkOn(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	address, _ := url.Parse(server.URL)
	tracer := newTracer(address, io.Discard)
	defer tracer.Close()
	ctx, root := tracer.Begin(b.Context(), "sync")
	defer root.End(nil)
	b.ReportAllocs()
	for b.Loop() {
		_, span := tracing.Start(ctx, "file", "m")
		span.Set(tracing.Path, "path")
		span.End(nil)
	}
}

func TestTheLogHoldsNoPathOfTheCollector(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"refuses": func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusUnauthorized) },
		"circle": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		},
		"breaks": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		server := httptest.NewServer(answer)
		address, _ := url.Parse(server.URL + "/t0ken/")
		var log strings.Builder
		tracer := newTracer(address, &log)
		_, root := tracer.Begin(t.Context(), "sync")
		root.End(nil)
		tracer.Close()
		server.Close()
		if text := log.String(); !strings.Contains(text, "collector") || strings.Contains(text, "t0ken") {
			t.Errorf("%s: %s", name, text)
		}
	}
}
