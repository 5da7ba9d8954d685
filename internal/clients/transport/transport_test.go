package transport

import (
	"bufio"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"syncd/internal/emulator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick gives up after milliseconds, patient only when a test hangs.
var (
	quick   = Retry{InitialInterval: time.Millisecond, MaxInterval: 2 * time.Millisecond, MaxElapsed: 20 * time.Millisecond}
	patient = Retry{InitialInterval: time.Millisecond, MaxInterval: 2 * time.Millisecond, MaxElapsed: time.Minute}
)

// soon is a stall timeout for tests that need a stall. Such a test must also accept that
// it ends a transfer that moves.
const soon = 50 * time.Millisecond

func newClient(t testing.TB, base string, edit ...func(*Config)) *Client {
	t.Helper()
	u, err := url.Parse(base)
	must(t, err)
	cfg := Config{Base: u, CustomerID: testID, IDParam: "id", StallTimeout: time.Minute, Retry: patient, UserAgent: "syncd-test"}
	for _, e := range edit {
		e(&cfg)
	}
	c, err := New(cfg)
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

func startEmulator(t testing.TB) *emulator.Emulator {
	t.Helper()
	e, err := emulator.Start(emulator.Config{CustomerID: testID})
	must(t, err)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		for _, r := range e.Requests() {
			if r.Header.Get("Referer") != "" {
				t.Errorf("%s %s came with a Referer", r.Host, r.Path)
			}
		}
	})
	e.SetManifest("m", "2026.10", emulator.File{Name: "a.dat", Content: emulator.Text("content")})
	return e
}

// list is a request with the response ["2026.10"] from the emulator.
var list = Request{Endpoint: "ManifestReleases", Segments: []string{"ManifestReleases", "m"}, Query: url.Values{"format": {"json"}}, Limit: 1 << 20}

const listBody = `["2026.10"]`

// recorder is an HTTP server that records its requests.
type recorder struct {
	*httptest.Server
	mu   sync.Mutex
	seen []*http.Request
}

func serve(t testing.TB, start func(http.Handler) *httptest.Server, answer http.HandlerFunc) *recorder {
	t.Helper()
	r := &recorder{}
	r.Server = start(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.seen = append(r.seen, req)
		r.mu.Unlock()
		answer(w, req)
	}))
	t.Cleanup(func() {
		r.CloseClientConnections() // includes connections that a test still uses
		r.Close()
		for _, req := range r.requests() {
			if req.Header.Get("Referer") != "" {
				t.Errorf("%s came with a Referer", req.URL.Path)
			}
		}
	})
	return r
}

func (r *recorder) requests() []*http.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*http.Request(nil), r.seen...)
}

func plainServer(t testing.TB, answer http.HandlerFunc) *recorder {
	t.Helper()
	return serve(t, func(h http.Handler) *httptest.Server {
		s := httptest.NewUnstartedServer(h)
		s.Config.ErrorLog = discardLog() // some handlers panic on purpose
		s.Start()
		return s
	}, answer)
}

// tlsServer also returns a file with its certificate.
func tlsServer(t testing.TB, answer http.HandlerFunc) (*recorder, string) {
	t.Helper()
	return tlsServerWith(t, func(*httptest.Server) {}, answer)
}

func tlsServerWith(t testing.TB, edit func(*httptest.Server), answer http.HandlerFunc) (*recorder, string) {
	t.Helper()
	r := serve(t, func(h http.Handler) *httptest.Server {
		s := httptest.NewUnstartedServer(h)
		s.Config.ErrorLog = discardLog() // some handshakes fail on purpose
		edit(s)
		s.StartTLS()
		return s
	}, answer)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw})
	must(t, os.WriteFile(ca, block, 0o600))
	return r, ca
}

// rawServer sends answer for each request, with the Customer ID for {id}, and closes the
// connection. An upgraded connection stays open until the test ends.
func rawServer(t testing.TB, answer string) (base string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var running sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	running.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			running.Go(func() {
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
					return
				}
				io.WriteString(conn, strings.ReplaceAll(answer, "{id}", testID))
				if strings.Contains(answer, "\r\nUpgrade:") {
					return // held open
				}
				conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		for _, conn := range open {
			conn.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return "http://" + ln.Addr().String()
}

// closedPort is an address that refuses connections.
func closedPort(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	return ln.Addr().String()
}

type counter struct {
	mu       sync.Mutex
	requests map[string]int // by endpoint and code
	retries  map[string]int
}

func (c *counter) Request(endpoint, code string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests == nil {
		c.requests = map[string]int{}
	}
	c.requests[endpoint+" "+code]++
}

func (c *counter) Retry(endpoint string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retries == nil {
		c.retries = map[string]int{}
	}
	c.retries[endpoint]++
}
