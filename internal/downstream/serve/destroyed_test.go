package serve

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"syncd/internal/config"
	"syncd/internal/emulator"
	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// fleetOf serves a host with its fleet, for followers with the given ids.
func fleetOf(t *testing.T, h *host, ids ...string) *upstream {
	return startUpstream(t, h.engine.Followers.Catalog(), func(c *Config) {
		c.Asker, c.Order = ByFleet(h.engine.Followers.Fleet()), h.engine.Followers.Order
		var text []byte
		for n, id := range ids {
			text = append(text, Identity{Name: fmt.Sprintf("f%02d", n), Ring: "canary", sum: sha256.Sum256([]byte(id))}.line()...)
		}
		must(t, os.WriteFile(c.IDs.path, text, 0o600))
		must(t, c.IDs.Reload())
	})
}

func (h *host) destroy(name string, releases ...string) report.DestroyResult {
	h.Helper()
	done, err := operation.Destroy.Do(h.Context(), h.engine.Operations(), request.Destroy{Manifest: name, Releases: releases})
	must(h, err)
	return done
}

// holds is true if some file below the data directory has a text.
func (h *host) holds(text string) (found bool) {
	h.Helper()
	must(h, filepath.WalkDir(h.cfg.DataDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		found = found || strings.Contains(string(data), text)
		return err
	}))
	return found
}

// Each of fifty followers destroys what its publisher destroyed, and says so, in one poll.
func TestFiftyFollowersConfirmADestructionWithinOnePoll(t *testing.T) {
	const hosts = 50
	e := startProvider(t)
	publish := func(release string) {
		e.SetManifest("data", release, emulator.File{Name: "a", Content: emulator.Text("secret of " + release)}, emulator.File{Name: "same", Content: emulator.Text("the same")})
	}
	publish("2026.09")
	h := startHost(t, e, entry("data"))
	h.sync()
	var ids []string
	for n := range hosts {
		ids = append(ids, fmt.Sprintf("id of %d", n))
	}
	u := fleetOf(t, h, ids...)
	var followers []*host
	for _, id := range ids {
		followers = append(followers, follow(t, e, u, id, entry("data")))
	}
	all := func(do func(*host)) {
		var group sync.WaitGroup
		slots := make(chan bool, 4)
		for _, f := range followers {
			group.Go(func() {
				slots <- true
				defer func() { <-slots }()
				do(f)
			})
		}
		group.Wait()
	}
	all((*host).sync)
	publish("2026.10")
	h.sync()
	all((*host).sync)
	fleet := func() report.FleetPage {
		page, err := h.engine.Followers.Page(request.Fleet{})
		must(t, err)
		return page
	}
	all((*host).poll)
	if page := fleet(); len(page.Followers) != hosts || len(page.Followers[0].Holds) != 2 || len(page.Destroyed) != 0 {
		t.Fatalf("before: %d followers, the first %+v, destroyed %+v", len(page.Followers), page.Followers[0], page.Destroyed)
	}
	h.destroy("data", "2026.09")
	if page := fleet(); len(page.Destroyed) != 1 || page.Destroyed[0].Held != hosts || len(page.Destroyed[0].Hosts) != hosts {
		t.Errorf("all hosts still hold it: %+v", page.Destroyed)
	}
	all((*host).poll)
	page := fleet()
	if len(page.Destroyed) != 1 || page.Destroyed[0].Held != 0 || page.Destroyed[0].Untold != 0 {
		t.Errorf("after one poll: %+v", page.Destroyed)
	}
	for _, f := range page.Followers {
		if len(f.Holds) != 1 || f.Holds[0] != "2026.10" || f.State != report.FollowerInSync {
			t.Errorf("%s: %+v", f.Name, f.Following)
		}
	}
	for _, f := range followers {
		if f.holds("secret of 2026.09") || !f.holds("secret of 2026.10") || !f.holds("the same") {
			t.Errorf("%s has what was destroyed, or lost what is served", f.cfg.DataDir)
		}
	}
}

// What followers use and what a ring needs gives way to a destruction.
func TestADestroyedReleaseIsKeptForNoFollower(t *testing.T) {
	e := startProvider(t)
	publish := func(release string) {
		e.SetManifest("data", release, emulator.File{Name: "a", Content: emulator.Text("secret of " + release)})
	}
	h := startHost(t, e)
	h.cfg.Retain, h.cfg.Serve.Keep = 0, 24*time.Hour
	h.cfg.Serve.Rings = []config.Ring{{Name: "canary", StopAbove: -1}, {Name: "rest", Delay: 48 * time.Hour, StopAbove: -1}}
	h.entries(entry("data"))
	publish("2026.09")
	h.sync()
	u := fleetOf(t, h, "id of f")
	f := follow(t, e, u, "id of f", config.Manifest{Name: "data", Release: "2026.09"}) // it is pinned there
	f.sync()
	publish("2026.10")
	h.sync()
	f.poll()
	if !h.holds("secret of 2026.09") {
		t.Fatal("a release that a follower uses was pruned")
	}
	h.destroy("data", "2026.09")
	if h.holds("secret of 2026.09") {
		t.Error("a follower keeps a destroyed release")
	}
	if _, err := h.engine.Followers.Catalog().Snapshot().Manifest("data", "2026.09", nil); err == nil {
		t.Error("followers are still offered the destroyed release")
	}
	f.poll()
	if !f.holds("secret of 2026.09") {
		t.Error("what a follower serves was destroyed there")
	}
}

// A host that follows and serves passes on what its upstream orders, and what it destroyed
// because of that.
func TestAnOrderToDestroyGoesDownAChain(t *testing.T) {
	e := startProvider(t)
	publish := func(release string) {
		e.SetManifest("data", release, emulator.File{Name: "a", Content: emulator.Text("secret of " + release)})
	}
	top := startHost(t, e)
	limited := entry("data")
	limited.DestroyAfter = 90 * 24 * time.Hour
	top.entries(limited)
	publish("2026.09")
	top.sync()
	first := fleetOf(t, top, "id of middle")
	own := entry("data")
	own.DestroyAfter = 365 * 24 * time.Hour
	middle := follow(t, e, first, "id of middle", own)
	middle.poll()
	second := fleetOf(t, middle, "id of leaf")
	leaf := follow(t, e, second, "id of leaf", entry("data"))
	leaf.poll()
	publish("2026.10")
	for _, h := range []*host{top, middle, leaf} {
		h.sync()
	}
	if got := leaf.engine.Followers.Order("data").Seconds; got != 90*86400 {
		t.Errorf("the leaf passes on %d seconds, want those of the top", got)
	}
	top.destroy("data", "2026.09")
	middle.poll()
	if !leaf.holds("secret of 2026.09") || middle.holds("secret of 2026.09") {
		t.Error("the order reached the leaf before, or not the middle")
	}
	leaf.poll()
	if leaf.holds("secret of 2026.09") || !leaf.holds("secret of 2026.10") {
		t.Error("the order did not reach the leaf")
	}
}
