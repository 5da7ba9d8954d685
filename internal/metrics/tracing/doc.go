// Package tracing sends traces of syncs to a collector by OTLP over HTTP, with the
// exporter of OpenTelemetry. It is off unless the configuration or the standard OTEL_
// variables name a collector. While it is off, a span costs one look into the context.
//
// A span belongs to the context of the work that it covers. Start adds one below the span of
// its context, so the steps of a sync know nothing of exporters. A log line that gets the
// context has the ids of the trace.
//
// Sending never delays or fails a sync: spans wait in a queue, which drops what it cannot
// hold. Each text passes Config.Clean right before it is sent, so no span holds a secret.
// No request to the provider or to other hosts has headers of a trace.
package tracing
