package serve

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"syncd/internal/config"
	"syncd/internal/downstream/rings"
	"syncd/internal/emulator"
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

// BenchmarkIdlePoll is a poll that finds no news of 20 manifests: in the mirror's form, and for
// one manifest in the provider's.
func BenchmarkIdlePoll(b *testing.B) {
	e := startProvider(b)
	var entries []config.Manifest
	for n := range 20 {
		name := "m" + strconv.Itoa(n)
		e.SetManifest(name, "2026.10", emulator.File{Name: name, Content: emulator.Text(name)})
		entries = append(entries, entry(name))
	}
	h := startHost(b, e, entries...)
	h.sync()
	texts, err := h.engine.Followers.Generations()
	must(b, err)
	s := New(Config{
		Catalog: h.engine.Followers.Catalog(), Generations: texts, Asker: ByFleet(h.engine.Followers.Fleet()), Order: h.engine.Followers.Order,
		PublicURL: "http://mirror", IDParam: "id", IDs: idsOf(b, Identity{Name: "host"}),
	})
	for _, path := range []string{"/-/mirror/current.json", "/ManifestReleases/m1"} {
		b.Run(path, func(b *testing.B) {
			r := httptest.NewRequest("GET", withID(path, followerID), nil)
			first := httptest.NewRecorder()
			s.ServeHTTP(first, r)
			r.Header.Set("If-None-Match", first.Header().Get("ETag"))
			for n := range entries {
				r.Header.Add(rings.HeaderState, rings.State{Manifest: "m" + strconv.Itoa(n), Host: "db01", ID: "5f3a9c01", Version: "1.0.0", Release: "2026.10", Revision: "0123456789ab"}.Header())
				if path != "/-/mirror/current.json" {
					break
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				if s.ServeHTTP(w, r); w.Code != http.StatusNotModified {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
