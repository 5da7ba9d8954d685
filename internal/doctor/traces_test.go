//go:build linux

package doctor

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"syncd/internal/config"
)

func TestTracesNeedACollectorThatTakesThem(t *testing.T) {
	takes := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "POST" || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer takes.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, row := range map[string]struct {
		variable, value string
		severity        Severity
		text            string
	}{
		"off":                 {"A", "b", OK, "no collector"},
		"takes them":          {"OTEL_EXPORTER_OTLP_ENDPOINT", takes.URL, OK, "responds"},
		"another server":      {"OTEL_EXPORTER_OTLP_ENDPOINT", other.URL, Hint, "answers 404, and takes no traces there"},
		"no server":           {"OTEL_EXPORTER_OTLP_ENDPOINT", gone.URL, Hint, "cannot be reached"},
		"an address of gRPC":  {"OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317", Hint, "is no http or https address"},
		"an own address more": {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", takes.URL + "/v1/traces", OK, "responds"},
	} {
		s := &setup{Options: Options{Getenv: func(name string) string {
			if name == row.variable {
				return row.value
			}
			return ""
		}}, cfg: config.Default()}
		found := s.checkTraces(t.Context())
		if len(found) != 1 || found[0].Severity != row.severity || !strings.Contains(found[0].Text, row.text) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
