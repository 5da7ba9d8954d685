package engine

import (
	"context"
	"io"
	"net/url"
	"testing"
	"time"

	"syncd/internal/config"
	"syncd/internal/downstream/catalog"
	"syncd/internal/engine/operation"
	"syncd/internal/manifest"
	"syncd/internal/report/request"
)

// cataloguing is a world whose engine serves other hosts.
func cataloguing(t *testing.T, names ...string) *world {
	w := start(t, names...)
	w.cfg.Serve.Listen = "127.0.0.1:0"
	w.cfg.Serve.PublicURL = &url.URL{Scheme: "http", Host: "127.0.0.1"}
	w.cfg.Retain, w.cfg.RetainFor = 0, 0
	return w
}

func (w *world) demand(e *Engine) {
	w.Helper()
	_, err := operation.Sync.Do(context.Background(), e.Operations(), request.Sync{Trigger: "command", Demand: true})
	must(w.T, err)
}

// offers is what another host gets of a file; "" for nothing.
func (w *world) offers(e *Engine, reference string) string {
	w.Helper()
	ref, err := manifest.ParseReference(reference)
	must(w.T, err)
	f, found := e.Followers.Catalog().Snapshot().File(ref, nil)
	if !found {
		return ""
	}
	opened, err := e.Followers.Catalog().Open(f)
	must(w.T, err)
	defer opened.Close()
	text, err := io.ReadAll(opened)
	must(w.T, err)
	return string(text)
}

func (w *world) offersReleases(e *Engine, name string) (text string) {
	for _, r := range e.Followers.Catalog().Snapshot().Releases(name, nil) {
		text += string(r) + " "
	}
	return text
}

func same[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestTheCatalogFollowsEachSwap(t *testing.T) {
	w := cataloguing(t, "a")
	w.cfg.Retain = 1
	e := w.open()
	defer func() { must(t, e.Close()) }()
	same(t, "before the first sync", w.offersReleases(e, "a"), "")
	w.demand(e)
	same(t, "after a sync", w.offers(e, "Data/latest/a.dat"), "a")
	w.publish("a", "2026.10", "october")
	w.demand(e)
	same(t, "releases", w.offersReleases(e, "a"), "2026.09 2026.10 ")
	same(t, "the new one", w.offers(e, "Data/2026.Q4/a.dat"), "october")
	same(t, "the old one", w.offers(e, "Data/2026.09/a.dat"), "a")
	_, err := operation.Rollback.Do(t.Context(), e.Operations(), request.Rollback{})
	must(t, err)
	same(t, "after a rollback", w.offersReleases(e, "a"), "2026.09 ")
	same(t, "latest then", w.offers(e, "Data/latest/a.dat"), "a")
	must(t, e.Close())
	e = w.open()
	same(t, "after a restart", w.offersReleases(e, "a"), "2026.09 ")
	w.cfg.Manifests = nil
	must(t, e.Configure(w.cfg))
	same(t, "an orphan", w.offersReleases(e, "a"), "2026.09 ")
	_, err = operation.Forget.Do(t.Context(), e.Operations(), request.Forget{Names: []string{"a"}, Trigger: "forget"})
	must(t, err)
	same(t, "after it was forgotten", w.offersReleases(e, "a")+w.offers(e, "Data/2026.09/a.dat"), "")
}

func TestNothingStagedOrRefusedIsInTheCatalog(t *testing.T) {
	for name, change := range map[string]func(*config.Manifest){
		"staged":      func(m *config.Manifest) { m.Activate.Manual = true },
		"quarantined": func(m *config.Manifest) { m.Gate = config.Gate{Command: []string{"/bin/false"}, Timeout: time.Minute} },
	} {
		t.Run(name, func(t *testing.T) {
			w := cataloguing(t, "a")
			w.cfg.Retain = 5
			e := w.open()
			defer func() { must(t, e.Close()) }()
			w.demand(e)
			w.publish("a", "2026.10", "october")
			change(&w.cfg.Manifests[0])
			must(t, e.Configure(w.cfg))
			w.demand(e)
			for range 2 {
				if e.staging.Get("a").Release != "2026.10" {
					t.Fatal("it is not staged")
				}
				same(t, "releases", w.offersReleases(e, "a"), "2026.09 ")
				same(t, "file", w.offers(e, "Data/2026.10/a.dat"), "")
				same(t, "revisions", len(e.Followers.Catalog().Snapshot().Revisions("a")), 1)
				must(t, e.Close())
				e = w.open()
			}
		})
	}
}

func TestAskingTheCatalogAsksNobodyElse(t *testing.T) {
	w := cataloguing(t, "a")
	e := w.open()
	defer func() { must(t, e.Close()) }()
	w.demand(e)
	w.publish("a", "2026.10", "october")
	w.provider.ResetRequests()
	for _, asked := range []string{"Data/2026.10/a.dat", "Data/latest/a.dat", "Data/2026.Q4/a.dat", "Data/2026.09/other"} {
		w.offers(e, asked)
	}
	s := e.Followers.Catalog().Snapshot()
	_, _ = s.Manifest("a", "2026.10", nil)
	_, _ = s.List("latest", nil)
	same(t, "requests to the provider", len(w.provider.Requests()), 0)
}

func TestAReleaseThatAHostUsesStaysUntilItsTimeIsOver(t *testing.T) {
	w := cataloguing(t, "a")
	e := w.open()
	defer func() { must(t, e.Close()) }()
	w.demand(e)
	r, err := e.Followers.Catalog().Snapshot().Manifest("a", "latest", nil)
	must(t, err)
	if !e.Followers.Catalog().Asked(t.Context(), r, "") {
		t.Fatal("it is being removed")
	}
	must(t, e.Close())
	e = w.open() // not even a snapshot is made: a command syncs
	for i, release := range []string{"2026.10", "2026.11"} {
		w.publish("a", release, release)
		w.demand(e)
		w.demand(e) // prunes once more
		same(t, "what the host uses", w.offers(e, "Data/2026.09/a.dat"), "a")
		if i == 1 {
			same(t, "what nobody uses", w.offers(e, "Data/2026.10/a.dat"), "")
		}
	}
	w.cfg.Serve.Keep = time.Millisecond
	must(t, e.Configure(w.cfg))
	w.demand(e)
	same(t, "in the end", w.offers(e, "Data/2026.09/a.dat")+w.offersReleases(e, "a"), "2026.11 ")
}

func TestWithoutServeThereIsNoCatalog(t *testing.T) {
	w := start(t, "a")
	e := w.open()
	defer func() { must(t, e.Close()) }()
	w.demand(e)
	same(t, "catalog", e.Followers.Catalog(), (*catalog.Catalog)(nil))
	for _, r := range w.provider.Requests() {
		if r.Path == "/ManifestList/2026.09" {
			t.Error("it asks for what nobody wants to know")
		}
	}
}
