package releases

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"syncd/internal/clients/transport"
	"syncd/internal/emulator"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

func TestMain(m *testing.M) {
	if base := os.Getenv(hostileURL); base != "" {
		work := func() error { return measureAll(base) }
		if base == "serve" {
			work = serveAll
		}
		if err := work(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

var update = flag.Bool("update", false, "write the golden files anew")

// testID is no secret and has characters that a query escapes.
const testID = "TEST/id+1 &="

var (
	dataRef      = manifest.Parts{Class: manifest.Data, Release: "2026.10", Name: "md Addr,1.dat"}.Reference()
	productRef   = manifest.Parts{Class: manifest.Product, Release: "2026.Q4", Name: "dq_full"}.Reference()
	libraryRef   = manifest.Parts{Class: manifest.Library, OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Release: "2026.10", Name: "libmdAddr.so"}.Reference()
	interfaceRef = manifest.Parts{Class: manifest.Interface, OS: "ANY", Language: "PYTHON", Architecture: "ANY", Release: "2026.09", Name: "mdAddr.py"}.Reference()
	allRefs      = []manifest.Reference{dataRef, productRef, libraryRef, interfaceRef}
)

// behindURL is set by a test of the server for followers, which then answers in place of
// the emulator. It has the same files.
const behindURL = "SYNCD_TEST_RELEASES_BEHIND"

func startEmulator(t testing.TB) *emulator.Emulator {
	t.Helper()
	e, err := emulator.Start(emulator.Config{CustomerID: testID, Behind: os.Getenv(behindURL)})
	must(t, err)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	var files []emulator.File
	for _, ref := range allRefs {
		r := ref.Parts()
		f := emulator.File{
			Class: string(r.Class), OS: r.OS, Compiler: r.Compiler, Language: r.Language, Architecture: r.Architecture,
			Release: string(r.Release), Name: r.Name, Content: emulator.Text("content of " + r.Name),
		}
		if r.Release == "2026.Q4" {
			f.Release = "2026.11"
		}
		files = append(files, f)
	}
	e.SetManifest("dq_addr_data", "2026.10", files...)
	e.SetManifest("dq_addr_data", "2026.09", files[0])
	e.SetManifest("dq_old_data", "2026.08", files[0])
	return e
}

func connect(t testing.TB, base string) *Client {
	t.Helper()
	c, err := client(base)
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

func client(base string) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	carrier, err := transport.New(transport.Config{
		Base: u, CustomerID: testID, IDParam: "id", UserAgent: "syncd/test", StallTimeout: time.Minute,
		Retry: transport.Retry{InitialInterval: time.Millisecond, MaxInterval: time.Millisecond, MaxElapsed: time.Minute},
	})
	if err != nil {
		return nil, err
	}
	return New(carrier), nil
}

func downloadAll(t testing.TB, c *Client, ref manifest.Reference, header http.Header) (int, string) {
	t.Helper()
	res, err := c.Download(t.Context(), manifest.File{Reference: ref}, header, false)
	if err != nil {
		t.Errorf("%s: %v", ref, err)
		return 0, ""
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return res.Status, string(body)
}

func TestAllTwentyEndpointsSendTheDocumentedPaths(t *testing.T) {
	e := startEmulator(t)
	c := connect(t, e.URL())
	ctx := t.Context()
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}

	browser := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := browser.Get(c.BrowseURL("dq_addr_data", "2026.10", "dsize").String())
	check("Browse", err)
	if err == nil {
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("Browse: status %d", res.StatusCode)
		}
	}
	if got, want := c.BrowseURL("", "", "").String(), e.URL()+"/Browse?id="+url.QueryEscape(testID); got != want {
		t.Errorf("Browse without arguments: %s", got)
	}

	ids, now, notModified, err := c.ManifestReleases(ctx, "dq_addr_data", Validators{})
	check("ManifestReleases", err)
	if diff := cmp.Diff([]string{"2026.09", "2026.10"}, ids); diff != "" || notModified || now.ETag == "" {
		t.Errorf("ManifestReleases: %v %+v %t", ids, now, notModified)
	}
	since := Validators{ETag: now.ETag, LastModified: "Thu, 01 Oct 2026 12:00:00 GMT"}
	ids, again, notModified, err := c.ManifestReleases(ctx, "dq_addr_data", since)
	check("ManifestReleases", err)
	if ids != nil || again != since || !notModified {
		t.Errorf("ManifestReleases, nothing new: %v %+v %t", ids, again, notModified)
	}
	list, err := c.Manifest(ctx, "2026.10", "dq_addr_data", nil)
	check("Manifest", err)
	refs := slices.Collect(list.All())
	want := append([]manifest.Reference(nil), allRefs...)
	want[1] = want[1].WithRelease("2026.11")
	if diff := cmp.Diff(want, refs); diff != "" {
		t.Errorf("Manifest: %s", diff)
	}
	entries, err := c.ManifestList(ctx, "2026.10")
	check("ManifestList", err)
	if len(entries) != 2 || entries[1].Name != "dq_old_data" || entries[1].Description == "" ||
		entries[1].URL != e.URL()+"/Manifest/2026.08/dq_old_data/?ID=REDACTED" {
		t.Errorf("ManifestList: %+v", entries)
	}
	for _, ref := range allRefs {
		releases, now, _, err := c.FileReleases(ctx, ref, Validators{})
		check("Releases", err)
		if len(releases) == 0 || now.ETag == "" {
			t.Errorf("Releases of %s: %v %+v", ref, releases, now)
		}
		meta, err := c.Metadata(ctx, ref)
		check("Metadata", err)
		content := "content of " + ref.Name()
		if meta.FileName != ref.Name() || meta.Size != int64(len(content)) {
			t.Errorf("Metadata of %s: %+v", ref, meta)
		}
		for _, want := range []struct {
			algorithm manifest.Algorithm
			hex       string
		}{
			{manifest.SHA256, fmt.Sprintf("%x", sha256.Sum256([]byte(content)))},
			{manifest.SHA1, fmt.Sprintf("%x", sha1.Sum([]byte(content)))},
			{manifest.MD5, fmt.Sprintf("%x", md5.Sum([]byte(content)))},
		} {
			digest, err := c.Hash(ctx, want.algorithm, ref)
			check("Hash", err)
			if digest.Hex() != want.hex || digest.Algorithm != want.algorithm {
				t.Errorf("Hash of %s: %s, want %s", ref, digest, want.hex)
			}
		}
		if status, body := downloadAll(t, c, ref, http.Header{"Range": {"bytes=3-"}, "If-Range": {`"none"`}, "Accept-Encoding": {"identity"}}); status != 200 || body != content {
			t.Errorf("Download of %s: %d %q", ref, status, body)
		}
	}
	golden(t, "requests.golden", requestLog(e))
}

func requestLog(e *emulator.Emulator) string {
	var b strings.Builder
	for _, r := range e.Requests() {
		if r.Host != emulator.HostRelease {
			continue
		}
		fmt.Fprintf(&b, "%s %s?%s\n", r.Method, r.Path, r.RawQuery)
		for _, name := range []string{"User-Agent", "Referer", "Authorization", "If-None-Match", "If-Modified-Since", "Range", "If-Range", "Accept-Encoding"} {
			value := r.Header.Get(name)
			if name == "If-None-Match" { // each server makes its own
				value = regexp.MustCompile(`^"[0-9a-f]{24}"$`).ReplaceAllString(value, "the ETag of the first answer")
			}
			if value != "" {
				fmt.Fprintf(&b, "\t%s: %s\n", name, value)
			}
		}
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		must(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("other than %s (go test -update writes it anew):\n%s", file, diff)
	}
}

// endpoint is one call for each kind of result, for tests with faults.
type endpoint struct {
	name string
	path string // as errors print it
	call func(*testing.T, *Client) error
}

var endpoints = []endpoint{
	{"ManifestReleases", "/ManifestReleases/dq_addr_data", func(t *testing.T, c *Client) error {
		ids, now, notModified, err := c.ManifestReleases(t.Context(), "dq_addr_data", Validators{})
		if err != nil && (ids != nil || now != Validators{} || notModified) {
			t.Error("got a result and an error")
		}
		return err
	}},
	{"Releases", "/Releases/Library/LINUX/GCC48/64BIT/libmdAddr.so", func(t *testing.T, c *Client) error {
		_, _, _, err := c.FileReleases(t.Context(), libraryRef, Validators{})
		return err
	}},
	{"Manifest", "/Manifest/2026.10/dq_addr_data", func(t *testing.T, c *Client) error {
		_, err := c.Manifest(t.Context(), "2026.10", "dq_addr_data", nil)
		return err
	}},
	{"ManifestList", "/ManifestList/2026.10", func(t *testing.T, c *Client) error {
		_, err := c.ManifestList(t.Context(), "2026.10")
		return err
	}},
	{"Metadata", "/Metadata/Data/2026.10/md%20Addr%2C1.dat", func(t *testing.T, c *Client) error {
		_, err := c.Metadata(t.Context(), dataRef)
		return err
	}},
	{"Hash", "/SHA256/Data/2026.10/md%20Addr%2C1.dat", func(t *testing.T, c *Client) error {
		_, err := c.Hash(t.Context(), manifest.SHA256, dataRef)
		return err
	}},
}

// redactor takes long to make with the race detector.
var redactor = sync.OnceValue(func() transport.Redactor { return transport.NewRedactor(testID) })

// assertNoID fails the test when err or one of its causes prints the Customer ID.
func assertNoID(t *testing.T, err error) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		for _, text := range []string{fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
			if redactor().Contains(text) || strings.Contains(text, "TEST/id") {
				t.Errorf("the Customer ID is in %s", text)
			}
		}
	}
}

func TestWrongShapesAreRefusedWhateverTheStatus(t *testing.T) {
	e := startEmulator(t)
	c := connect(t, e.URL())
	shape := func(s string) emulator.Fault { return emulator.Fault{Kind: emulator.KindShape, Shape: s} }
	body := func(s string) emulator.Fault { return emulator.Fault{Kind: emulator.KindBody, Body: s} }
	faults := map[string]emulator.Fault{
		"HTML":                    shape("html"),
		"HTML fragment":           body("<p>Please <b>sign in</b></p>"),
		"HTML with one paragraph": body("<html><body>no</body></html>"),
		"upper-case HTML":         body("<HTML><BODY>no {id}</BODY></HTML>"),
		"error object":            shape("error"),
		"error object with title": body(`{"title":"no","status":401,"errors":{}}`),
		"echo of the id":          shape("echo"),
		"error object in XML":     body(`<Error><Code>AccessDenied</Code><Message>{id}</Message></Error>`),
		"object":                  shape("object"),
		"nonsense":                shape("nonsense"),
		"null":                    shape("null"),
		"true":                    body(" true\n"),
		"nested arrays":           body(`[["2026.10"]]`),
		"numbers":                 body(`[202610, 5]`),
		"null in a list":          body(`["2026.10", null]`),
		"objects and strings":     body(`["2026.10", {"manifestName":"x"}]`),
		"truncated JSON":          body(`["2026.10", "2026.1`),
		"truncated object":        body(`{"FileName":"a","FileSi`),
		"truncated XML":           body(`<ArrayOfstring><string>2026.10</string><str`),
		"two JSON values":         body(`["2026.10"] ["2026.09"]`),
		"truncated string":        body(`"0123`),
		"invalid UTF-8":           body("[\"2026.10\xff\"]"),
		"invalid UTF-8 as text":   body("2026.10\r\n2026\xfe.09"),
		"invalid UTF-8 in XML":    body("<l><s>2026.10\xff</s></l>"),
		"deep XML":                body("<l><s><t>2026.10</t></s></l>"),
		"XML with a DTD":          body(`<!DOCTYPE l [<!ENTITY a "b">]><l><s>&a;</s></l>`),
		"XML entity":              body(`<l><s>&a;</s></l>`),
	}
	for name, fault := range faults {
		for _, ep := range endpoints {
			t.Run(name+" "+ep.name, func(t *testing.T) {
				e.ClearFaults()
				e.ResetRequests()
				e.AddFault(fault)
				err := ep.call(t, c)
				assertNoID(t, err)
				isObject := strings.HasPrefix(fault.Body, "{") || fault.Shape == "error" || fault.Shape == "object" || fault.Shape == "echo"
				if ep.name == "Metadata" && isObject && !strings.HasPrefix(name, "truncated") {
					return // an object without known keys is valid, empty metadata
				}
				var failed *transport.Error
				if refusal.ReasonOf(err) != refusal.BadShape || !errors.As(err, &failed) || failed.Kind != transport.Malformed {
					t.Fatalf("got %v", err)
				}
				if failed.Endpoint != ep.name || failed.Path != ep.path {
					t.Errorf("endpoint %s, path %s", failed.Endpoint, failed.Path)
				}
				if len(e.Requests()) != 1 {
					t.Errorf("%d requests for what cannot help", len(e.Requests()))
				}
			})
		}
	}
}

func TestBodiesOverTheirLimitAreRefused(t *testing.T) {
	e := startEmulator(t)
	c := connect(t, e.URL())
	for _, ep := range endpoints {
		e.ClearFaults()
		e.AddFault(emulator.Fault{Kind: emulator.KindShape, Shape: "huge"})
		if err := ep.call(t, c); refusal.ReasonOf(err) != refusal.TooLarge {
			t.Errorf("%s: %v", ep.name, err)
		}
	}
	// Test the exact limit where the body is small.
	digest := strings.Repeat("ab", 32)
	for size, want := range map[int]refusal.Reason{maxHash: "", maxHash + 1: refusal.TooLarge} {
		e.ClearFaults()
		e.AddFault(emulator.Fault{Kind: emulator.KindBody, Body: digest + strings.Repeat(" ", size-len(digest))})
		if _, err := c.Hash(t.Context(), manifest.SHA256, dataRef); refusal.ReasonOf(err) != want {
			t.Errorf("a hash of %d bytes: %v", size, err)
		}
	}
	object := `{"FileSize":"7"}`
	for size, want := range map[int]refusal.Reason{maxMetadata: "", maxMetadata + 1: refusal.TooLarge} {
		e.ClearFaults()
		e.AddFault(emulator.Fault{Kind: emulator.KindBody, Body: object + strings.Repeat("\n", size-len(object))})
		if _, err := c.Metadata(t.Context(), dataRef); refusal.ReasonOf(err) != want {
			t.Errorf("metadata of %d bytes: %v", size, err)
		}
	}
}

func TestErrorBodiesOfBothShapesAreParsed(t *testing.T) {
	e := startEmulator(t)
	c := connect(t, e.URL())
	for _, ep := range endpoints {
		for status, kind := range map[int]transport.Kind{400: transport.Rejected, 401: transport.Licence, 403: transport.Licence, 404: transport.NotFound} {
			for _, shape := range []string{"type", "title", "empty", "html", "echo"} {
				e.ClearFaults()
				e.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: status, Shape: shape})
				err := ep.call(t, c)
				assertNoID(t, err)
				var failed *transport.Error
				if !errors.As(err, &failed) || failed.Kind != kind || failed.Status != status || failed.Path != ep.path {
					t.Errorf("%s, %d, %s: %v", ep.name, status, shape, err)
					continue
				}
				if told := shape == "type" || shape == "title"; told && (failed.Type == "" || failed.Message == "") {
					t.Errorf("%s, %d, %s: the provider's words are lost: %v", ep.name, status, shape, err)
				}
			}
		}
	}
	for _, word := range []string{"invalidLicense", "expiredLicense", "invalidProduct", "invalidManifest"} {
		e.ClearFaults()
		e.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 401, Type: word})
		var failed *transport.Error
		if _, err := c.Manifest(t.Context(), "2026.10", "m", nil); !errors.As(err, &failed) || failed.Type != word {
			t.Errorf("%s: %v", word, err)
		}
	}
}

func TestA304IsAcceptedForConditionalRequestsOnly(t *testing.T) {
	e := startEmulator(t)
	e.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: http.StatusNotModified, Shape: "empty"})
	c := connect(t, e.URL())
	for _, ep := range endpoints {
		var failed *transport.Error
		if err := ep.call(t, c); !errors.As(err, &failed) || failed.Kind != transport.Rejected {
			t.Errorf("%s: %v", ep.name, err)
		}
	}
	for _, since := range []Validators{{ETag: `"x"`}, {LastModified: "Thu, 01 Oct 2026 12:00:00 GMT"}} {
		ids, now, notModified, err := c.ManifestReleases(t.Context(), "dq_addr_data", since)
		if err != nil || !notModified || now != since || ids != nil {
			t.Errorf("%+v: %v %+v %t %v", since, ids, now, notModified, err)
		}
	}
	e.ClearFaults()
	e.AddFault(emulator.Fault{Kind: emulator.KindNoValidators})
	ids, now, notModified, err := c.ManifestReleases(t.Context(), "dq_addr_data", Validators{ETag: `"x"`})
	if err != nil || notModified || len(ids) != 2 || now != (Validators{}) {
		t.Errorf("without validators: %v %+v %t %v", ids, now, notModified, err)
	}
}

func TestNamesThatAreNotOnePathSegmentAreNeverSent(t *testing.T) {
	e := startEmulator(t)
	c := connect(t, e.URL())
	ctx := t.Context()
	for _, bad := range []string{"", ".", "..", "a/b", `a\b`, "a\nb", "a\x00", strings.Repeat("a", 256), "a\xff", "\u009b31m"} {
		ref := manifest.Parts{Class: manifest.Data, Release: "2026.10", Name: bad}.Reference()
		calls := map[string]func() error{
			"ManifestReleases": func() error { _, _, _, err := c.ManifestReleases(ctx, bad, Validators{}); return err },
			"Manifest":         func() error { _, err := c.Manifest(ctx, "2026.10", bad, nil); return err },
			"Manifest release": func() error { _, err := c.Manifest(ctx, manifest.Release(bad), "m", nil); return err },
			"ManifestList":     func() error { _, err := c.ManifestList(ctx, manifest.Release(bad)); return err },
			"Releases":         func() error { _, _, _, err := c.FileReleases(ctx, ref, Validators{}); return err },
			"Metadata":         func() error { _, err := c.Metadata(ctx, ref); return err },
			"Hash":             func() error { _, err := c.Hash(ctx, manifest.SHA1, ref); return err },
			"Download":         func() error { _, err := c.Download(ctx, manifest.File{Reference: ref}, nil, false); return err },
		}
		for name, call := range calls {
			err := call()
			if refusal.ReasonOf(err) != refusal.BadName {
				t.Errorf("%s of %q: %v", name, bad, err)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\n\x00\u009b") {
				t.Errorf("%s of %q: the text is not printable: %q", name, bad, err)
			}
		}
	}
	if n := len(e.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestAManifestWithOneUnusableLinkIsRefused(t *testing.T) {
	e := startEmulator(t)
	c := connect(t, e.URL())
	good := "http://evil.example/Download/Data/2026.10/a.dat?ID=" + url.QueryEscape(testID)
	tests := map[string]struct {
		links  []string
		reason refusal.Reason
	}{
		"identity only":     {[]string{good, good, "/Download/Product/2026.10/p/"}, ""},
		"none":              {nil, ""},
		"path escape":       {[]string{good, "http://h/Download/Data/2026.10/..%2Fpasswd"}, refusal.BadName},
		"dot dot":           {[]string{"http://h/Download/Data/../a"}, refusal.BadName},
		"backslash":         {[]string{"http://h/Download/Data/2026.10/a%5Cb"}, refusal.BadName},
		"control character": {[]string{"http://h/Download/Data/2026.10/a%0Ab"}, refusal.BadName},
		"invalid UTF-8":     {[]string{"http://h/Download/Data/2026.10/a%FF"}, refusal.BadName},
		"bad percent":       {[]string{"http://h/Download/Data/2026.10/a%zz"}, refusal.BadName},
		"unknown class":     {[]string{"http://h/Download/Other/2026.10/a"}, refusal.BadShape},
		"too few segments":  {[]string{"http://h/Download/Library/LINUX/2026.10/a"}, refusal.BadShape},
		"no download":       {[]string{"http://h/Elsewhere/Data/2026.10/a"}, refusal.BadShape},
		"other scheme":      {[]string{"file:///Download/Data/2026.10/a"}, refusal.BadShape},
		"empty string":      {[]string{good, ""}, refusal.BadName},
		"the id elsewhere":  {[]string{"http://h/Elsewhere/" + url.QueryEscape(testID)}, refusal.BadName}, // the ID holds a slash
		"the id in a name":  {[]string{"http://h/Download/Data/2026.10/x-" + strings.ReplaceAll(url.PathEscape(testID), "%2F", "%252F")}, refusal.BadName},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e.SetLinks("links", "2026.10", tt.links...)
			list, err := c.Manifest(t.Context(), "2026.10", "links", nil)
			assertNoID(t, err)
			if refusal.ReasonOf(err) != tt.reason || err != nil && list != nil {
				t.Errorf("%v, %v", list, err)
			}
			if err == nil && list.Len() != min(len(tt.links), 2) {
				t.Errorf("%d references", list.Len())
			}
		})
	}
}

func TestDownloadRetriesTransientFaults(t *testing.T) {
	calls := 0
	err := connect(t, "http://127.0.0.1:1").Retry(t.Context(), func(progress func()) error {
		progress()
		if calls++; calls < 3 {
			return &transport.Error{Kind: transport.Transient}
		}
		return nil
	})
	if err != nil || calls != 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestAVeryLongETagIsNotKept(t *testing.T) {
	var conditions []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conditions = append(conditions, r.Header.Get("If-None-Match")+r.Header.Get("If-Modified-Since"))
		w.Header().Set("ETag", `"`+strings.Repeat("e", 70_000)+`"`)
		w.Header().Set("Last-Modified", strings.Repeat("l", 70_000))
		io.WriteString(w, `["2026.10"]`)
	}))
	defer server.Close()
	c := connect(t, server.URL)
	var since Validators
	for range 2 {
		ids, now, notModified, err := c.ManifestReleases(t.Context(), "m", since)
		if err != nil || notModified || len(ids) != 1 || now != (Validators{}) {
			t.Fatalf("%q, %d bytes of ETag, %t, %v", ids, len(now.ETag), notModified, err)
		}
		since = now
	}
	if diff := cmp.Diff([]string{"", ""}, conditions); diff != "" {
		t.Error(diff)
	}
}

// The count is kept behind the parsers of the formats, so that each limit needs one format
// and each format one limit.
func TestAListOfTooManyEntriesIsRefused(t *testing.T) {
	e := startEmulator(t)
	c := connect(t, e.URL())
	asJSON := func(item string, n int) string {
		return "[" + strings.Repeat(`"`+item+`",`, n-1) + `"` + item + `"]`
	}
	asXML := func(item string, n int) string { return "<a>" + strings.Repeat("<s>"+item+"</s>", n) + "</a>" }
	asText := func(item string, n int) string { return strings.Repeat(item+"\r\n", n) }
	ids := func() error { _, _, _, err := c.ManifestReleases(t.Context(), "m", Validators{}); return err }
	files := func() error { _, err := c.Manifest(t.Context(), "2026.10", "m", nil); return err }
	entries := func() error { _, err := c.ManifestList(t.Context(), "2026.10"); return err }
	for name, row := range map[string]struct {
		allowed int
		item    string
		body    func(item string, n int) string
		call    func() error
	}{
		"ids in JSON":     {10_000, "2026.10", asJSON, ids},
		"ids in XML":      {10_000, "2026.10", asXML, ids},
		"ids as text":     {10_000, "2026.10", asText, ids},
		"files as text":   {250_000, "/Download/Data/2026.10/a", asText, files},
		"entries as text": {100_000, "dq_a", asText, entries},
	} {
		for n, want := range map[int]refusal.Reason{row.allowed: "", row.allowed + 1: refusal.TooLarge} {
			e.ClearFaults()
			e.AddFault(emulator.Fault{Kind: emulator.KindBody, Body: row.body(row.item, n)})
			if err := row.call(); refusal.ReasonOf(err) != want || want == "" && err != nil {
				t.Errorf("%s, %d times %q: %v, want %q", name, n, row.item, err, want)
			}
		}
	}
}
