package serve

import (
	"crypto/sha256"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"syncd/internal/config"
	"syncd/internal/emulator"
	"syncd/internal/engine/operation"
	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// follow starts a host that takes its data from an upstream, in the ring of its id.
func follow(t *testing.T, e *emulator.Emulator, u *upstream, id string, entry config.Manifest) *host {
	h := startHost(t, e)
	h.cfg.Source.Credential = config.FixedCredential(config.Secret(id))
	h.cfg.Source.Report = config.ReportTrue
	var err error
	h.cfg.Source.URL, err = url.Parse(u.url())
	must(t, err)
	h.entries(entry)
	return h
}

// poll is a sync by the schedule, which may fail.
func (h *host) poll() {
	h.Helper()
	_, err := operation.Sync.Do(h.Context(), h.engine.Operations(), request.Sync{Trigger: request.TriggerSchedule})
	must(h, err)
}

func (h *host) content(path string) string {
	data, _ := os.ReadFile(filepath.Join(h.cfg.DataDir, "current", path))
	return string(data)
}

// A canary refuses a release that another ring has taken, and the provider replaces the
// bytes: the later ring sees them only when the canary takes them.
func TestReplacedBytesOfAStoppedReleaseReachLaterRingsOnlyThroughTheFirst(t *testing.T) {
	e := startProvider(t)
	publish := func(text string) {
		e.SetManifest("data", "2026.10", emulator.File{Name: "a", Content: emulator.Text(text)})
	}
	main := startHost(t, e, entry("data"))
	main.cfg.Serve.Rings = []config.Ring{{Name: "canary", StopAbove: -1}, {Name: "rest"}}
	main.entries(entry("data"))
	u := startUpstream(t, main.engine.Followers.Catalog(), func(c *Config) {
		c.Asker = ByFleet(main.engine.Followers.Fleet())
		var lines []byte
		for _, ring := range []string{"canary", "rest"} {
			who := Identity{Name: ring, Ring: ring, sum: sha256.Sum256([]byte("id of the " + ring))}
			lines = append(lines, who.line()...)
		}
		must(t, os.WriteFile(c.IDs.path, lines, 0o600))
		must(t, c.IDs.Reload())
	})
	gated := entry("data")
	gated.Gate = config.Gate{Command: []string{"sh", "-c", `! grep -q bad "$SYNCD_PATH/a"`}, Timeout: time.Minute}
	canary, rest := follow(t, e, u, "id of the canary", gated), follow(t, e, u, "id of the rest", entry("data"))
	wants := func(what, atCanary, atRest string) {
		t.Helper()
		for range 2 { // the first one finds out that it asks a syncd
			canary.poll()
		}
		rest.poll()
		if canary.content("data/a") != atCanary || rest.content("data/a") != atRest {
			t.Errorf("%s: the canary has %q, the rest %q", what, canary.content("data/a"), rest.content("data/a"))
		}
	}
	states := func(want map[string]report.FollowerState) {
		t.Helper()
		rest.poll() // tells what it has now
		status, err := main.engine.Followers.Page(request.Fleet{})
		must(t, err)
		for _, f := range status.Followers {
			if f.State != want[f.Name] {
				t.Errorf("%s is %s, want %s", f.Name, f.State, want[f.Name])
			}
		}
	}

	publish("bad, first")
	main.sync()
	rest.poll() // it is faster than the canary
	wants("stopped", "", "bad, first")
	states(map[string]report.FollowerState{"canary": report.FollowerRefused, "rest": report.FollowerStopped})
	publish("bad, second")
	main.sync()
	canary.poll() // the ETag of the list tells that there are other bytes
	wants("replaced", "", "bad, first")
	states(map[string]report.FollowerState{"canary": report.FollowerRefused, "rest": report.FollowerStopped})
	publish("good")
	main.sync()
	canary.poll()
	wants("mended", "good", "good")
	states(map[string]report.FollowerState{"canary": report.FollowerInSync, "rest": report.FollowerInSync})
	if status, err := main.engine.Followers.Page(request.Fleet{}); err != nil || len(status.Stopped) != 2 {
		t.Errorf("%+v, %v", status.Stopped, err)
	}
}

// A path names a file and no manifest. While two manifests have different bytes of one, a
// follower would mix them to a revision that was live nowhere.
func TestAFollowerMixesNoManifestsThatShareAFile(t *testing.T) {
	e := startProvider(t)
	publish := func(text string) {
		shared := emulator.File{Name: "shared", Content: emulator.Text(text)}
		e.SetManifest("data", "2026.10", emulator.File{Name: "a", Content: emulator.Text("a " + text)}, shared)
		e.SetManifest("more", "2026.10", emulator.File{Name: "b", Content: emulator.Text("b " + text)}, shared)
	}
	publish("first")
	main := startHost(t, e, entry("data"), entry("more"))
	u := startUpstream(t, main.engine.Followers.Catalog(), nil)
	f := follow(t, e, u, followerID, entry("data"))
	f.entries(entry("data"), entry("more"))
	wants := func(what, data, more string) {
		t.Helper()
		for path, want := range map[string]string{"data/a": "a " + data, "data/shared": data, "more/b": "b " + more, "more/shared": more} {
			if got := f.content(path); got != want {
				t.Errorf("%s: %s has %q, want %q", what, path, got, want)
			}
		}
	}
	demand := func(h *host, force bool) { // which may fail
		_, err := operation.Sync.Do(h.Context(), h.engine.Operations(), request.Sync{Demand: true, Force: force, Trigger: request.TriggerCommand})
		must(t, err)
	}
	main.sync()
	f.sync()
	wants("first", "first", "first")
	publish("second")
	gated := entry("more")
	gated.Gate = config.Gate{Command: []string{"false"}, Timeout: time.Minute}
	main.entries(entry("data"), gated)
	demand(main, false)
	demand(f, false)
	wants("one is refused", "second", "first")
	f.poll()
	wants("a poll without news", "second", "first")
	main.entries(entry("data"), entry("more"))
	demand(main, true)
	demand(f, false)
	wants("both are live", "second", "second")
}

// A list of releases has another ETag when the bytes of one of them are others.
func TestReplacedBytesChangeTheETagOfManifestReleases(t *testing.T) {
	e := startProvider(t)
	h := startHost(t, e, entry("data"))
	u := startUpstream(t, h.engine.Followers.Catalog(), nil)
	list := func(etag string) reply {
		return ask(t, "GET", withID(u.url()+"/ManifestReleases/data", followerID), "If-None-Match", etag)
	}
	publish := func(text string) {
		e.SetManifest("data", "2026.10", emulator.File{Name: "a", Content: emulator.Text(text)})
		h.sync()
	}
	publish("first")
	first := list("").Header.Get("ETag")
	if again := list(first); again.StatusCode != 304 {
		t.Errorf("unchanged: %s", again.Status)
	}
	publish("second")
	if second := list(first); second.StatusCode != 200 || second.text != "2026.10" || second.Header.Get("ETag") == first {
		t.Errorf("replaced: %s %q", second.Status, second.text)
	}
}

// A follower of a single file sees replaced bytes in its next poll, too.
func TestReplacedBytesOfASingleFileReachAFollowerInItsNextPoll(t *testing.T) {
	e := startProvider(t)
	main := startHost(t, e, entry("data"))
	u := startUpstream(t, main.engine.Followers.Catalog(), nil)
	ref, err := manifest.ParseReference("Data/latest/a")
	must(t, err)
	single := config.Manifest{Name: "one", Release: manifest.Latest, Files: []manifest.Reference{ref}}
	host := follow(t, e, u, followerID, single)
	for _, text := range []string{"first", "second", "third"} {
		e.SetManifest("data", "2026.10", emulator.File{Name: "a", Content: emulator.Text(text)})
		main.sync()
		host.poll()
		if got := host.content("one/a"); got != text {
			t.Errorf("the follower has %q, want %q", got, text)
		}
	}
}
