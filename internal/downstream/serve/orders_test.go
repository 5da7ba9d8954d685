package serve

import (
	"net/http"
	"testing"

	"syncd/internal/downstream/rings"
	"syncd/internal/manifest/destruction"
)

// Answers about a manifest say what followers must destroy of it, also those without news. A
// client that shows no id learns nothing.
func TestFollowersAreToldWhatToDestroy(t *testing.T) {
	c := mirrored(t, startProvider(t))
	u := startUpstream(t, c, func(cfg *Config) {
		cfg.Order = func(entry string) destruction.Order {
			if entry != "All_Classes" {
				return destruction.Order{}
			}
			return destruction.Order{Seconds: 90, Gone: []destruction.Gone{{Release: "2026.07"}, {Release: "2026.08", Revision: "0123456789ab"}}}
		}
	})
	const order = "after=90; destroyed=2026.07+2026.08-0123456789ab"
	for path, want := range map[string]string{
		"/ManifestReleases/All_Classes":      order,
		"/manifestreleases/all_classes":      order,
		"/Manifest/latest/All_Classes":       order,
		"/Manifest/2020.01/All_Classes":      order, // there is no such release
		"/Releases/Data/mdAddr.dat":          order,
		"/ManifestReleases/other":            "",
		"/ManifestReleases/nobody":           "",
		"/SHA256/Data/2026.10/mdAddr.dat":    "",
		"/ManifestList/latest":               "",
		"/Download/Data/2026.10/mdAddr.dat":  "",
		"/ManifestReleases/All_Classes/more": "",
	} {
		if got := ask(t, "GET", withID(u.url()+path, followerID)).Header.Get(rings.HeaderDestroy); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
		if got := ask(t, "GET", withID(u.url()+path, "wrong")).Header.Get(rings.HeaderDestroy); got != "" {
			t.Errorf("%s with a wrong id: %q", path, got)
		}
	}
	address := withID(u.url()+"/ManifestReleases/All_Classes", followerID)
	etag := ask(t, "GET", address).Header.Get("ETag")
	if res := ask(t, "GET", address, "If-None-Match", etag); res.StatusCode != http.StatusNotModified || res.Header.Get(rings.HeaderDestroy) != order {
		t.Errorf("without news: %d, %q", res.StatusCode, res.Header.Get(rings.HeaderDestroy))
	}
}
