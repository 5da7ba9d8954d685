package emulator

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"syncd/internal/emulator/testclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t testing.TB, cfg Config) *Emulator {
	t.Helper()
	cfg.CustomerID = cmp.Or(cfg.CustomerID, testclient.ID)
	e, err := Start(cfg)
	must(t, err)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func TestCustomerID(t *testing.T) {
	e := start(t, Config{})
	e.AddSample()
	other := start(t, Config{IDParam: "license"})
	other.AddSample()
	id := url.QueryEscape(testclient.ID)
	tests := []struct {
		name   string
		url    string
		status int
	}{
		{"right", e.URL() + "/ManifestReleases/dq_addr_data?id=" + id, 200},
		{"upper case", e.URL() + "/ManifestReleases/dq_addr_data?ID=" + id, 200},
		{"slash before the query", e.URL() + "/ManifestReleases/dq_addr_data/?Id=" + id, 200},
		{"wrong", e.URL() + "/ManifestReleases/dq_addr_data?id=x", 401},
		{"missing", e.URL() + "/ManifestReleases/dq_addr_data", 401},
		{"browse", e.URL() + "/Browse", 401},
		{"other parameter", other.URL() + "/ManifestReleases/dq_addr_data?LICENSE=" + id, 200},
		{"not under another parameter", other.URL() + "/ManifestReleases/dq_addr_data?id=" + id, 401},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := testclient.Send(t, http.MethodGet, tt.url)
			if a.StatusCode != tt.status {
				t.Errorf("status %d, want %d", a.StatusCode, tt.status)
			}
			if tt.status == 401 && !strings.Contains(a.Text, `"type":"invalidLicense"`) {
				t.Errorf("body %s", a.Text)
			}
		})
	}
}

func TestAnyCustomerIDIsAcceptedByDefault(t *testing.T) {
	e, err := Start(Config{})
	must(t, err)
	defer e.Close()
	e.AddSample()
	for id, want := range map[string]int{"anything": 200, "": 401} {
		if a := testclient.Send(t, http.MethodGet, e.URL()+"/ManifestList/latest?id="+id); a.StatusCode != want {
			t.Errorf("id %q: status %d, want %d", id, a.StatusCode, want)
		}
	}
}

func TestStartErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	tests := map[string]Config{
		"address in use":          {Listen: taken.Addr().String()},
		"download address in use": {ListenDownload: taken.Addr().String()},
		"no certificate":          {TLS: &tls.Config{}},
		"root is missing":         {Root: t.TempDir() + "/none"},
	}
	for name, cfg := range tests {
		t.Run(name, func(t *testing.T) {
			if e, err := Start(cfg); err == nil {
				e.Close()
				t.Error("started")
			}
		})
	}
}

func TestCloseEndsStalledRequests(t *testing.T) {
	e := start(t, Config{})
	e.AddSample()
	e.AddFault(Fault{Kind: KindStall, After: 3})
	resp, err := testclient.New(t).Get(testclient.Address(e, "/ManifestReleases/dq_addr_data", ""))
	must(t, err)
	defer resp.Body.Close()
	must(t, e.Close())
	body, err := io.ReadAll(resp.Body)
	if string(body) != "202" || err == nil {
		t.Errorf("got %q, %v", body, err)
	}
	if err := e.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestWildcardListener(t *testing.T) {
	e := start(t, Config{Listen: ":0", ListenDownload: ":0"})
	e.AddSample()
	if !strings.HasPrefix(e.URL(), "http://127.0.0.1:") {
		t.Fatalf("URL %s", e.URL())
	}
	r, err := http.NewRequest(http.MethodGet, testclient.Address(e, "/Download/Data/2026.10/ews.txt", ""), nil)
	must(t, err)
	r.Host = "mirror.example:80"
	resp, err := testclient.New(t).Do(r)
	must(t, err)
	resp.Body.Close()
	want := strings.Replace(e.DownloadURL(), "127.0.0.1", "mirror.example", 1) + "/files/"
	if got := resp.Header.Get("Location"); !strings.HasPrefix(got, want) {
		t.Errorf("Location %s, want %s…", got, want)
	}
}

func TestTLS(t *testing.T) {
	cert, pool := certificate(t)
	e := start(t, Config{TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
	e.SetManifest("m", "2026.10", File{Name: "a", Content: Text("hello")})
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport}
	for _, reset := range []bool{false, true} {
		if reset {
			e.AddFault(Fault{Host: HostDownload, Kind: KindReset, After: 2})
		}
		resp, err := c.Get(testclient.Address(e, "/Download/Data/2026.10/a", ""))
		must(t, err)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if want := map[bool]string{false: "hello", true: "he"}[reset]; string(body) != want || (err != nil) != reset {
			t.Errorf("reset %v: %q, %v", reset, body, err)
		}
	}
	if !strings.HasPrefix(e.DownloadURL(), "https://") {
		t.Errorf("URL %s", e.DownloadURL())
	}
}

func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	parsed, err := x509.ParseCertificate(der)
	must(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestRequestLog(t *testing.T) {
	e := start(t, Config{})
	e.SetManifest("m", "2026.10", File{Name: "a b", Content: Random(1, 300_000)}, File{Name: "disk", Content: OnDisk(testclient.DiskFile(t, 200_000))})
	target := testclient.FileURL(t, e, "Data/2026.10/a%20b")
	testclient.Send(t, http.MethodGet, target, "Range", "bytes=10-19")
	testclient.Send(t, http.MethodGet, target)
	testclient.Send(t, http.MethodHead, target)
	testclient.Send(t, http.MethodGet, testclient.FileURL(t, e, "Data/2026.10/disk"))
	testclient.Send(t, http.MethodGet, e.DownloadURL()+"/none")
	type line struct {
		host, method, path string
		status             int
		bytes              int64
	}
	want := []line{
		{HostRelease, "GET", "/Download/Data/2026.10/a b", 302, 0},
		{HostDownload, "GET", "", 206, 10},
		{HostDownload, "GET", "", 200, 300_000},
		{HostDownload, "HEAD", "", 200, 0},
		{HostRelease, "GET", "/Download/Data/2026.10/disk", 302, 0},
		{HostDownload, "GET", "", 200, 200_000},
		{HostDownload, "GET", "/none", 404, 0},
	}
	got := e.Requests()
	if len(got) != len(want) {
		t.Fatalf("%d requests, want %d", len(got), len(want))
	}
	for i, r := range got {
		path := r.Path
		if want[i].path == "" {
			path = ""
		}
		if l := (line{r.Host, r.Method, path, r.Status, r.BytesSent}); l != want[i] {
			t.Errorf("request %d: %+v, want %+v", i, l, want[i])
		}
		if r.Time.IsZero() || r.Header.Get("User-Agent") == "" {
			t.Errorf("request %d has no time or header", i)
		}
		if r.Host == HostDownload && strings.Contains(fmt.Sprint(r), url.QueryEscape(testclient.ID)) {
			t.Errorf("request %d holds the Customer ID", i)
		}
	}
	e.ResetRequests()
	if n := len(e.Requests()); n != 0 {
		t.Errorf("%d requests after the reset", n)
	}
}

func TestRequestLogIsBounded(t *testing.T) {
	var l requestLog
	r, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil)
	l.entries = make([]*entry, maxRequests)
	last := l.begin(HostRelease, r, nil)
	if n := len(l.entries); n != maxRequests/2+1 || l.entries[n-1] != last {
		t.Errorf("%d entries", n)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
