package tracing

import (
	"fmt"
	"net/url"
	"strings"
)

// TracesPath is where a collector takes traces, below the base of its address.
const TracesPath = "v1/traces"

// The standard variables that switch tracing on and off. The exporter reads the others.
const (
	baseVariable     = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesVariable   = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	disabledVariable = "OTEL_SDK_DISABLED"
	exporterVariable = "OTEL_TRACES_EXPORTER"
	protocolVariable = "OTEL_EXPORTER_OTLP_PROTOCOL"

	tracesProtocolVariable = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
)

// Collector returns the address that takes the traces, nil while tracing is off. endpoint is
// the base address of the configuration, nil for none; it comes before that of the
// environment. The error says why the variables cannot be followed: tracing is off then.
func Collector(endpoint *url.URL, getenv func(string) string) (*url.URL, error) {
	isWanted := endpoint != nil || getenv(baseVariable) != "" || getenv(tracesVariable) != ""
	if !isWanted || strings.EqualFold(getenv(disabledVariable), "true") {
		return nil, nil
	}
	switch exporter := getenv(exporterVariable); exporter {
	case "", "otlp":
	case "none":
		return nil, nil
	default:
		return nil, fmt.Errorf("%s names another exporter than otlp: leave it out", exporterVariable)
	}
	for _, variable := range []string{protocolVariable, tracesProtocolVariable} {
		if getenv(variable) == "grpc" {
			return nil, fmt.Errorf("%s is grpc, and syncd speaks http/protobuf: set it to http/protobuf, and the port of that (usually 4318)", variable)
		}
	}
	if endpoint != nil {
		return endpoint.JoinPath(TracesPath), nil
	}
	if text := getenv(tracesVariable); text != "" {
		return address(tracesVariable, text)
	}
	base, err := address(baseVariable, getenv(baseVariable))
	if err != nil {
		return nil, err
	}
	return base.JoinPath(TracesPath), nil
}

// address does not repeat the text, which may hold a password.
func address(variable, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("%s is no http or https address: use a form such as http://127.0.0.1:4318", variable)
	}
	return u, nil
}
