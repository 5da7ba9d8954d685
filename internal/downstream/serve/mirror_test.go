package serve

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"syncd/internal/config"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/rings"
	"syncd/internal/emulator"
	"syncd/internal/engine/operation"
	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// mirrorUpstream serves what a host has, also in the mirror's form.
func mirrorUpstream(t testing.TB, h *host, change func(*Config)) *upstream {
	t.Helper()
	texts, err := h.engine.Followers.Generations()
	must(t, err)
	return startUpstream(t, h.engine.Followers.Catalog(), func(cfg *Config) {
		cfg.Generations, cfg.Asker, cfg.Order = texts, ByFleet(h.engine.Followers.Fleet()), h.engine.Followers.Order
		cfg.Patches = h.engine.Patches.Store()
		if change != nil {
			change(cfg)
		}
	})
}

// text gets a text or a content of the mirror.
func (u *upstream) text(t testing.TB, name string, headers ...string) reply {
	t.Helper()
	return ask(t, http.MethodGet, withID(u.url()+"/-/mirror/"+name, followerID), headers...)
}

// newest reads the generation that current.json names.
func (u *upstream) newest(t testing.TB) (bucket.Current, bucket.Generation) {
	t.Helper()
	current, err := bucket.ParseCurrent([]byte(u.text(t, bucket.CurrentName).text))
	must(t, err)
	generation, err := bucket.ParseGeneration(current.Generation, []byte(u.text(t, bucket.GenerationName(current.Generation)).text))
	must(t, err)
	return current, generation
}

func TestAMirrorIsServedAsABucketHasIt(t *testing.T) {
	e := startProvider(t)
	h := startHost(t, e, entry("All_Classes"), entry("other"))
	publishFirst(e)
	h.sync()
	publishAll(e)
	h.sync()
	u := mirrorUpstream(t, h, nil)
	current, generation := u.newest(t)
	if len(generation.Manifests) != 2 || current.Publisher == "" {
		t.Errorf("%+v %+v", current, generation)
	}
	for _, m := range generation.Manifests {
		got := u.text(t, m.Record())
		if sum := sha256.Sum256([]byte(got.text)); manifest.ObjectID(sum) != m.RecordSHA256 || got.ContentLength != int64(len(got.text)) {
			t.Errorf("%s has another text: %d, %s", m.Record(), got.StatusCode, got.text)
		}
		record, err := bucket.ReadRecord(m, strings.NewReader(got.text))
		must(t, err)
		for _, f := range record.Files {
			got := u.text(t, bucket.ObjectName(f.Object))
			if sum := sha256.Sum256([]byte(got.text)); manifest.ObjectID(sum) != f.Object {
				t.Errorf("%s: %d, %s", f.Path, got.StatusCode, got.text)
			}
		}
	}
}

// ringsOf serves a host to followers of two rings, with one id each: their names.
func ringsOf(t *testing.T, h *host) *upstream {
	return mirrorUpstream(t, h, func(c *Config) {
		var lines []byte
		for _, ring := range []string{"canary", "rest"} {
			lines = append(lines, Identity{Name: ring, Ring: ring, sum: sha256.Sum256([]byte(ring))}.line()...)
		}
		must(t, os.WriteFile(c.IDs.path, lines, 0o600))
		must(t, c.IDs.Reload())
	})
}

// get gets a name of the mirror with an id.
func (u *upstream) get(t testing.TB, id, name string, headers ...string) reply {
	t.Helper()
	return ask(t, http.MethodGet, withID(u.url()+"/-/mirror/"+name, id), headers...)
}

// sees is the newest generation of an id's ring.
func (u *upstream) sees(t testing.TB, id string) bucket.Generation {
	t.Helper()
	current, err := bucket.ParseCurrent([]byte(u.get(t, id, bucket.CurrentName).text))
	must(t, err)
	text := u.get(t, id, bucket.GenerationName(current.Generation)).text
	if sum := sha256.Sum256([]byte(text)); manifest.ObjectID(sum) != current.SHA256 {
		t.Errorf("generation %d has another text than current.json says", current.Generation)
	}
	generation, err := bucket.ParseGeneration(current.Generation, []byte(text))
	must(t, err)
	return generation
}

// becomes waits until a ring sees a release, and checks that the number of its generation went
// up if another one was seen before.
func (u *upstream) becomes(t testing.TB, id string, release manifest.Release, before bucket.Generation) bucket.Generation {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		now := u.sees(t, id)
		if m, _ := now.Manifest("data"); m.Release == release {
			if now.Number <= before.Number || now.Previous > now.Number || now.Ring != before.Ring && before.Ring != "" {
				t.Errorf("%s: generation %d of ring %q comes after %d of %q", id, now.Number, now.Ring, before.Number, before.Ring)
			}
			return now
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not see %s: %+v", id, release, now)
		}
	}
}

// statuses asks an id's ring for the record and the contents of what a generation names.
func (u *upstream) statuses(t testing.TB, id string, g bucket.Generation, contents ...string) (all []int) {
	t.Helper()
	for _, m := range g.Manifests {
		all = append(all, u.get(t, id, m.Record()).StatusCode)
	}
	for _, text := range contents {
		all = append(all, u.get(t, id, bucket.ObjectName(sha256.Sum256([]byte(text)))).StatusCode)
	}
	return append(all, u.get(t, id, bucket.GenerationName(g.Number)).StatusCode)
}

func publishData(e *emulator.Emulator, release, text string) {
	e.SetManifest("data", release, emulator.File{Name: "a", Content: emulator.Text(text)}, emulator.File{Name: "same", Content: emulator.Text("the same")})
}

// A ring finds its own generation and what that names. Numbers go up over new releases,
// promotions, rollbacks, other rings and restarts, in one count for all rings.
func TestARingSeesItsOwnGenerationsOnly(t *testing.T) {
	t.Parallel()
	e := startProvider(t)
	h := startHost(t, e, entry("data"))
	h.cfg.Serve.Rings = []config.Ring{{Name: "canary", StopAbove: -1}, {Name: "rest", Delay: 24 * time.Hour, StopAbove: -1}}
	h.entries(entry("data"))
	publishData(e, "2026.09", "one")
	h.sync()
	u := ringsOf(t, h)
	canary := u.becomes(t, "canary", "2026.09", bucket.Generation{})
	if rest := u.sees(t, "rest"); len(rest.Manifests) != 0 || rest.Ring != "rest" || rest.Number == canary.Number {
		t.Errorf("a ring with a delay sees %+v", rest)
	}
	if got := u.statuses(t, "rest", canary, "one", "the same"); !slices.Equal(got, []int{404, 404, 404, 404}) {
		t.Errorf("a ring gets what another one sees: %d", got)
	}
	if got := u.statuses(t, "canary", canary, "one", "the same"); !slices.Equal(got, []int{200, 200, 200, 200}) {
		t.Errorf("a ring does not get what it sees: %d", got)
	}

	delay := func(after time.Duration) {
		h.cfg.Serve.Rings = []config.Ring{{Name: "canary", StopAbove: -1}, {Name: "rest", Delay: after, StopAbove: -1}}
		h.entries(entry("data"))
	}
	rest := u.sees(t, "rest")
	delay(0)
	rest = u.becomes(t, "rest", "2026.09", rest)
	delay(24 * time.Hour) // the rule changes, and the ring's generation goes back with a higher number
	rest = u.becomes(t, "rest", "", rest)
	delay(0)
	rest = u.becomes(t, "rest", "2026.09", rest)

	publishData(e, "2026.10", "two")
	h.sync()
	second := u.becomes(t, "canary", "2026.10", canary)
	u.becomes(t, "rest", "2026.10", rest)
	if got := u.statuses(t, "canary", canary, "one"); !slices.Equal(got, []int{200, 200, 200}) {
		t.Errorf("a follower in the middle of a generation does not get it: %d", got)
	}
	_, err := operation.Rollback.Do(h.Context(), h.engine.Operations(), request.Rollback{Manifests: []string{"data"}})
	must(t, err)
	back := u.becomes(t, "canary", "2026.09", second)
	if m, _ := back.Manifest("data"); !m.Held {
		t.Error("the generation of a rollback does not say that it is wanted")
	}

	before := u.get(t, "canary", bucket.CurrentName)
	restarted := h.restart()
	u = ringsOf(t, restarted)
	if after := u.get(t, "canary", bucket.CurrentName, "If-None-Match", before.Header.Get("ETag")); after.StatusCode != http.StatusNotModified {
		t.Errorf("a restart changed current.json: %d\n%s\n%s", after.StatusCode, before.text, after.text)
	}
	restarted.destroy("data", "2026.10")
	gone := u.becomes(t, "canary", "2026.09", back)
	if order := gone.Destruction["data"]; len(order.Gone) != 1 || order.Gone[0].Release != "2026.10" {
		t.Errorf("the order is %+v", gone.Destruction)
	}
	if got := u.statuses(t, "canary", second, "two"); got[0] != 404 || got[1] != 404 {
		t.Errorf("what was destroyed can be had: %d", got)
	}
}

// A release that the first ring refuses is never in a later ring's generation, also if that had it.
func TestAStoppedReleaseLeavesTheGenerationsOfLaterRings(t *testing.T) {
	t.Parallel()
	e := startProvider(t)
	h := startHost(t, e, entry("data"))
	h.cfg.Serve.Rings = []config.Ring{{Name: "canary", StopAbove: -1}, {Name: "rest"}}
	h.entries(entry("data"))
	publishData(e, "2026.09", "one")
	h.sync()
	publishData(e, "2026.10", "two")
	h.sync()
	u := ringsOf(t, h)
	rest := u.becomes(t, "rest", "2026.10", bucket.Generation{})
	canary := u.becomes(t, "canary", "2026.10", bucket.Generation{})
	u.get(t, "canary", bucket.CurrentName, rings.HeaderState, "manifest=data; host=db01; id=1; release=2026.09; revision=0123456789ab; refused=2026.10; reason=gate; attempts=1")
	stopped := u.becomes(t, "rest", "2026.09", rest)
	if now := u.sees(t, "canary"); now.Number != canary.Number {
		t.Errorf("the ring that refused has another generation: %+v", now)
	}
	_, err := operation.ServeRelease.Do(h.Context(), h.engine.Operations(), request.ServeRelease{Release: "2026.10"})
	must(t, err)
	u.becomes(t, "rest", "2026.10", stopped)
}

func TestAPollOfTheMirrorTellsOfManyManifests(t *testing.T) {
	t.Parallel()
	e := startProvider(t)
	names := []string{"data", "odd name; ü=1", "third"}
	var entries []config.Manifest
	for _, name := range names {
		e.SetManifest(name, "2026.10", emulator.File{Name: "a", Content: emulator.Text(name)})
		entries = append(entries, entry(name))
	}
	h := startHost(t, e, entries...)
	h.sync()
	u := mirrorUpstream(t, h, nil)
	var states []string
	for _, name := range names[:2] {
		s := rings.NewState("db01", "/data", "1.2.3")
		s.Manifest, s.Release, s.Revision = name, "2026.10", "0123456789ab"
		states = append(states, rings.HeaderState, s.Header())
	}
	other := rings.NewState("db02", "/data", "1.2.3") // one poll is of one host
	other.Manifest = "third"
	etag := ""
	for range 2 {
		got := u.poll(t, etag, append(states, rings.HeaderState, other.Header())...)
		etag = got.Header.Get("ETag")
	}
	var most []string
	for n := range rings.MaxStates {
		s := rings.NewState("db01", "/data", "1.2.3")
		s.Manifest = fmt.Sprintf("%03d%s", n, strings.Repeat("x", rings.MaxStateText/rings.MaxStates-3-len(s.Header())-len("manifest=; "+rings.HeaderState+": \r\n")))
		most = append(most, rings.HeaderState, s.Header())
	}
	if got := u.poll(t, etag, most...); got.StatusCode != http.StatusNotModified {
		t.Errorf("the longest poll of a follower: %d", got.StatusCode)
	}
	page, err := h.engine.Followers.Page(request.Fleet{})
	must(t, err)
	if len(page.Followers) != 1 || len(page.Followers[0].Manifests) != 2 {
		t.Fatalf("%+v", page.Followers)
	}
	for i, m := range page.Followers[0].Manifests {
		if m.Manifest != names[i] || m.Following.Release != "2026.10" || m.Following.State != report.FollowerInSync {
			t.Errorf("%+v", m)
		}
	}
}

// poll polls with header lines.
func (u *upstream) poll(t testing.TB, etag string, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, withID(u.url()+"/-/mirror/"+bucket.CurrentName, followerID), nil)
	must(t, err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	defer http.DefaultClient.CloseIdleConnections()
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(t, err)
	return reply{res, string(body)}
}

func TestRequestsForTheMirrorAreCheckedLikeAllOthers(t *testing.T) {
	t.Parallel()
	e := startProvider(t)
	h := startHost(t, e, entry("All_Classes"), config.Manifest{Name: "chosen", Release: manifest.Latest, Files: []manifest.Reference{"Data/latest/mdAddr.dat"}})
	publishAll(e)
	h.sync()
	u := mirrorUpstream(t, h, nil)
	_, generation := u.newest(t)
	if len(generation.Manifests) != 1 {
		t.Fatalf("single files are in a generation: %+v", generation)
	}
	record := generation.Manifests[0].Record()
	object := bucket.ObjectName(sha256.Sum256([]byte("data")))
	for _, name := range []string{bucket.CurrentName, bucket.GenerationName(generation.Number), record} {
		got := u.text(t, name)
		etag := got.Header.Get("ETag")
		if got.StatusCode != 200 || !strings.HasPrefix(etag, `"`) || got.Header.Get("Cache-Control") != "private, no-cache" || got.Header.Get(rings.HeaderUpstream) != rings.Upstream {
			t.Errorf("%s: %d %v", name, got.StatusCode, got.Header)
		}
		if again := u.text(t, name, "If-None-Match", etag); again.StatusCode != 304 || again.text != "" {
			t.Errorf("%s without news: %d %q", name, again.StatusCode, again.text)
		}
		if head := ask(t, "HEAD", withID(u.url()+"/-/mirror/"+name, followerID)); head.StatusCode != 200 || head.ContentLength != int64(len(got.text)) || head.text != "" {
			t.Errorf("HEAD of %s: %d, %d bytes", name, head.StatusCode, head.ContentLength)
		}
		if wrong := ask(t, "GET", withID(u.url()+"/-/mirror/"+name, "wrong")); wrong.StatusCode != 401 {
			t.Errorf("%s with a wrong id: %d", name, wrong.StatusCode)
		}
		if post := ask(t, "POST", withID(u.url()+"/-/mirror/"+name, followerID)); post.StatusCode != 405 {
			t.Errorf("POST of %s: %d", name, post.StatusCode)
		}
	}
	if part := u.text(t, object, "Range", "bytes=1-2"); part.StatusCode != 206 || part.text != "at" || part.Header.Get("ETag") != `"`+object[len("objects/aa/"):]+`"` {
		t.Errorf("a part of a content: %d %q", part.StatusCode, part.text)
	}
	if other := u.text(t, object, "If-Match", `"0"`); other.StatusCode != 412 {
		t.Errorf("another content: %d", other.StatusCode)
	}
	for _, name := range []string{
		"", "Current.json", "current.JSON", "lease.json", "generations/0.json", "generations/" + "01.json", "generations/999999999.json", "generations/" + strings.Repeat("9", 30) + ".json",
		"records/All_Classes", strings.ToLower(record), record + "x", strings.Replace(record, "records/", "records%2F", 1), "records/../" + record, "records/All_Classes/..%2f..%2fstate%2fsyncd.db",
		strings.ToUpper(object), "objects/00/" + strings.Repeat("0", 64), "objects/" + object[len("objects/aa/"):], "trust/1", "trust/0", "probes/x", "../current/All_Classes/mdAddr.dat",
	} {
		if got := u.text(t, name); got.StatusCode != 404 {
			t.Errorf("%q: %d %.80q", name, got.StatusCode, got.text)
		}
	}
	for _, path := range []string{"/-", "/-/Mirror/current.json", "/-/x/current.json"} {
		if got := ask(t, "GET", withID(u.url()+path, followerID)); got.StatusCode != 404 {
			t.Errorf("%s: %d", path, got.StatusCode)
		}
	}
	plain := startUpstream(t, h.engine.Followers.Catalog(), nil)
	if got := plain.text(t, bucket.CurrentName); got.StatusCode != 404 {
		t.Errorf("a server without the texts: %d", got.StatusCode)
	}
}

// A follower that read a record finds its contents, whatever is live by then and however little
// retain keeps.
func TestARecordOfTheMirrorKeepsItsRevision(t *testing.T) {
	t.Parallel()
	e := startProvider(t)
	h := startHost(t, e, entry("data"))
	h.cfg.Retain = 0
	h.entries(entry("data"))
	u := mirrorUpstream(t, h, nil)
	publishData(e, "2026.08", "zero")
	h.sync()
	_, unread := u.newest(t)
	publishData(e, "2026.09", "one")
	h.sync()
	if got := u.text(t, unread.Manifests[0].Record()); got.StatusCode != 404 {
		t.Errorf("a revision that was pruned: %d", got.StatusCode)
	}
	_, generation := u.newest(t)
	record := u.text(t, generation.Manifests[0].Record())
	publishData(e, "2026.10", "two")
	h.sync()
	if got := u.text(t, bucket.ObjectName(sha256.Sum256([]byte("one")))); record.StatusCode != 200 || got.text != "one" {
		t.Errorf("%d, then %d %q", record.StatusCode, got.StatusCode, got.text)
	}
	if got := u.text(t, generation.Manifests[0].Record()); got.text != record.text {
		t.Errorf("the record of a revision that is served no more has another text: %d", got.StatusCode)
	}
}
