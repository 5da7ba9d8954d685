package config

import (
	"net/url"

	"syncd/internal/clients/origin"
	"syncd/internal/config/document"
	"syncd/internal/config/value"
)

// Tracing says where traces of syncs go.
type Tracing struct {
	Endpoint          *url.URL // base address of a collector, nil for that of the environment
	AllowInsecureHTTP bool
}

func (t *Tracing) table() document.Table {
	return document.Table{
		"endpoint":            document.Scalar(&t.Endpoint, parseCollector),
		"allow_insecure_http": document.Scalar(&t.AllowInsecureHTTP, value.Bool),
	}
}

// parseCollector is value.URL for an address whose user and query nobody would send. "" stands
// for none.
func parseCollector(text string) (*url.URL, *document.Fault) {
	if text == "" {
		return nil, nil
	}
	u, f := value.URL(text)
	switch {
	case f != nil:
		f.Suggestion = "use a form such as http://127.0.0.1:4318"
		return nil, f
	case u.User != nil || u.RawQuery != "":
		return nil, document.Refuse("has a user, a password or a query", "write the address alone; $OTEL_EXPORTER_OTLP_HEADERS takes a token")
	}
	return u, nil
}

func (t *Tracing) check(d *document.Decoder) {
	if t.Endpoint == nil || t.Endpoint.Scheme != "http" || origin.IsLoopback(t.Endpoint.Hostname()) || t.AllowInsecureHTTP || !d.Valid("tracing.allow_insecure_http") {
		return
	}
	d.Fail("tracing.endpoint", "plain http to a host that is not loopback is insecure", "use https, or set tracing.allow_insecure_http: true if the network is trusted")
}
