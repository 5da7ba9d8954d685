package emulator

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/emulator/testclient"
)

func TestAddFaultPanics(t *testing.T) {
	e := start(t, Config{})
	for _, f := range []Fault{{Kind: "none"}, {Kind: KindSlow}, {Kind: KindStall, Path: "["}, {Kind: KindStall, After: -1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v was taken", f)
				}
			}()
			e.AddFault(f)
		}()
	}
}

func TestFaultOrder(t *testing.T) {
	e := start(t, Config{})
	e.AddSample()
	e.AddFault(Fault{Kind: KindStatus, Status: 500, Path: "/Manifest*", Skip: 1, Times: 2})
	second := e.AddFault(Fault{Kind: KindStatus, Status: 429, Times: 1})
	e.AddFault(Fault{Kind: KindStatus, Status: 501, Host: HostDownload})
	e.AddFault(Fault{Kind: KindStatus, Status: 502, Skip: 1})
	var got []int
	for range 6 {
		got = append(got, testclient.Get(t, e, "/ManifestReleases/dq_addr_data", "").StatusCode)
	}
	// The fourth request finds the first two faults used up. The last fault skips it.
	if diff := cmp.Diff([]int{429, 500, 500, 200, 502, 502}, got); diff != "" {
		t.Error(diff)
	}
	states := e.Faults()
	if s := states[0]; s.Matched != 6 || s.Hits != 2 {
		t.Errorf("first %+v", s)
	}
	if s := states[1]; s.ID != second || s.Matched != 4 || s.Hits != 1 {
		t.Errorf("second %+v", s)
	}
	e.ClearFaults()
	if a := testclient.Get(t, e, "/ManifestReleases/dq_addr_data", ""); a.StatusCode != 200 {
		t.Errorf("status %d after ClearFaults", a.StatusCode)
	}
}

// faulty serves one file of 100 kB under a fault. It returns the content and the
// URL of the file.
func faulty(t *testing.T, f Fault) (e *Emulator, content, target string) {
	t.Helper()
	e = start(t, Config{})
	e.SetManifest("m", "2026.10", File{Name: "a", Content: Random(5, 100_000)})
	target = testclient.FileURL(t, e, "Data/2026.10/a")
	f.Path = "/files/*"
	e.AddFault(f)
	return e, string(testclient.ReadAll(t, Random(5, 100_000))), target
}

func TestFaultStatus(t *testing.T) {
	e := start(t, Config{})
	e.AddSample()
	id := url.QueryEscape(testclient.ID)
	tests := []struct {
		fault  Fault
		status int
		body   string
	}{
		{Fault{}, 503, `{"type":"serviceError","message":"Service Unavailable"`},
		{Fault{Status: 401, Type: "expiredLicense"}, 401, `"type":"expiredLicense"`},
		{Fault{Status: 403}, 403, `"type":"invalidProduct"`},
		{Fault{Status: 400, Shape: "title"}, 400, `"errors":{"request":["Bad Request"]},"traceId":`},
		{Fault{Status: 500, Shape: "empty"}, 500, ``},
		{Fault{Status: 502, Shape: "html"}, 502, `<h1>Bad Gateway</h1>`},
		{Fault{Status: 401, Shape: "echo"}, 401, id},
		{Fault{Status: 418, Body: "of {id}"}, 418, "of " + testclient.ID},
	}
	for _, tt := range tests {
		tt.fault.Kind, tt.fault.RetryAfter = KindStatus, "7"
		e.ClearFaults()
		e.AddFault(tt.fault)
		a := testclient.Get(t, e, "/ManifestReleases/dq_addr_data", "")
		if a.StatusCode != tt.status || !strings.Contains(a.Text, tt.body) || tt.body == "" && a.Text != "" || a.Header.Get("Retry-After") != "7" {
			t.Errorf("%s: %d %s %s", tt.fault, a.StatusCode, a.Header.Get("Retry-After"), a.Text)
		}
	}
}

func TestFaultShape(t *testing.T) {
	e := start(t, Config{})
	e.AddSample()
	tests := map[string]string{
		"html": "<html>", "object": `{"value":`, "nonsense": "]]}{", "empty": "",
		"error": `{"type":"invalidLicense"`, "null": "null", "echo": url.QueryEscape(testclient.ID),
	}
	for shape, want := range tests {
		e.ClearFaults()
		e.AddFault(Fault{Kind: KindShape, Shape: shape})
		a := testclient.Get(t, e, "/ManifestReleases/dq_addr_data", "")
		if a.StatusCode != 200 || !strings.Contains(a.Text, want) || want == "" && a.Text != "" {
			t.Errorf("%s: %d %q", shape, a.StatusCode, a.Text)
		}
	}
	if len(tests)+1 != len(shapes) {
		t.Errorf("%d of %d shapes are tested", len(tests)+1, len(shapes))
	}
}

func TestFaultHuge(t *testing.T) {
	e := start(t, Config{})
	e.AddFault(Fault{Kind: KindShape, Shape: "huge"})
	for path, want := range map[string]string{
		"/ManifestReleases/m": `["2026.10","2026.09","2026.09"`, "/Manifest/latest/m": `["http://`,
		"/Metadata/Data/1/a": `{"FileName":"a","Comment":"`, "/MD5/Data/1/a": `"0123456789abcdef0123`,
	} {
		resp, err := testclient.New(t).Get(testclient.Address(e, path, ""))
		must(t, err)
		first := make([]byte, len(want))
		if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != want {
			t.Errorf("%s: %q, %v", path, first, err)
		}
		if path == "/Manifest/latest/m" {
			if n, err := io.Copy(io.Discard, resp.Body); n <= 64<<20 || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
		}
		resp.Body.Close()
	}
	if a := testclient.Send(t, http.MethodHead, testclient.Address(e, "/Manifest/latest/m", "")); a.StatusCode != 200 {
		t.Errorf("HEAD: %d", a.StatusCode)
	}
}

func TestFaultBody(t *testing.T) {
	e := start(t, Config{})
	for body, contentType := range map[string]string{
		"deadbeef": "text/plain; charset=utf-8", `["a"]`: "application/json; charset=utf-8",
		"<p>": "text/html; charset=utf-8", "": "",
	} {
		e.ClearFaults()
		e.AddFault(Fault{Kind: KindBody, Path: "/SHA256/*", Body: body})
		a := testclient.Get(t, e, "/SHA256/Data/2026.10/a", "")
		if a.StatusCode != 200 || a.Text != body || a.Header.Get("Content-Type") != contentType {
			t.Errorf("%q: %d %q of %s", body, a.StatusCode, a.Text, a.Header.Get("Content-Type"))
		}
	}
}

func TestFaultRedirect(t *testing.T) {
	e := start(t, Config{})
	self := strings.TrimPrefix(testclient.Address(e, "/Manifest/latest/m", "format=json"), e.URL())
	for location, want := range map[string]string{"self": self, "http://x.example/{id}": "http://x.example/" + testclient.ID} {
		e.ClearFaults()
		e.AddFault(Fault{Kind: KindRedirect, Location: location})
		a := testclient.Get(t, e, "/Manifest/latest/m", "format=json")
		if a.StatusCode != 302 || a.Header.Get("Location") != want {
			t.Errorf("%s: %d %s", location, a.StatusCode, a.Header.Get("Location"))
		}
	}
	e.ClearFaults()
	e.AddFault(Fault{Kind: KindRedirect, Location: "/x", Status: 307})
	if a := testclient.Get(t, e, "/Manifest/latest/m", ""); a.StatusCode != 307 {
		t.Errorf("status %d", a.StatusCode)
	}
}

func TestFaultDelay(t *testing.T) {
	_, content, target := faulty(t, Fault{Kind: KindDelay, Delay: 20 * time.Millisecond})
	begin := time.Now()
	if a := testclient.Send(t, http.MethodGet, target); a.Text != content {
		t.Error("other bytes")
	}
	if d := time.Since(begin); d < 20*time.Millisecond {
		t.Errorf("answered after %v", d)
	}
}

func TestCloseEndsDelay(t *testing.T) {
	e, _, target := faulty(t, Fault{Kind: KindDelay, Delay: time.Hour})
	done := make(chan error)
	go func() {
		_, err := testclient.Try(t, http.MethodGet, target, "")
		done <- err
	}()
	for len(e.Requests()) < 2 {
		time.Sleep(time.Millisecond)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("there was an answer")
	}
}

func TestFaultTruncate(t *testing.T) {
	for _, after := range []int64{0, 1, 70_000} {
		_, content, target := faulty(t, Fault{Kind: KindTruncate, After: after})
		a := testclient.Send(t, http.MethodGet, target)
		if a.ContentLength != 100_000 || !errors.Is(a.Err, io.ErrUnexpectedEOF) || a.Text != content[:after] {
			t.Errorf("after %d: %d of %d bytes, %v", after, len(a.Text), a.ContentLength, a.Err)
		}
	}
	_, content, target := faulty(t, Fault{Kind: KindTruncate, After: 100_000})
	if a := testclient.Send(t, http.MethodGet, target); a.Text != content || a.Err != nil {
		t.Errorf("after all: %v", a.Err)
	}
}

func TestFaultStall(t *testing.T) {
	e, content, target := faulty(t, Fault{Kind: KindStall, After: 50_000})
	resp, err := testclient.New(t).Get(target)
	must(t, err)
	got := make([]byte, 50_000)
	if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != content[:50_000] {
		t.Errorf("other bytes, %v", err)
	}
	resp.Body.Close() // which lets the handler go, or Close would wait
	if r := e.Requests(); r[len(r)-1].BytesSent != 50_000 {
		t.Errorf("%d bytes in the log", r[len(r)-1].BytesSent)
	}
}

func TestFaultReset(t *testing.T) {
	for _, after := range []int64{1, 30_000, 99_999} {
		_, content, target := faulty(t, Fault{Kind: KindReset, After: after})
		a := testclient.Send(t, http.MethodGet, target)
		if !errors.Is(a.Err, syscall.ECONNRESET) || a.Text != content[:after] {
			t.Errorf("after %d: %d bytes, %v", after, len(a.Text), a.Err)
		}
	}
	e, _, target := faulty(t, Fault{Kind: KindReset})
	if _, err := testclient.Try(t, http.MethodGet, target, "", "Connection", "close"); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("before the headers: %v", err)
	}
	if r := e.Requests(); r[len(r)-1].Status != 0 {
		t.Errorf("status %d in the log", r[len(r)-1].Status)
	}
}

// All bytes before a reset arrive, also when they exceed the buffers of the
// connection and the client reads slowly.
func TestResetWaitsForSentBytes(t *testing.T) {
	e := start(t, Config{})
	e.SetManifest("m", "2026.10", File{Name: "a", Content: Random(5, 32<<20)})
	target := testclient.FileURL(t, e, "Data/2026.10/a")
	e.AddFault(Fault{Kind: KindReset, Path: "/files/*", After: 16 << 20})
	resp, err := testclient.New(t).Get(target)
	must(t, err)
	defer resp.Body.Close()
	for { // until the server has handed all of it to the kernel, or cannot
		before := e.Requests()[1].BytesSent
		time.Sleep(20 * time.Millisecond)
		if e.Requests()[1].BytesSent == before {
			break
		}
	}
	if n, err := io.Copy(io.Discard, resp.Body); n != 16<<20 || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestFaultCorrupt(t *testing.T) {
	_, content, target := faulty(t, Fault{Kind: KindCorrupt, After: 60_000})
	want := []byte(content)
	want[60_000] ^= 1
	for _, r := range [][2]int{{0, 99_999}, {60_000, 60_000}, {59_999, 60_001}, {0, 59_999}, {60_001, 99_999}} {
		a := testclient.Send(t, http.MethodGet, target, "Range", fmt.Sprintf("bytes=%d-%d", r[0], r[1]))
		if a.StatusCode != 206 || a.Text != string(want[r[0]:r[1]+1]) {
			t.Errorf("range %v has other bytes", r)
		}
	}
	if a := testclient.Send(t, http.MethodGet, target); a.StatusCode != 200 || a.Text != string(want) {
		t.Error("the whole content has other bytes")
	}
}

func TestFaultDate(t *testing.T) {
	for offset, hours := range map[string]float64{"-720h": -720, "720h": 720, "0s": 0} {
		e, _, target := faulty(t, Fault{Kind: KindDate, Date: offset})
		defer e.Close()
		date, err := http.ParseTime(testclient.Send(t, http.MethodGet, target).Header.Get("Date"))
		if off := time.Until(date).Hours() - hours; err != nil || off < -1 || off > 1 {
			t.Errorf("%s: %v, %v", offset, date, err)
		}
	}
	e, _, target := faulty(t, Fault{Kind: KindDate, Date: "none"})
	defer e.Close()
	if date := testclient.Send(t, http.MethodGet, target).Header.Values("Date"); len(date) > 0 {
		t.Errorf("none: %q", date)
	}
}

func TestFaultHeaders(t *testing.T) {
	rangeOf := []string{"Range", "bytes=10-19"}
	tests := []struct {
		name    string
		kind    string
		headers []string
		status  int
		length  int
		check   func(t *testing.T, a testclient.Answer)
	}{
		{"ranges ignored", KindNoRanges, rangeOf, 200, 100_000, func(t *testing.T, a testclient.Answer) {
			if a.Header.Get("Accept-Ranges") != "" || a.ContentLength != 100_000 {
				t.Errorf("%v", a.Header)
			}
		}},
		{"no validators", KindNoValidators, nil, 200, 100_000, noValidators},
		{"no validators, range", KindNoValidators, rangeOf, 206, 10, noValidators},
		{"no validators, If-Range", KindNoValidators, append(rangeOf, "If-Range", `"x"`), 200, 100_000, noValidators},
		{"no length", KindNoLength, nil, 200, 100_000, chunked},
		{"no length, range", KindNoLength, rangeOf, 206, 10, chunked},
		{"ETag changed", KindChangeETag, nil, 200, 100_000, func(t *testing.T, a testclient.Answer) {
			if a.Header.Get("ETag") != `"changed-1"` {
				t.Errorf("ETag %s", a.Header.Get("ETag"))
			}
		}},
		{"ETag changed, range", KindChangeETag, append(rangeOf, "If-Range", `"changed-1"`), 200, 100_000, func(*testing.T, testclient.Answer) {}},
		{"bad range", KindBadRange, rangeOf, 206, 10, func(t *testing.T, a testclient.Answer) {
			if got := a.Header.Get("Content-Range"); got != "bytes 11-20/100000" {
				t.Errorf("Content-Range %s", got)
			}
		}},
		{"bad range, not asked for", KindBadRange, nil, 200, 100_000, func(*testing.T, testclient.Answer) {}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, content, target := faulty(t, Fault{Kind: tt.kind})
			a := testclient.Send(t, http.MethodGet, target, tt.headers...)
			want := content
			if tt.length == 10 {
				want = content[10:20]
			}
			if a.StatusCode != tt.status || a.Text != want {
				t.Errorf("status %d, %d bytes", a.StatusCode, len(a.Text))
			}
			tt.check(t, a)
			r := e.Requests()
			if len(tt.headers) > 0 && r[len(r)-1].Header.Get("Range") == "" {
				t.Error("the log lost a header")
			}
		})
	}
}

func noValidators(t *testing.T, a testclient.Answer) {
	t.Helper()
	if a.Header.Get("ETag") != "" || a.Header.Get("Last-Modified") != "" {
		t.Errorf("%v", a.Header)
	}
}

func chunked(t *testing.T, a testclient.Answer) {
	t.Helper()
	if a.ContentLength != -1 || len(a.TransferEncoding) != 1 {
		t.Errorf("length %d, %v", a.ContentLength, a.TransferEncoding)
	}
}

func TestFaultNoLengthOfShortBodies(t *testing.T) {
	e := start(t, Config{})
	e.AddSample()
	e.AddFault(Fault{Kind: KindNoLength})
	chunked(t, testclient.Get(t, e, "/ManifestReleases/dq_addr_data", ""))
}

func TestFaultSlow(t *testing.T) {
	_, content, target := faulty(t, Fault{Kind: KindSlow, Rate: 2_000_000})
	begin := time.Now()
	if a := testclient.Send(t, http.MethodGet, target); a.Text != content {
		t.Error("other bytes")
	}
	if d := time.Since(begin); d < 45*time.Millisecond { // nominally 50 ms
		t.Errorf("all of it after %v", d)
	}
}

func TestCloseEndsSlowAnswer(t *testing.T) {
	e, _, target := faulty(t, Fault{Kind: KindSlow, Rate: 1})
	resp, err := testclient.New(t).Get(target)
	must(t, err)
	defer resp.Body.Close()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the whole body arrived")
	}
}
