//go:build linux

package doctor

import (
	"context"
	"net/http"
	"net/url"

	"syncd/internal/metrics/tracing"
)

// checkTraces sends the collector an empty list of spans. A collector that does not take it
// is a hint only, because syncs go on without traces.
func (s *setup) checkTraces(ctx context.Context) []Finding {
	environ := s.daemonEnv()
	collector, err := tracing.Collector(s.cfg.Tracing.Endpoint, environ)
	switch {
	case err != nil:
		return []Finding{hint("set the variable as the text says, or leave it out", "no traces are sent: %v", err)}
	case collector == nil:
		return []Finding{good("no collector of traces is configured")}
	}
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE"} {
		if environ(variable) != "" {
			return []Finding{skipped("the collector of traces at %s was not tried, because %s names its certificate", collector.Host, variable)}
		}
	}
	return []Finding{tryCollector(ctx, collector)}
}

func tryCollector(ctx context.Context, collector *url.URL) Finding {
	ctx, cancel := context.WithTimeout(ctx, netPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, collector.String(), http.NoBody)
	if err != nil {
		return hint("check tracing.endpoint", "the address of the collector of traces cannot be used")
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return hint("check the address, and that the collector runs; syncs do not need it", "the collector of traces at %s cannot be reached: %v", collector.Host, err)
	}
	res.Body.Close()
	switch res.StatusCode {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType:
		return hint("name the port for OTLP over http (usually 4318), without /v1/traces", "%s answers %d, and takes no traces there", collector.Host, res.StatusCode)
	}
	return good("the collector of traces at %s responds", collector.Host)
}
