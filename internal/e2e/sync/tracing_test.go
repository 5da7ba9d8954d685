package sync_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// collector takes traces by OTLP over HTTP.
type collector struct {
	*e2e.Host
	url string

	mu       sync.Mutex
	requests []string // methods and paths
	spans    []span
}

// span is a span as a collector shows it.
type span struct {
	*tracepb.Span
	attributes map[string]string
}

func newCollector(h *e2e.Host) *collector {
	c := &collector{Host: h}
	server := httptest.NewServer(c)
	h.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collectorpb.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &request)
	}
	if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.Errorf("unusable request: %v, %v", err, r.Header)
	}
	c.SecretFree("a trace", string(body)+request.String()+fmt.Sprint(r.URL, r.Header))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, r.Method+" "+r.URL.Path)
	for _, resource := range request.ResourceSpans {
		about := map[string]string{}
		for _, a := range resource.Resource.Attributes {
			about[a.Key] = a.Value.GetStringValue()
		}
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				attributes := map[string]string{"service.name": about["service.name"]}
				for _, a := range s.Attributes {
					attributes[a.Key] = a.Value.GetStringValue()
					if number := a.Value.GetIntValue(); number != 0 {
						attributes[a.Key] = fmt.Sprint(number)
					}
				}
				c.spans = append(c.spans, span{s, attributes})
			}
		}
	}
}

// named returns the spans of a name.
func (c *collector) named(name string) (named []span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.Name == name {
			named = append(named, s)
		}
	}
	return named
}

// one returns the only span of a name.
func (c *collector) one(name string) span {
	c.Helper()
	named := c.named(name)
	if len(named) != 1 {
		c.Fatalf("%d spans %q, want 1: %s", len(named), name, c.all())
	}
	return named[0]
}

func (c *collector) all() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var text strings.Builder
	for _, s := range c.spans {
		fmt.Fprintln(&text, s.Name, hex.EncodeToString(s.TraceId)[:4], s.attributes, s.Status)
	}
	return text.String()
}

// wantTree requires that each span lies below the named one, and in its trace.
func (c *collector) wantTree(below map[string]string) {
	c.Helper()
	for name, parent := range below {
		for _, s := range c.named(name) {
			isParent := func(p span) bool {
				return slices.Equal(p.SpanId, s.ParentSpanId) && slices.Equal(p.TraceId, s.TraceId)
			}
			if !slices.ContainsFunc(c.named(parent), isParent) {
				c.Errorf("a span %q does not lie below a %q: %s", name, parent, c.all())
			}
		}
	}
}

// traceID is what `sync --json` prints.
func traceID(h *e2e.Host, r e2e.Result) string {
	h.Helper()
	var printed struct {
		TraceID string `json:"trace_id"`
	}
	h.Must(json.Unmarshal([]byte(r.Stdout), &printed))
	return printed.TraceID
}

// gateAndHook configures a gate, and a hook that makes the file told.
func gateAndHook(h *e2e.Host, gate string) string {
	return fmt.Sprintf("gate: {command: [%s]}\nhooks:\n  - {name: ops, on: [activated, refused], command: [touch, %s]}\n", gate, h.Path("told"))
}

func TestTheTraceOfASync(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	c := newCollector(h)
	h.ConfigureWith(gateAndHook(h, "/bin/true"))
	h.Provider.SetManifest("m", "2026.10", emulator.File{Name: "a", Content: emulator.Text("12345")}, emulator.File{Name: "b", Content: emulator.Text("2")})
	h.Environ = append(h.Environ, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.url+"/base", "OTEL_SERVICE_NAME=mirror-7")

	r := h.Expect(0, "sync", "--json")
	e2e.Same(h, "stderr", "", r.Stderr)

	root := c.one("sync")
	e2e.Same(h, "trace of the JSON", hex.EncodeToString(root.TraceId), traceID(h, r))
	e2e.Same(h, "request", "POST /base/v1/traces", c.requests[0])
	e2e.Same(h, "trigger", "command", root.attributes["syncd.trigger"])
	e2e.Same(h, "service", "mirror-7", root.attributes["service.name"])
	c.wantTree(map[string]string{
		"manifest": "sync", "poll": "manifest", "questions": "manifest", "files": "manifest", "gate": "manifest",
		"file": "files", "publish": "sync", "hook": "sync",
	})
	for _, name := range []string{"manifest", "poll", "questions", "files", "gate", "publish", "hook"} {
		s := c.one(name)
		e2e.Same(h, name, []string{"m", "2026.10"}, []string{s.attributes["syncd.manifest"], s.attributes["syncd.release"]})
		if s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR {
			t.Errorf("%s failed: %s", name, s.Status.Message)
		}
	}
	e2e.Same(h, "result", "updated", c.one("manifest").attributes["syncd.result"])
	e2e.Same(h, "hook", []string{"ops", "activated"}, []string{c.one("hook").attributes["syncd.hook"], c.one("hook").attributes["syncd.event"]})
	var files, endpoints []string
	for _, s := range c.named("file") {
		files = append(files, s.attributes["syncd.path"]+" "+s.attributes["syncd.bytes"])
	}
	slices.Sort(files)
	e2e.Same(h, "files", []string{"a 5", "b 1"}, files)
	for _, s := range c.named("question") {
		endpoints = append(endpoints, s.attributes["syncd.endpoint"])
		e2e.Same(h, "manifest of a question", "m", s.attributes["syncd.manifest"])
	}
	for _, endpoint := range []string{"ManifestReleases", "Manifest", "Hash"} {
		if !slices.Contains(endpoints, endpoint) {
			t.Errorf("no question %s: %q", endpoint, endpoints)
		}
	}
	for _, request := range h.Provider.Requests() {
		if request.Header.Get("Traceparent")+request.Header.Get("Baggage") != "" {
			t.Errorf("the provider got a header of the trace: %v", request.Header)
		}
	}
}

func TestTheTraceOfARefusalAndOfADaemon(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	c := newCollector(h)
	h.ConfigureWith(gateAndHook(h, "/bin/false") + "tracing: {endpoint: " + c.url + "}")
	h.Provider.SetManifest("m", "2026.10", emulator.File{Name: "a", Content: emulator.Text("1")})

	p := h.Daemon()
	line := p.Logged("sync")
	h.Eventually("the hook", func() bool {
		_, err := os.Stat(h.Path("told"))
		return err == nil
	})
	p.Terminate()

	root := c.one("sync")
	e2e.Same(h, "trace of the log line", any(hex.EncodeToString(root.TraceId)), line["trace_id"])
	e2e.Same(h, "request", "POST /v1/traces", c.requests[0])
	for _, name := range []string{"sync", "manifest", "gate"} {
		if s := c.one(name); s.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || s.Status.Message == "" {
			t.Errorf("%s has no error: %s", name, c.all())
		}
	}
	e2e.Same(h, "outcome", []string{"refused", "gate"}, []string{c.one("manifest").attributes["syncd.result"], c.one("manifest").attributes["syncd.reason"]})
	e2e.Same(h, "event", "refused", c.one("hook").attributes["syncd.event"])
	e2e.Same(h, "publications", 0, len(c.named("publish")))
}

func TestTheTraceOfADeadProviderHoldsNoSecret(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	c := newCollector(h)
	h.Environ = append(h.Environ, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+c.url+"/direct")
	h.Provider.SetManifest("m", "2026.10", emulator.File{Name: "a", Content: emulator.Text("1")})
	h.Provider.Close()

	id := traceID(h, h.Expect(1, "sync", "--json"))

	question := c.one("question")
	e2e.Same(h, "trace", id, hex.EncodeToString(question.TraceId))
	e2e.Same(h, "request", "POST /direct", c.requests[0])
	h.Contains("status", question.Status.Message, "connection refused")
	if question.attributes["http.request.resend_count"] == "" {
		t.Errorf("no attempts: %s", c.all())
	}
}

func TestWithoutSettingsNothingIsTraced(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	c := newCollector(h)
	h.Provider.SetManifest("m", "2026.10", emulator.File{Name: "a", Content: emulator.Text("1")})
	environ, to := h.Environ, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.url
	for name, set := range map[string][]string{
		"nothing":       nil,
		"disabled":      {to, "OTEL_SDK_DISABLED=true"},
		"no exporter":   {to, "OTEL_TRACES_EXPORTER=none"},
		"a headers var": {"OTEL_EXPORTER_OTLP_HEADERS=a=b", "OTEL_SERVICE_NAME=x"},
	} {
		h.Environ = append(slices.Clone(environ), set...)
		r := h.Expect(0, "sync", "--json")
		if traceID(h, r) != "" || r.Stderr != "" {
			t.Errorf("%s: %s%s", name, r.Stdout, r.Stderr)
		}
	}
	for name, set := range map[string][]string{
		"grpc":           {to, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
		"zipkin":         {to, "OTEL_TRACES_EXPORTER=zipkin"},
		"no address":     {"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4317"},
		"no certificate": {to, "OTEL_EXPORTER_OTLP_CERTIFICATE=" + h.Path("syncd.yaml")},
	} {
		h.Environ = append(slices.Clone(environ), set...)
		r := h.Expect(0, "sync", "--json")
		if strings.Count(r.Stderr, "\n") > 1 {
			t.Errorf("%s: %s", name, r.Stderr)
		}
	}
	if len(c.requests) > 1 { // of the row without a certificate
		t.Errorf("the collector got %q", c.requests)
	}
}

func TestADeadCollectorFailsNoSync(t *testing.T) {
	t.Parallel()
	refuses := httptest.NewServer(http.NotFoundHandler())
	refuses.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	defer broken.Close()
	for name, address := range map[string]string{"refuses": refuses.URL, "silent": "http://" + silent.Addr().String(), "broken": broken.URL} {
		t.Run(name, func(t *testing.T) {
			h := e2e.NewHost(t, "m")
			h.Provider.SetManifest("m", "2026.10", emulator.File{Name: "a", Content: emulator.Text("1")})
			h.ConfigureWith("tracing: {endpoint: " + address + "}")
			r := h.Expect(0, "sync", "--json")
			if strings.Count(r.Stderr, "\n") != 1 || !strings.Contains(r.Stderr, "the collector of traces cannot be reached") {
				t.Errorf("stderr: %q", r.Stderr)
			}
			e2e.Same(h, "served", "generations/000001", h.Current())
		})
	}
}

func TestLogLinesOfASyncNameItsTrace(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	c := newCollector(h)
	h.ConfigureWith("hooks:\n  - {name: ops, on: [failed], command: [/bin/false]}\ntracing: {endpoint: " + c.url + "}")
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus})

	p := h.Daemon()
	id := p.Logged("sync")["trace_id"]
	for _, message := range []string{"a request to the provider failed; trying again", "delivery failed, it is tried again"} {
		if line := p.Logged(message); id == nil || line["trace_id"] != id {
			t.Errorf("%v is not of the trace %v", line, id)
		}
	}
	p.Terminate()
	if question := c.named("question"); len(question) == 0 || question[0].attributes["http.response.status_code"] != "503" {
		t.Errorf("no question with the status: %s", c.all())
	}
}
