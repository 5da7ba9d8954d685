package testclient

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/emulator/catalogue"
	"syncd/internal/emulator/service"
)

// ID is the Customer ID of the requests. It has characters that a query must
// escape.
const ID = "AB+c/9 =="

// JSON is the media type of JSON.
const JSON = "application/json"

// Start serves a service until the test ends, and returns the address that its
// operations stand under.
func Start(t testing.TB, s *service.Service) (base string) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL + s.Path
}

// Answer is a response with its body, as far as that could be read.
type Answer struct {
	*http.Response
	Text string
	Err  error // of reading the body
}

// New returns a client that follows no redirects and shares no connections.
func New(t testing.TB) *http.Client {
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Try sends a request with headers in pairs of name and value.
func Try(t testing.TB, method, address, body string, headers ...string) (Answer, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := New(t).Do(r)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return Answer{resp, string(text), err}, nil
}

// Send sends a request without a body and fails the test when no answer comes.
func Send(t testing.TB, method, address string, headers ...string) Answer {
	t.Helper()
	a, err := Try(t, method, address, "", headers...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Query asks an operation by GET, with the Customer ID and inputs in pairs of
// name and value.
func Query(t testing.TB, address string, pairs ...string) Answer {
	t.Helper()
	values := url.Values{"id": {ID}}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return Send(t, http.MethodGet, address+"?"+values.Encode())
}

// Submit asks an operation by POST. The body, and the answer asked for, have the
// media type kind.
func Submit(t testing.TB, address, kind, body string) Answer {
	t.Helper()
	return SubmitAccepting(t, address, kind, kind, body)
}

// SubmitAccepting is Submit with another Accept header, "" for none.
func SubmitAccepting(t testing.TB, address, kind, accept, body string) Answer {
	t.Helper()
	headers := []string{"Content-Type", kind}
	if accept != "" {
		headers = append(headers, "Accept", accept)
	}
	a, err := Try(t, http.MethodPost, address, body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Body returns a JSON object with the Customer ID under a name, and more members
// that begin with a comma.
func Body(name, more string) string {
	return fmt.Sprintf(`{"%s":"%s"%s}`, name, ID, more)
}

// Object is a decoded JSON object.
type Object = map[string]any

// Decoded returns the JSON object of an answer that must be 200.
func Decoded(t testing.TB, a Answer) Object {
	t.Helper()
	var o Object
	Unmarshal(t, a, &o)
	return o
}

// Unmarshal decodes an answer that must be 200, by its media type.
func Unmarshal(t testing.TB, a Answer, into any) {
	t.Helper()
	if a.StatusCode != http.StatusOK {
		t.Fatalf("status %d, want 200: %s", a.StatusCode, a.Text)
	}
	decode := json.Unmarshal
	if strings.HasPrefix(a.Header.Get("Content-Type"), "application/xml") {
		decode = xml.Unmarshal
	}
	if err := decode([]byte(a.Text), into); err != nil {
		t.Fatalf("%v: %s", err, a.Text)
	}
}

// Rows returns the records of an answer.
func Rows(t testing.TB, a Answer) []Object {
	t.Helper()
	all, ok := Decoded(t, a)["Records"].([]any)
	if !ok {
		t.Fatalf("Records is not an array: %s", a.Text)
	}
	rows := make([]Object, len(all))
	for i := range all {
		rows[i], _ = all[i].(Object)
	}
	return rows
}

// At returns a value in an object as text, by keys with dots between.
func At(o Object, path string) string {
	var v any = o
	for key := range strings.SplitSeq(path, ".") {
		inner, ok := v.(Object)
		if !ok {
			return "no " + path
		}
		v = inner[key]
	}
	return fmt.Sprint(v)
}

// Problem is the body of an error that names inputs.
type Problem struct {
	Title   string
	Status  int
	Errors  map[string][]string
	TraceID string
}

// WantFaulty checks that an answer is 400 and names an input, once.
func WantFaulty(t testing.TB, a Answer, name string) {
	t.Helper()
	var p Problem
	if err := json.Unmarshal([]byte(a.Text), &p); err != nil || a.StatusCode != http.StatusBadRequest || len(p.Errors[name]) != 1 {
		t.Errorf("status %d, want 400 that names %s once: %s", a.StatusCode, name, a.Text)
	}
}

// Provider is an emulated release service.
type Provider interface{ URL() string }

// Address returns the URL of a path of the release service, with the Customer ID and more
// parameters.
func Address(p Provider, path, query string) string {
	s := p.URL() + path + "?id=" + url.QueryEscape(ID)
	if query != "" {
		s += "&" + query
	}
	return s
}

// Get sends a GET for a path of the release service.
func Get(t testing.TB, p Provider, path, query string, headers ...string) Answer {
	t.Helper()
	return Send(t, http.MethodGet, Address(p, path, query), headers...)
}

// FileURL returns the target of the redirect for a download.
func FileURL(t testing.TB, p Provider, path string) string {
	t.Helper()
	a := Get(t, p, "/Download/"+path, "")
	if a.StatusCode != http.StatusFound {
		t.Fatalf("download of %s: status %d, want 302", path, a.StatusCode)
	}
	return a.Header.Get("Location")
}

// DiskFile writes a file of random contents, and returns its path.
func DiskFile(t testing.TB, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, ReadAll(t, catalogue.Random(7, size)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ReadAll returns the bytes of a content.
func ReadAll(t testing.TB, c catalogue.Content) []byte {
	t.Helper()
	f, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
