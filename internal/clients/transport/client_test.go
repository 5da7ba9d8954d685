package transport

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/emulator"
	"syncd/internal/manifest/refusal"
)

func TestURLOfARequest(t *testing.T) {
	inQuery := url.QueryEscape(testID)
	tests := []struct {
		base string
		req  Request
		want string
	}{
		{"https://h.example", Request{Segments: []string{"Manifest", "2026.10", "m"}}, "https://h.example/Manifest/2026.10/m?id=" + inQuery},
		{"https://h.example/", Request{Segments: []string{"a"}}, "https://h.example/a?id=" + inQuery},
		{"https://h.example/V4/WEB", Request{Segments: []string{"x", "do"}}, "https://h.example/V4/WEB/x/do?id=" + inQuery},
		{"https://u:p@h.example/V4/?key=a+b&id=old", Request{Segments: []string{"x"}, Query: url.Values{"format": {"json"}}}, "https://u:p@h.example/V4/x?format=json&id=" + inQuery + "&key=a+b"},
		{"https://h.example", Request{Segments: []string{"a/b", "c?d#e", "f%2Fg", "h i", "ü", "+&="}}, "https://h.example/a%2Fb/c%3Fd%23e/f%252Fg/h%20i/%C3%BC/+&=?id=" + inQuery},
		{"https://h.example", Request{}, "https://h.example/?id=" + inQuery},
	}
	for _, tt := range tests {
		c := newClient(t, tt.base)
		if got := c.URL(tt.req).String(); strings.Replace(got, "example?", "example/?", 1) != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
	for param, want := range map[string]string{"": "https://h.example/a", "Key": "https://h.example/a?Key=" + inQuery} {
		c := newClient(t, "https://h.example", func(cfg *Config) { cfg.IDParam = param })
		if got := c.URL(Request{Segments: []string{"a"}}).String(); got != want {
			t.Errorf("parameter %q: %s", param, got)
		}
	}
}

func TestMethodHeadersAndBodyArriveUnchanged(t *testing.T) {
	server := plainServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s %s %d", r.Method, r.RequestURI, r.UserAgent(), r.Header.Get("Content-Type"), body, r.ContentLength)
	})
	c := newClient(t, server.URL, func(cfg *Config) { cfg.IDParam = "" })
	for _, once := range []bool{false, true} {
		_, body, err := c.Do(t.Context(), Request{Endpoint: "E", Method: http.MethodPost, Segments: []string{"a"}, Body: []byte("text"), Header: http.Header{"Content-Type": {"text/x"}}, Limit: 1000, Once: once})
		if want := "POST /a syncd-test text/x text 4"; err != nil || string(body) != want {
			t.Errorf("got %q, %v", body, err)
		}
		_, body, err = c.Do(t.Context(), Request{Endpoint: "E", Segments: []string{"a"}, Limit: 1000, Once: once})
		if want := "GET /a syncd-test   0"; err != nil || string(body) != want {
			t.Errorf("got %q, %v", body, err)
		}
	}
	if r := server.requests()[3]; len(r.TransferEncoding) != 0 {
		t.Errorf("a GET came with %v", r.TransferEncoding)
	}
}

func TestHoldsIDIgnoresCaseAndEncoding(t *testing.T) {
	c := newClient(t, "http://127.0.0.1:1")
	for text, want := range map[string]bool{
		testID: true, "x/" + strings.ToLower(testID): true, url.QueryEscape(testID): true, jsonAll(testID): true, "mdAddr.dat": false, "": false,
	} {
		if got := c.HoldsID(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestResponseHeadersAreRedacted(t *testing.T) {
	inQuery := url.QueryEscape(testID)
	server := plainServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"`+r.URL.Query().Get("id")+`"`)
		w.Header().Set("Link", inQuery)
		w.Header().Set("Last-Modified", inQuery+", 01 Oct 2026") // instead of a date
		w.Header().Set("Expires", "Thursday, 01-Oct-26 12:00:00 CID")
	})
	c := newClient(t, server.URL)
	res, _, err := c.Do(t.Context(), list)
	must(t, err)
	want := http.Header{"Link": {redacted}, "Last-Modified": {redacted + ", 01 Oct 2026"}, "Expires": {"Thu, 01 Oct 2026 12:00:00 GMT"}, "Date": res.Header["Date"], "Content-Length": {"0"}}
	if diff := cmp.Diff(want, res.Header); diff != "" {
		t.Error(diff)
	}
	if got := c.Redactor().String(inQuery); got != redacted {
		t.Error(got)
	}
}

func TestTransientFaultsAreRetriedAndCounted(t *testing.T) {
	faults := []emulator.Fault{
		{Kind: emulator.KindReset}, {Kind: emulator.KindReset, After: 4}, {Kind: emulator.KindTruncate}, {Kind: emulator.KindTruncate, After: 4},
		{Kind: emulator.KindStall}, {Kind: emulator.KindStall, After: 4}, {Kind: emulator.KindStatus, Status: 503, Shape: "html"},
	}
	for _, status := range []int{408, 425, 429, 500, 502, 503, 504} {
		faults = append(faults, emulator.Fault{Kind: emulator.KindStatus, Status: status})
	}
	e := startEmulator(t)
	for _, f := range faults {
		t.Run(f.String(), func(t *testing.T) {
			seen := &counter{}
			f.Times = 2
			e.ClearFaults()
			e.AddFault(f)
			c := newClient(t, e.URL(), func(cfg *Config) {
				cfg.Observer = seen
				if f.Kind == emulator.KindStall {
					cfg.StallTimeout = soon
				}
			})
			_, body, err := c.Do(t.Context(), list)
			if err != nil || string(body) != listBody {
				t.Fatalf("%q, %v", body, err)
			}
			if f.Kind == emulator.KindStall {
				return // the short stall timeout may end any request
			}
			if seen.retries["ManifestReleases"] != 2 || seen.requests["ManifestReleases 200"] == 0 {
				t.Errorf("observed %v, retries %v", seen.requests, seen.retries)
			}
			if s := fmt.Sprint(f.Status); f.Status != 0 && seen.requests["ManifestReleases "+s] != 2 {
				t.Errorf("observed %v", seen.requests)
			}
			if f.Kind == emulator.KindReset && f.After == 0 && seen.requests["ManifestReleases error"] != 2 {
				t.Errorf("observed %v", seen.requests)
			}
		})
	}
}

func TestFinalFaultsAreNotRetried(t *testing.T) {
	e := startEmulator(t)
	faults := []emulator.Fault{{Kind: emulator.KindShape, Shape: "huge"}, redirect("ftp://x.example/")}
	for _, status := range []int{300, 304, 400, 401, 402, 403, 404, 405, 409, 410, 411, 418, 451} {
		faults = append(faults, emulator.Fault{Kind: emulator.KindStatus, Status: status})
	}
	for _, f := range faults {
		seen := &counter{}
		e.ClearFaults()
		e.ResetRequests()
		e.AddFault(f)
		_, _, err := newClient(t, e.URL(), func(cfg *Config) { cfg.Observer = seen }).Do(t.Context(), list)
		if err == nil || IsTransient(err) || len(e.Requests()) != 1 || len(seen.retries) != 0 {
			t.Errorf("%s: %d requests, %v", f, len(e.Requests()), err)
		}
	}
}

func TestOnceSendsOnce(t *testing.T) {
	e := startEmulator(t)
	once := list
	once.Once = true
	for _, f := range []emulator.Fault{
		{Kind: emulator.KindStatus}, {Kind: emulator.KindStatus, Status: 429, RetryAfter: "1"}, {Kind: emulator.KindTruncate}, {Kind: emulator.KindReset},
		{Kind: emulator.KindReset, After: 1},
	} {
		e.ClearFaults()
		e.ResetRequests()
		e.AddFault(f)
		_, _, err := newClient(t, e.URL()).Do(t.Context(), once)
		if !IsTransient(err) || len(e.Requests()) != 1 {
			t.Errorf("%s: %d requests, %v", f, len(e.Requests()), err)
		}
	}
	e.ClearFaults()
	if _, body, err := newClient(t, e.URL()).Do(t.Context(), once); err != nil || string(body) != listBody {
		t.Errorf("%q, %v", body, err)
	}
}

// serveConnections passes each connection to serve and closes it afterwards. Close its
// clients before the test ends.
func serveConnections(t testing.TB, serve func(net.Conn)) (base string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		running.Wait()
	})
	return "http://" + ln.Addr().String()
}

// A server may close a reused connection after it read a request. net/http then sends a
// GET again by itself. Once must prevent that.
func TestOnceSendsOnceOnAReusedConnection(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		var requests atomic.Int64
		c := newClient(t, serveConnections(t, func(conn net.Conn) {
			r := bufio.NewReader(conn)
			for range 2 { // respond to the first request only
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				io.Copy(io.Discard, req.Body)
				if requests.Add(1) == 1 {
					io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
					continue
				}
				return
			}
		}))
		req := Request{Endpoint: "E", Method: method, Once: true, Limit: 1}
		if _, _, err := c.Do(t.Context(), req); err != nil {
			t.Errorf("%s: %v", method, err)
		}
		if _, _, err := c.Do(t.Context(), req); !IsTransient(err) || requests.Load() != 2 {
			t.Errorf("%s: %d requests arrived, %v", method, requests.Load(), err)
		}
		c.Close()
	}
}

func TestHTTP2IsUsedWhenOffered(t *testing.T) {
	server, ca := tlsServerWith(t, func(s *httptest.Server) { s.EnableHTTP2 = true }, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusFound)
			return
		}
		fmt.Fprintf(w, "%s %d %t", r.Proto, r.ContentLength, r.URL.Query().Get("id") == testID)
	})
	c := newClient(t, server.URL, func(cfg *Config) { cfg.CAFile = ca })
	for path, once := range map[string]bool{"old": false, "new": true} { // a request with Once follows no redirect
		_, body, err := c.Do(t.Context(), Request{Endpoint: "E", Segments: []string{path}, Limit: 100, Once: once})
		if err != nil || !strings.HasPrefix(string(body), "HTTP/2.0 ") || !strings.HasSuffix(string(body), "true") {
			t.Errorf("once %t: %q, %v", once, body, err)
		}
	}
}

func TestBodyLimitIsExact(t *testing.T) {
	const limit = 10_000
	server := plainServer(t, func(w http.ResponseWriter, r *http.Request) {
		body := strings.Repeat("x", limit)
		if strings.Contains(r.URL.Path, "over") {
			body += "x"
		}
		if !strings.Contains(r.URL.Path, "gzip") {
			io.WriteString(w, body)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, body)
		z.Close()
	})
	c := newClient(t, server.URL)
	for _, encoding := range []string{"plain", "gzip"} {
		_, body, err := c.Do(t.Context(), Request{Endpoint: "E", Segments: []string{encoding}, Limit: limit})
		if err != nil || len(body) != limit {
			t.Errorf("%s: %d bytes, %v", encoding, len(body), err)
		}
		before := len(server.requests())
		_, _, err = c.Do(t.Context(), Request{Endpoint: "E", Segments: []string{encoding + "over"}, Limit: limit})
		if refusal.ReasonOf(err) != refusal.TooLarge || len(server.requests()) != before+1 {
			t.Errorf("%s, one over: %v", encoding, err)
		}
	}
}

func TestRetryBudgetCountsFromTheLastProgress(t *testing.T) {
	transient := &Error{Kind: Transient, Endpoint: "E", Path: "/"}
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, "http://127.0.0.1", func(cfg *Config) {
			cfg.Retry = Retry{InitialInterval: time.Second, MaxInterval: 10 * time.Second, MaxElapsed: time.Minute}
		})
		begin, calls := time.Now(), 0
		var last error
		err := c.Retry(t.Context(), "E", func(func()) error {
			calls++
			last = fmt.Errorf("%d: %w", calls, transient)
			return last
		})
		if err != last || time.Since(begin) > time.Minute || calls < 5 {
			t.Errorf("%d calls in %v, %v", calls, time.Since(begin), err)
		}

		begin, calls = time.Now(), 0
		err = c.Retry(t.Context(), "E", func(progress func()) error {
			if calls++; calls < 100 {
				progress()
			}
			time.Sleep(50 * time.Second) // longer than half of MaxElapsed
			return transient
		})
		if err != transient || calls < 100 || calls > 102 {
			t.Errorf("%d calls in %v, %v", calls, time.Since(begin), err)
		}

		calls = 0
		if err := c.Retry(t.Context(), "E", func(func()) error { calls++; return io.ErrUnexpectedEOF }); err != io.ErrUnexpectedEOF || calls != 1 {
			t.Errorf("a foreign error: %d calls, %v", calls, err)
		}
	})
}

func TestContextEndsTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, "http://127.0.0.1", func(cfg *Config) {
			cfg.Retry = Retry{InitialInterval: time.Hour, MaxInterval: time.Hour, MaxElapsed: 100 * time.Hour}
		})
		cause := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		begin := time.Now()
		err := c.Retry(ctx, "E", func(func()) error { return &Error{Kind: Transient} })
		if err != cause || time.Since(begin) != time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

func TestRetryDefaultsAreFilledOneByOne(t *testing.T) {
	c := newClient(t, "http://127.0.0.1", func(cfg *Config) {
		cfg.StallTimeout, cfg.Retry = 0, Retry{MaxElapsed: time.Second}
	})
	want := Retry{InitialInterval: defaultInitialInterval, MaxInterval: defaultMaxInterval, MaxElapsed: time.Second}
	if c.cfg.Retry != want || c.cfg.StallTimeout != defaultStall || c.cfg.Gate == nil {
		t.Errorf("%+v", c.cfg)
	}
}

func TestCAFiles(t *testing.T) {
	server, ca := tlsServer(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	if _, body, err := newClient(t, server.URL, func(c *Config) { c.CAFile = ca }).Do(t.Context(), list); err != nil || string(body) != "ok" {
		t.Errorf("%q, %v", body, err)
	}
	empty := filepath.Join(t.TempDir(), "empty.pem")
	must(t, os.WriteFile(empty, []byte("no certificate"), 0o600))
	fifo := filepath.Join(t.TempDir(), "fifo")
	must(t, syscall.Mkfifo(fifo, 0o600))
	for file, want := range map[string]string{
		empty: "holds no PEM certificate", empty + ".not": "cannot be read: no such file or directory: name a PEM file", fifo: "not a regular file", t.TempDir(): "not a regular file",
	} {
		base, _ := url.Parse(server.URL)
		if _, err := New(Config{Base: base, CustomerID: testID, CAFile: file}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
	}
}

func TestASlowResponseEndsWithinTheRetryBudget(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil { // the response makes progress and never ends
			_, _ = w.Write([]byte("1"))
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Millisecond)
		}
	}))
	defer server.Close()
	base, err := url.Parse(server.URL)
	must(t, err)
	client, err := New(Config{
		Base: base, StallTimeout: time.Second, // longer than a busy machine delays a byte
		Retry: Retry{InitialInterval: time.Millisecond, MaxInterval: time.Millisecond, MaxElapsed: 50 * time.Millisecond},
	})
	must(t, err)
	defer client.Close()
	_, _, err = client.Do(t.Context(), Request{Endpoint: "Manifest", Segments: []string{"Manifest"}, Limit: 1 << 20})
	if !errors.Is(err, errTooSlow) || !IsTransient(err) {
		t.Errorf("%v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
