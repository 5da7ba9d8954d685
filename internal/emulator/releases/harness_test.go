package releases

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"syncd/internal/emulator/catalogue"
	"syncd/internal/emulator/testclient"
)

// provider is the release service and its download host, with their catalogue.
type provider struct {
	*catalogue.Catalogue
	service, download *httptest.Server
}

func (p *provider) URL() string         { return p.service.URL }
func (p *provider) DownloadURL() string { return p.download.URL }

func start(t testing.TB) *provider { return startRoot(t, "") }

// startRoot starts a provider that serves a directory.
func startRoot(t testing.TB, root string) *provider {
	p := &provider{Catalogue: catalogue.New(root)}
	s := New(Config{
		Catalogue: p.Catalogue, CustomerID: testclient.ID, IDParam: "id",
		URL:         func(*http.Request) string { return p.URL() },
		DownloadURL: func(*http.Request) string { return p.DownloadURL() },
	})
	p.service, p.download = httptest.NewServer(s), httptest.NewServer(http.HandlerFunc(s.ServeDownload))
	t.Cleanup(p.service.Close)
	t.Cleanup(p.download.Close)
	return p
}

// address returns the URL of a path of the release service, with the Customer ID
// and more parameters.
func address(p *provider, path, query string) string {
	s := p.URL() + path + "?id=" + url.QueryEscape(testclient.ID)
	if query != "" {
		s += "&" + query
	}
	return s
}

func get(t testing.TB, p *provider, path, query string, headers ...string) testclient.Answer {
	t.Helper()
	return testclient.Send(t, http.MethodGet, address(p, path, query), headers...)
}

// fileURL returns the target of the redirect for a download.
func fileURL(t testing.TB, p *provider, path string) string {
	t.Helper()
	a := get(t, p, "/Download/"+path, "")
	if a.StatusCode != http.StatusFound {
		t.Fatalf("download of %s: status %d, want 302", path, a.StatusCode)
	}
	return a.Header.Get("Location")
}

func diskFile(t testing.TB, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, readAll(t, catalogue.Random(7, size)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func sha256Hex(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func readAll(t testing.TB, c catalogue.Content) []byte {
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
