package releases

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"syncd/internal/emulator/catalogue"
	"syncd/internal/emulator/testclient"

	"github.com/google/go-cmp/cmp"
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

func sha256Hex(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// same compares what is wanted with what is there.
func same(t testing.TB, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
