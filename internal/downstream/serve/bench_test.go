package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// silent is a client that takes everything.
type silent struct{ header http.Header }

func (s silent) Header() http.Header         { return s.header }
func (s silent) Write(p []byte) (int, error) { return len(p), nil }
func (s silent) WriteHeader(int)             {}

func BenchmarkSmallQuestions(b *testing.B) {
	e := startProvider(b)
	catalog := mirrored(b, e)
	s := New(Config{Catalog: catalog, PublicURL: "http://mirror", IDParam: "id", IDs: idsOf(b, Identity{Name: "host"})})
	for _, path := range []string{"/Metadata/Library/LINUX/GCC48/64BIT/2026.10/lib.so", "/SHA256/Data/2026.10/mdAddr.dat", "/ManifestReleases/All_Classes", "/Manifest/latest/All_Classes"} {
		b.Run(path, func(b *testing.B) {
			r := httptest.NewRequest("GET", withID(path+"?format=json", followerID), nil)
			b.ReportAllocs()
			for b.Loop() {
				s.ServeHTTP(silent{http.Header{}}, r)
			}
		})
	}
}
