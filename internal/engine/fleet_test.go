package engine

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/config"
	"syncd/internal/downstream/rings"
	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// serving is a world whose engine serves followers in two rings and keeps no earlier
// revisions by itself.
func serving(t *testing.T) *world {
	w := start(t, "one")
	w.cfg.Serve = config.Serve{Listen: "127.0.0.1:0", Rings: []config.Ring{{Name: "canary", StopAbove: -1}, {Name: "rest", Delay: 24 * time.Hour, StopAbove: 0}}}
	w.cfg.Retain, w.cfg.RetainFor = 0, 0
	return w
}

func asker(e *Engine, ring, told string) rings.Asker {
	return e.Followers.Fleet().Asker(ring, ring, http.Header{rings.HeaderState: {"host=h; id=1; " + told}})
}

// seen are the releases of a manifest that a follower sees.
func seen(e *Engine, a rings.Asker, name string) (releases []string) {
	e.Followers.Fleet().Seen(a, name)
	for _, r := range e.Followers.Catalog().Snapshot().Revisions(name) {
		if e.Followers.Fleet().Visible(a, r.Manifest, r.InRings()) {
			releases = append(releases, string(r.Release))
		}
	}
	return releases
}

func TestPruningKeepsTheReleaseBeforeAStoppedOne(t *testing.T) {
	w := serving(t)
	w.cfg.Serve.Rings[1].Delay = 0
	w.cfg.Retain = 1
	e := w.open()
	sync := func(release string) {
		t.Helper()
		w.publish("one", release, release)
		if _, err := operation.Sync.Do(t.Context(), e.Operations(), request.Sync{Demand: true}); err != nil {
			t.Fatal(err)
		}
	}
	sync("2026.09")
	sync("2026.10")
	seen(e, asker(e, "canary", "release=2026.09; refused=2026.10; reason=gate"), "one")
	rest := asker(e, "rest", "release=2026.09")
	if diff := cmp.Diff([]string{"2026.09"}, seen(e, rest, "one")); diff != "" {
		t.Error(diff)
	}
	w.cfg.Retain = 0
	must(t, e.Configure(w.cfg))
	must(t, e.Close())

	e = w.open() // a command without a server prunes, too
	sync("2026.10")
	e.Close()
	e = w.open()
	defer e.Close()
	if diff := cmp.Diff([]string{"2026.09"}, seen(e, rest, "one")); diff != "" {
		t.Errorf("after a restart and a sync of its own: %s", diff)
	}
	sync("2026.11")
	seen(e, asker(e, "canary", "release=2026.09; refused=2026.11; reason=gate"), "one")
	if diff := cmp.Diff([]string{"2026.09"}, seen(e, rest, "one")); diff != "" {
		t.Errorf("two stopped: %s", diff)
	}

	view, err := e.Followers.Page(request.Fleet{})
	must(t, err)
	if len(view.Followers) != 2 || len(view.Stopped) != 2 || view.Followers[0].State != report.FollowerRefused || view.Followers[1].State != report.FollowerInSync {
		t.Errorf("%+v", view)
	}
	families, err := w.registry.Gather()
	must(t, err)
	for _, family := range families {
		if name := family.GetName(); strings.HasPrefix(name, "syncd_fleet_") && len(family.GetMetric()) != 2 {
			t.Errorf("%s: %v", name, family.GetMetric())
		}
	}
	if ended, err := operation.ServeRelease.Do(t.Context(), e.Operations(), request.ServeRelease{Release: "2026.11"}); len(ended) != 1 || err != nil {
		t.Errorf("%v, %v", ended, err)
	}
	if diff := cmp.Diff("2026.11", seen(e, rest, "one")[0]); diff != "" {
		t.Error(diff)
	}
}

func TestEngineWithoutServeHasNoFleet(t *testing.T) {
	w := start(t, "one")
	e := w.open()
	defer e.Close()
	if _, err := e.Followers.Page(request.Fleet{}); err == nil || e.Followers.Fleet() != nil {
		t.Errorf("%v", err)
	}
	if _, err := operation.ServeRelease.Do(t.Context(), e.Operations(), request.ServeRelease{Release: "2026.09"}); err == nil {
		t.Error("a release was served to nobody")
	}
	e.Followers.Run(t.Context())
}
