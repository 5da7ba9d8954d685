package servicetest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"syncd/internal/clients/service"
	"syncd/internal/clients/transport"
)

var update = flag.Bool("update", false, "write the golden files")

// CustomerID is the Customer ID of all clients of this package.
const CustomerID = "CID-0001/+ä"

// The forms of calls.
var (
	Get     = service.Form{Method: "GET"}
	GetXML  = service.Form{Method: "GET", Format: service.FormatXML}
	Post    = service.Form{Method: "POST"}
	PostXML = service.Form{Method: "POST", Format: service.FormatXML}
)

// Server keeps every request and sends the same answer to all, after those of
// First.
type Server struct {
	t    *testing.T
	base string

	mu       sync.Mutex
	status   int
	answer   string
	first    []canned // sent before answer, one each
	requests []string
	patience time.Duration // for how long clients retry
}

type canned struct {
	status int
	answer string
}

// Serve starts a server. Status 0 means 200.
func Serve(t *testing.T, status int, answer string) *Server {
	t.Helper()
	s := &Server{t: t, status: max(status, http.StatusOK), answer: answer, patience: time.Minute}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.base = server.URL
	return s
}

// First adds an answer that is sent once, before the usual one. Several are sent
// in the order in which they were added.
func (s *Server) First(status int, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = append(s.first, canned{status, answer})
}

// GiveUpSoon makes clients created later stop retrying soon, for tests in which
// every request fails.
func (s *Server) GiveUpSoon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.patience = 30 * time.Millisecond
}

// Client returns a client of the server, for a service with that base path. Its
// JSONP address has the path /jsonp.
func (s *Server) Client(name, path, prefix string) *service.Client {
	s.t.Helper()
	return service.New(service.Config{
		Name: name, Prefix: prefix, CustomerID: CustomerID, Web: s.transport(path), JSONP: s.transport("/jsonp"),
	})
}

func (s *Server) transport(path string) *transport.Client {
	base, err := url.Parse(s.base + path)
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	patience := s.patience
	s.mu.Unlock()
	client, err := transport.New(transport.Config{
		Base: base, CustomerID: CustomerID, IDParam: "id", UserAgent: "syncd/test",
		Retry: transport.Retry{InitialInterval: time.Millisecond, MaxInterval: time.Millisecond, MaxElapsed: patience},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(client.Close)
	return client
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	s.requests = append(s.requests, render(r, body))
	status, answer := s.status, s.answer
	if len(s.first) > 0 {
		status, answer = s.first[0].status, s.first[0].answer
		s.first = s.first[1:]
	}
	s.mu.Unlock()
	w.WriteHeader(status)
	_, _ = io.WriteString(w, answer) // a failed write shows in the client
}

// render returns a request as it arrived: method, path, query, sorted headers and
// body.
func render(r *http.Request, body []byte) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.URL.EscapedPath())
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if pair != "" {
			fmt.Fprintf(&b, "  %s\n", pair)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(r.Header[name], ", "))
	}
	fmt.Fprintf(&b, "\n%s\n", body)
	return b.String()
}

// Requests returns all requests in order, in the form of the golden files.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Golden compares the request since the last call of Golden with the file
// testdata/golden/<name>.http.
func (s *Server) Golden(t *testing.T, name string) {
	t.Helper()
	s.mu.Lock()
	got := strings.Join(s.requests, "\n---- and again ----\n")
	s.requests = nil
	s.mu.Unlock()
	path := filepath.Join("testdata", "golden", name+".http")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the request differs from %s:\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

// Fixture returns the content of a file in testdata.
func Fixture(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// Read returns the response that a client with the prefix Acme reads from a
// fixture.
func Read[R any](t *testing.T, op *service.Operation, fixture string) *R {
	t.Helper()
	form := service.Form{}
	if strings.HasSuffix(fixture, ".xml") {
		form.Format = service.FormatXML
	}
	r, err := service.Read[R](op, form, "Acme", []byte(Fixture(t, fixture)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Ask returns a function that calls one operation of a client in one form.
func Ask[C, Req, Resp any](do func(C, context.Context, Req, service.Form) (Resp, error)) func(Req, service.Form) func(context.Context, C) (Resp, error) {
	return func(req Req, form service.Form) func(context.Context, C) (Resp, error) {
		return func(ctx context.Context, c C) (Resp, error) { return do(c, ctx, req, form) }
	}
}

// Call is Ask without the response.
func Call[C, Req, Resp any](do func(C, context.Context, Req, service.Form) (Resp, error)) func(Req, service.Form) func(context.Context, C) error {
	return func(req Req, form service.Form) func(context.Context, C) error {
		return func(ctx context.Context, c C) error {
			_, err := do(c, ctx, req, form)
			return err
		}
	}
}

// Goldens compares the request of each call with the golden file of its name.
func Goldens[C any](t *testing.T, client func(*Server) C, answer string, calls map[string]func(context.Context, C) error) {
	for name, do := range calls {
		t.Run(name, func(t *testing.T) {
			server := Serve(t, 0, answer)
			if err := do(t.Context(), client(server)); err != nil {
				t.Fatal(err)
			}
			server.Golden(t, name)
		})
	}
}

// Invalid is a call that a client must refuse, and a part of the error.
type Invalid[C any] = struct {
	Do   func(context.Context, C) error
	Want string
}

// CheckInvalid fails the test unless each call is refused.
func CheckInvalid[C any](t *testing.T, client func(*Server) C, calls map[string]Invalid[C]) {
	for name, test := range calls {
		t.Run(name, func(t *testing.T) {
			server := Serve(t, 0, "{}")
			server.CheckRefused(t, test.Do(t.Context(), client(server)), test.Want)
		})
	}
}

// CheckRefused fails the test unless err is an input error that holds want, and
// nothing was sent.
func (s *Server) CheckRefused(t *testing.T, err error, want string) {
	t.Helper()
	if _, ok := errors.AsType[*service.InputError](err); !ok || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an input error with %q", err, want)
	}
	if sent := s.Requests(); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
}

// Operation returns the operation of that name.
func Operation(t testing.TB, all []*service.Operation, name string) *service.Operation {
	t.Helper()
	i := slices.IndexFunc(all, func(op *service.Operation) bool { return op.Name == name })
	if i < 0 {
		t.Fatalf("no operation %s", name)
	}
	return all[i]
}

// Arguments are arguments of an operation, and a part of the body that they fill.
type Arguments = struct {
	Operation, Method, Want string
	Args                    []string
}

// CheckArguments fails the test unless the arguments fill the bodies, which can
// be sent.
func CheckArguments(t *testing.T, all []*service.Operation, tests map[string]Arguments) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			op := Operation(t, all, test.Operation)
			body, _, err := op.Arguments(test.Method, "Acme", nil, test.Args)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(body); !strings.Contains(got, test.Want) {
				t.Errorf("got %s, want %s in it", got, test.Want)
			}
			if _, err := op.Check(service.Form{Method: test.Method}, body, "Acme"); err != nil {
				t.Error(err)
			}
		})
	}
}

// AddFixtures gives a fuzz test all files in testdata.
func AddFixtures(f *testing.F) {
	f.Helper()
	fixtures, err := filepath.Glob("testdata/*.*")
	if err != nil || len(fixtures) == 0 {
		f.Fatalf("%d fixtures, error %v", len(fixtures), err)
	}
	for _, fixture := range fixtures {
		body, err := os.ReadFile(fixture)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
}

// Check compares two values by their printed form.
func Check(t *testing.T, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
