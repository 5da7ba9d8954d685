package tracing

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// logEvery is the least time between two log lines about a collector that fails.
const logEvery = time.Hour

// sender passes clean spans on. A collector that fails is logged once, until it has worked
// again. Safe for concurrent use.
type sender struct {
	to    sdk.SpanExporter
	at    *url.URL // the collector
	clean func(string) string
	log   zerolog.Logger

	mu       sync.Mutex // guards what follows
	isTold   bool       // the last line in the log says that the collector fails
	loggedAt time.Time
}

// ExportSpans implements sdk.SpanExporter. It returns no error, because the library would
// write each one to its own log.
func (s *sender) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	clean := make([]sdk.ReadOnlySpan, len(spans))
	for i, span := range spans {
		clean[i] = cleanSpan{span, s.clean}
	}
	s.note(s.to.ExportSpans(ctx, clean))
	return nil
}

// Shutdown implements sdk.SpanExporter.
func (s *sender) Shutdown(ctx context.Context) error { return s.to.Shutdown(ctx) }

// note logs the first failure, and that the collector works again.
func (s *sender) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	switch {
	case err == nil && s.isTold:
		s.isTold = false
		s.log.Info().Msg("traces reach the collector again")
	case err != nil && !s.isTold && (s.loggedAt.IsZero() || now.Sub(s.loggedAt) >= logEvery):
		s.isTold, s.loggedAt = true, now
		s.log.Warn().Str("error", s.clean(s.withoutURL(err))).Msg("the collector of traces cannot be reached; syncs go on without traces")
	}
}

// withoutURL removes the address of the collector, whose path may hold a token, from an error
// of net/http or of the library.
func (s *sender) withoutURL(err error) string {
	if withURL, ok := errors.AsType[*url.Error](err); ok {
		err = withURL.Err
	}
	return strings.ReplaceAll(err.Error(), s.at.String(), s.at.Host)
}

// cleanSpan is a span whose texts are clean.
type cleanSpan struct {
	sdk.ReadOnlySpan
	clean func(string) string
}

// Attributes implements sdk.ReadOnlySpan.
func (s cleanSpan) Attributes() []attribute.KeyValue {
	return cleanAll(s.ReadOnlySpan.Attributes(), s.clean)
}

// Status implements sdk.ReadOnlySpan.
func (s cleanSpan) Status() sdk.Status {
	status := s.ReadOnlySpan.Status()
	status.Description = s.clean(status.Description)
	return status
}

func cleanAll(attributes []attribute.KeyValue, clean func(string) string) []attribute.KeyValue {
	cleaned := make([]attribute.KeyValue, len(attributes))
	for i, a := range attributes {
		if a.Value.Type() == attribute.STRING {
			a.Value = attribute.StringValue(clean(a.Value.AsString()))
		}
		cleaned[i] = a
	}
	return cleaned
}
