package transport

import (
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/emulator"
	"syncd/internal/manifest/refusal"
)

func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }

// failing is one failure with the expected error.
type failing struct {
	name   string
	base   string
	fault  emulator.Fault // of the emulator, when base is empty
	edit   func(*Config)
	req    func(*Request)
	kind   Kind
	status int // -1 for any: on a busy machine a stall may come before the headers
	reason refusal.Reason
	has    string // a part of the error's text
}

func failures(t *testing.T) []failing {
	stalls := func(cfg *Config) { cfg.StallTimeout, cfg.Retry.MaxElapsed = soon, 10*soon } // stalled comes long before too slow
	hang := plainServer(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	trusted, ca := tlsServer(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:9/?id="+r.URL.Query().Get("id"), http.StatusFound)
	})
	bomb := plainServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		z.Write(make([]byte, 4<<20))
		z.Close()
	})
	noGzip := plainServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		io.WriteString(w, "this is not gzip "+r.URL.Query().Get("id"))
	})
	inPath := percent(testID, "%%%02x")
	head := "HTTP/1.1 200 OK\r\nConnection: close\r\n"
	all := []failing{
		{name: "refused connection", base: "http://" + closedPort(t), kind: Transient},
		{name: "no such host", base: "http://no..such.invalid", kind: Transient},
		{name: "TLS from an unknown authority", base: trusted.URL, kind: Rejected, has: "certificate"},
		{name: "TLS to a plain server", base: strings.Replace(hang.URL, "http:", "https:", 1), edit: stalls, kind: Transient},
		{name: "plain to a TLS server", base: strings.Replace(trusted.URL, "https:", "http:", 1), kind: Rejected, status: 400},
		{name: "header stall", base: hang.URL, edit: stalls, kind: Transient, has: "stalled"},
		{name: "body stall", fault: emulator.Fault{Kind: emulator.KindStall, After: 3}, edit: stalls, kind: Transient, status: -1, has: "stalled"},
		{name: "reset before the headers", fault: emulator.Fault{Kind: emulator.KindReset}, kind: Transient},
		{name: "reset in the body", fault: emulator.Fault{Kind: emulator.KindReset, After: 3}, kind: Transient, status: 200, has: "reset"},
		{name: "short body", fault: emulator.Fault{Kind: emulator.KindTruncate, After: 3}, kind: Transient, status: 200, has: "ended before it was complete"},
		{name: "nothing but the end", base: rawServer(t, ""), kind: Transient, has: "closed the connection"},
		{name: "bad status line", base: rawServer(t, "HTTP/1.1 {id} {id}\r\n\r\n"), kind: Transient, has: "malformed"},
		{name: "no HTTP at all", base: rawServer(t, "220 {id} ready\r\n"), kind: Transient, has: "malformed"},
		{name: "endless status line", base: rawServer(t, strings.Repeat("{id} ", 100_000)), kind: Transient},
		{name: "bad header", base: rawServer(t, head+"{id}\r\n\r\n"), kind: Transient, has: "malformed"},
		{name: "bad length", base: rawServer(t, head+"Content-Length: {id}\r\n\r\n"), kind: Transient},
		{name: "two lengths", base: rawServer(t, head+"Content-Length: 1\r\nContent-Length: {id}\r\n\r\n"), kind: Transient},
		{name: "bad transfer encoding", base: rawServer(t, head+"Transfer-Encoding: {id}\r\n\r\n"), kind: Transient},
		{name: "bad chunk", base: rawServer(t, head+"Transfer-Encoding: chunked\r\n\r\n{id}\r\n"), kind: Transient, status: 200},
		{name: "huge headers", base: rawServer(t, head+strings.Repeat("X: {id}\r\n", 20_000)+"\r\n"), kind: Transient},
		{name: "upgrade", base: rawServer(t, "HTTP/1.1 101 {id}\r\nConnection: Upgrade\r\nUpgrade: {id}\r\n\r\n"), kind: Rejected, status: 101},
		{name: "status without meaning", base: rawServer(t, "HTTP/1.1 799 {id}\r\nContent-Length: 0\r\n\r\n"), kind: Transient, status: 799},
		{name: "304 that was not asked for", base: rawServer(t, "HTTP/1.1 304 {id}\r\n\r\n"), kind: Rejected, status: 304},
		{name: "redirect without a Location", base: rawServer(t, "HTTP/1.1 302 {id}\r\nContent-Length: 0\r\n\r\n"), kind: Rejected, status: 302},
		{name: "gzip that is none", base: noGzip.URL, kind: Transient, status: 200},
		{name: "gzip that grows", base: bomb.URL, kind: Malformed, status: 200, reason: refusal.TooLarge},
		{name: "huge body", fault: emulator.Fault{Kind: emulator.KindShape, Shape: "huge"}, kind: Malformed, status: 200, reason: refusal.TooLarge},
		{name: "redirect to itself", fault: redirect("self"), kind: Rejected, has: "more than 10 redirects"},
		{name: "redirect from https to http", base: trusted.URL, edit: func(c *Config) { c.CAFile = ca; c.AllowInsecureHTTP = true }, kind: Malformed, reason: refusal.Insecure, has: "from https to plain http"},
		{name: "redirect to http on another host", fault: redirect("http://192.0.2.1/" + inPath), kind: Malformed, reason: refusal.Insecure},
		{name: "redirect with the id in the path", fault: redirect("https://other.example/" + inPath + "/x"), kind: Rejected, has: "with the Customer ID"},
		{name: "redirect with the id in the host", fault: redirect("https://" + strings.ReplaceAll(inPath, "/", "%2F") + ".example/"), kind: Rejected, has: "redirect to"},
		{name: "redirect with the id over two parameters", fault: redirect("https://other.example/?a={id}&b=1"), kind: Rejected, has: "with the Customer ID"},
		{name: "redirect to another scheme", fault: redirect("ftp://other.example/" + inPath), kind: Rejected, has: "scheme"},
		{name: "redirect to no host", fault: redirect("http:{id}"), kind: Rejected, has: "an invalid address"},
		{name: "redirect with the id in the host, plain", fault: redirect("https://K3Y/with+special=chars&%25.example/"), kind: Rejected, has: "with the Customer ID"},
		{name: "redirect to nonsense", fault: redirect("http://[::1/%zz/{id}"), kind: Rejected, has: "an invalid address"},
		{name: "redirect of a POST", fault: redirect("self"), req: func(r *Request) { r.Method = http.MethodPost }, kind: Rejected, has: "must not be repeated"},
		{name: "bad method", base: hang.URL, req: func(r *Request) { r.Method = "NO " + testID }, kind: Rejected, has: "invalid method"},
	}
	for _, status := range []int{400, 401, 402, 403, 404, 405, 408, 409, 410, 418, 425, 429, 451, 499, 500, 501, 502, 503, 504, 599} {
		for _, shape := range []string{"type", "title", "empty", "html", "echo"} {
			all = append(all, failing{
				name: fmt.Sprint(status, " ", shape), fault: emulator.Fault{Kind: emulator.KindStatus, Status: status, Shape: shape},
				kind: kindOf(status), status: status, has: fmt.Sprint("status ", status),
			})
		}
		for name, body := range map[string]string{
			"id as type":        `{"type":"{id}","message":"{id}"}`,
			"id in errors":      `{"title":"x {id}","errors":{"{id}":["{id}"]}}`,
			"id escaped twice":  `{"message":"` + jsonAll("%4B3Y%2fwith%2Bspecial%3Dchars%26%25") + `"}`,
			"id beside nesting": `{"message":"K3Y\u00252fwith\u002bspecial\u003dchars\u0026\u0025"}`,
			"huge":              `{"message":"` + strings.Repeat("{id}", 100_000) + `"}`,
			"wrong types":       `{"type":5,"message":["{id}"],"errors":"{id}","title":"kept"}`,
		} {
			all = append(all, failing{
				name: fmt.Sprint(status, " ", name), fault: emulator.Fault{Kind: emulator.KindStatus, Status: status, Body: body},
				kind: kindOf(status), status: status,
			})
		}
	}
	return all
}

func redirect(location string) emulator.Fault {
	return emulator.Fault{Kind: emulator.KindRedirect, Location: location, Status: http.StatusTemporaryRedirect}
}

// kindOf repeats the statuses of docs/wire/releases.md, section "Errors".
func kindOf(status int) Kind {
	switch status {
	case 404, 410:
		return NotFound
	case 401, 403:
		return Licence
	case 408, 425, 429:
		return Transient
	}
	if status >= 500 {
		return Transient
	}
	return Rejected
}

func TestErrorsHaveTheirKindAndNeverTheCustomerID(t *testing.T) {
	e := startEmulator(t)
	for _, f := range failures(t) {
		t.Run(f.name, func(t *testing.T) {
			base := f.base
			if base == "" {
				base = e.URL()
				e.ClearFaults()
				e.AddFault(f.fault)
			}
			c := newClient(t, base, func(cfg *Config) { cfg.Retry = quick })
			if f.edit != nil {
				c = newClient(t, base, func(cfg *Config) { cfg.Retry = quick }, f.edit)
			}
			req := list
			if f.req != nil {
				f.req(&req)
			}
			res, body, err := c.Do(t.Context(), req)
			if res != nil || body != nil {
				t.Errorf("got an answer of %d bytes and an error", len(body))
			}
			var failed *Error
			if !errors.As(err, &failed) {
				t.Fatalf("not an *Error: %T %v", err, err)
			}
			assertNoID(t, "error", err)
			assertNoID(t, "path", errors.New(failed.Path))
			for _, field := range []string{failed.Type, failed.Message} {
				assertNoID(t, "field", errors.New(field))
			}
			if failed.Kind != f.kind || f.status >= 0 && failed.Status != f.status || refusal.ReasonOf(err) != f.reason {
				t.Errorf("kind %d, status %d, reason %q: %v", failed.Kind, failed.Status, refusal.ReasonOf(err), err)
			}
			if text := err.Error(); !strings.Contains(text, f.has) || len(text) > 2000 || strings.ContainsAny(text, "\n\r\x00") {
				t.Errorf("text %q", text)
			}
			if IsTransient(err) != (f.kind == Transient) {
				t.Errorf("transient %t", IsTransient(err))
			}
		})
	}
}

func TestErrorsKeepTheirCause(t *testing.T) {
	refused := newClient(t, "http://"+closedPort(t), func(c *Config) { c.Retry = quick })
	if _, _, err := refused.Do(t.Context(), list); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("refused connection: %v", err)
	}
	var dns *net.DNSError
	if _, _, err := newClient(t, "http://no..such.invalid", func(c *Config) { c.Retry = quick }).Do(t.Context(), list); !errors.As(err, &dns) {
		t.Errorf("no such host: %v", err)
	}
	server, _ := tlsServer(t, func(http.ResponseWriter, *http.Request) {})
	var authority x509.UnknownAuthorityError
	if _, _, err := newClient(t, server.URL).Do(t.Context(), list); !errors.As(err, &authority) {
		t.Errorf("unknown authority: %v", err)
	}
	e := startEmulator(t)
	e.AddFault(emulator.Fault{Kind: emulator.KindTruncate, After: 1})
	if _, _, err := newClient(t, e.URL(), func(c *Config) { c.Retry = quick }).Do(t.Context(), list); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("short body: %v", err)
	}
}

func TestErrorText(t *testing.T) {
	tests := []struct {
		err  *Error
		want string
	}{
		{&Error{Endpoint: "Manifest", Path: "/Manifest/2026.10/m", Status: 503, Kind: Transient}, "Manifest /Manifest/2026.10/m: status 503 Service Unavailable"},
		{&Error{Endpoint: "Hash", Path: "/SHA256/x", Status: 401, Kind: Licence, Type: "expiredLicense", Message: "It ended."},
			"Hash /SHA256/x: status 401 Unauthorized: expiredLicense: It ended; check the Customer ID and its licence"},
		{&Error{Endpoint: "E", Path: "/", Status: 404, Kind: NotFound, Type: "invalidManifest", Message: "No such manifest."},
			"E /: status 404 Not Found: invalidManifest: No such manifest; `syncd manifests` lists all"},
		{&Error{Endpoint: "E", Path: "/", Status: 404, Kind: NotFound, Type: "invalidRelease"}, "E /: status 404 Not Found: invalidRelease; `syncd releases MANIFEST` lists all"},
		{&Error{Endpoint: "E", Path: "/", Status: 503, Type: "serviceError", Message: "Service Unavailable"}, "E /: status 503 Service Unavailable: serviceError"},
		{&Error{Endpoint: "E", Path: "/", Err: io.ErrUnexpectedEOF}, "E /: the response ended before it was complete"},
		{&Error{Endpoint: "E", Path: "/", Err: io.EOF}, "E /: the server closed the connection without a response"},
		{&Error{Endpoint: "E", Path: "/", Status: 499}, "E /: status 499"},
		{&Error{Endpoint: "E", Path: "/", Err: errors.New("")}, "E /: no reason given"},
		{&Error{Endpoint: "E", Path: "/", Status: 400, Type: " ", Message: "."}, "E /: status 400 Bad Request"},
		{&Error{Endpoint: "Manifest", Path: "/m", Kind: Transient, Err: errStalled}, "Manifest /m: stalled: no byte arrived within stall_timeout"},
		{&Error{Endpoint: "Manifest", Path: "/m", Status: 200, Kind: Malformed, Err: refusal.New(refusal.TooLarge, "too large")}, "Manifest /m: too large"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
	cooling := &CoolingDown{Origin: "https://h:443", Until: time.Date(2026, 10, 2, 3, 4, 5, 0, time.UTC)}
	if got := cooling.Error(); got != "https://h:443 asked to wait until 2026-10-02T03:04:05Z (Retry-After)" {
		t.Error(got)
	}
}

func TestParseProblemReadsBothShapes(t *testing.T) {
	tests := []struct{ body, kind, message string }{
		{`{"type":"expiredLicense","message":"It ended.","more_info":"x"}`, "expiredLicense", "It ended."},
		{`{"type":"about:blank","title":"Bad","status":400,"errors":{"b":["x","y"],"a":["z"]},"traceId":"0"}`, "about:blank", "Bad; a: z; b: x, y; trace 0"},
		{`{"title":"No such file.","errors":{"filename":["No such file."]}}`, "", "filename: No such file."},
		{`{"title":"No such file.","traceId":"0"}`, "", "No such file; trace 0"},
		{`{"type":"t","errors":"text"}`, "t", ""},
		{`{"type":7,"message":"kept"}`, "", "kept"},
		{`{"errors":{"a":[],"b":null,"c":"x"}}`, "", "a; b; c: x"},
		{"", "", ""}, {"null", "", ""}, {"[]", "", ""}, {"<html>", "", ""}, {`{"type":"cut`, "", ""},
		{`{"message":"a\u0000b\u001b[31m\nc\u007f\u009bd\u202ee\u2028f"}`, "", "a b [31m c d e f"},
		{`{"message":"` + strings.Repeat("é", 200) + `"}`, "", strings.Repeat("é", 150) + "…"},
		{`{"message":"id ` + testID + `"}`, "", "id REDACTED"},
	}
	for _, tt := range tests {
		kind, message := parseProblem([]byte(tt.body), NewRedactor(testID))
		if diff := cmp.Diff([]string{tt.kind, tt.message}, []string{kind, message}); diff != "" {
			t.Errorf("%s: %s", tt.body, diff)
		}
	}
}

func TestACancelledRequestReturnsTheCauseOfItsContext(t *testing.T) {
	cause := errors.New("shutting down")
	arrived := make(chan struct{}, 100)
	server := plainServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.Header().Set("Content-Length", "10")
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
		}
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	ends := map[string]func(context.Context) (context.Context, func(), error){
		"cancelled": func(ctx context.Context) (context.Context, func(), error) {
			ctx, cancel := context.WithCancel(ctx)
			return ctx, cancel, context.Canceled
		},
		"with a cause": func(ctx context.Context) (context.Context, func(), error) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(cause) }, cause
		},
		"deadline": func(ctx context.Context) (context.Context, func(), error) {
			ctx, cancel := context.WithTimeout(ctx, soon)
			return ctx, func() { <-ctx.Done(); cancel() }, context.DeadlineExceeded
		},
	}
	for name, end := range ends {
		for _, path := range []string{"headers", "body"} {
			for _, once := range []bool{false, true} {
				t.Run(fmt.Sprint(name, " ", path, " ", once), func(t *testing.T) {
					ctx, stop, want := end(t.Context())
					defer stop()
					c := newClient(t, server.URL)
					done := make(chan error)
					go func() {
						_, _, err := c.Do(ctx, Request{Endpoint: "E", Segments: []string{path}, Limit: 100, Once: once})
						done <- err
					}()
					select { // the deadline may end before the request arrives
					case <-arrived:
						stop()
						if err := <-done; err != want {
							t.Errorf("got %v", err)
						}
					case err := <-done:
						if name != "deadline" || err != want {
							t.Errorf("got %v", err)
						}
					}
				})
			}
		}
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	before := len(server.requests())
	if _, _, err := newClient(t, server.URL).Do(ended, list); err != cause {
		t.Errorf("a context that ended before: %v", err)
	}
	if len(server.requests()) != before {
		t.Error("a request was made after the end")
	}
}
