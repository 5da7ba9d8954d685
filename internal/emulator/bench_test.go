package emulator

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"syncd/internal/emulator/testclient"
)

// discarded is a ResponseWriter that drops the answer.
type discarded struct{ header http.Header }

func (d discarded) Header() http.Header         { return d.header }
func (d discarded) Write(p []byte) (int, error) { return len(p), nil }
func (d discarded) WriteHeader(int)             {}

// BenchmarkAnswer measures a request without net/http, but with the log.
func BenchmarkAnswer(b *testing.B) {
	e := start(b, Config{})
	files := make([]File, 1000)
	for i := range files {
		files[i] = File{Name: fmt.Sprintf("small-%06d.dat", i), Content: Random(uint64(i), 4<<10)}
	}
	e.SetManifest("m", "2026.10", files...)
	query := "?format=json&id=" + url.QueryEscape(testclient.ID)
	of := "/Data/2026.10/small-000500.dat" + query
	for _, row := range []struct {
		name    string
		handler http.Handler
		target  string
	}{
		{"hash", e.release.srv.Handler, "/SHA256" + of},
		{"metadata", e.release.srv.Handler, "/Metadata" + of},
		{"redirect", e.release.srv.Handler, "/Download" + of},
		{"file", e.download.srv.Handler, testclient.FileURL(b, e, "Data/2026.10/small-000500.dat")},
		{"list", e.release.srv.Handler, "/Manifest/2026.10/m" + query},
	} {
		b.Run(row.name, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, row.target, nil)
			r.Header.Set("User-Agent", "bench")
			b.ReportAllocs()
			for b.Loop() {
				row.handler.ServeHTTP(discarded{http.Header{}}, r)
			}
		})
	}
}
