package syncer_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/golive"
	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
)

// upstreamWith is a world behind another syncd, which has a mirror.
func upstreamWith(t *testing.T, g bucket.Generation, release buckettest.Release) (*world, *upstream) {
	t.Helper()
	w := start(t, "data")
	u := w.behindUpstream()
	w.offerIn(u, g, release)
	return w, u
}

// offer publishes a release in the wire format and in the mirror's form.
func (w *world) offerIn(u *upstream, g bucket.Generation, release buckettest.Release) {
	w.publish("data", string(release.Release), release.Files)
	g.Publisher = "test"
	u.offers(g, release)
}

// asked are the names of the requests since the last call, in their order.
func (u *upstream) asked() (names []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, told := range u.told {
		name, _, _ := strings.Cut(told, " ")
		names = append(names, name)
	}
	u.told = nil
	return names
}

func of10(release manifest.Release, content files) buckettest.Release {
	return buckettest.Release{Manifest: "data", Release: release, Files: content, MirroredAt: time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)}
}

func TestAFollowerGoesOnInTheMirrorOfItsUpstream(t *testing.T) {
	w, u := upstreamWith(t, bucket.Generation{Number: 1}, of10("2026.09", september()))
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", september())
	asked := u.asked()
	equal(t, "the questions of the first poll", asked[:4], []string{"ManifestReleases", "mirror/current.json", "mirror/generations/1.json", asked[3]})
	for _, name := range asked[3:] {
		if !strings.HasPrefix(name, "mirror/records/data/2026.09-") && !strings.HasPrefix(name, "mirror/objects/") {
			t.Errorf("the first poll asked for %s", name)
		}
	}
	w.expect(w.poll(), "data", report.Unchanged)
	equal(t, "a poll", u.asked(), []string{"mirror/current.json"})

	w.offerIn(u, bucket.Generation{Number: 2}, of10("2026.10", october()))
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", october())
	asked = u.asked()
	if len(asked) != 4 || !strings.HasPrefix(asked[2], "mirror/records/data/2026.10-") || !strings.HasPrefix(asked[3], "mirror/objects/") {
		t.Errorf("a new release with one new file: %v", asked)
	}
	w.restart()
	w.expect(w.poll(), "data", report.Unchanged)
	if told := u.take(); len(told) != 1 || !strings.HasPrefix(told[0], "mirror/current.json manifest=data; host=db01; id=5f3a9c01; version=1; release=2026.10; ") {
		t.Errorf("a poll after a restart: %q", told)
	}
	w.expect(w.demand(), "data", report.Unchanged)
	equal(t, "a sync on demand", u.asked(), []string{"mirror/current.json"})
}

// A new release costs three texts beside the downloads, however many files it has.
func TestANewReleaseOfManyFilesCostsThreeTexts(t *testing.T) {
	release := func(version string) files {
		content := files{}
		for i := range 60 {
			content[fmt.Sprintf("%d.dat", i)] = version + fmt.Sprint(i)
		}
		return content
	}
	w, u := upstreamWith(t, bucket.Generation{Number: 1}, of10("2026.09", release("september")))
	w.expect(w.poll(), "data", report.Updated)
	u.asked()
	w.offerIn(u, bucket.Generation{Number: 2}, of10("2026.10", release("october")))
	w.expect(w.poll(), "data", report.Updated)
	asked := u.asked()
	beside := slices.DeleteFunc(slices.Clone(asked), func(name string) bool { return strings.HasPrefix(name, "mirror/objects/") })
	if len(asked)-len(beside) != 60 || len(beside) != 3 {
		t.Errorf("%d requests, beside downloads %v", len(asked), beside)
	}
}

// An earlier version has no mirror. It is asked for one again after a restart, or a day.
func TestAnUpstreamWithoutAMirrorIsFollowedInTheWireFormat(t *testing.T) {
	w := start(t, "data", "more")
	u := w.behindUpstream()
	for _, name := range []string{"data", "more"} {
		w.publish(name, "2026.09", september())
	}
	w.expect(w.poll(), "more", report.Updated)
	if asked := u.asked(); !slices.Contains(asked, "SHA256") || strings.Count(strings.Join(asked, " "), "current.json") != 1 {
		t.Errorf("the first poll asked for %v", asked)
	}
	w.poll()
	equal(t, "a poll", u.asked(), []string{"ManifestReleases", "ManifestReleases"})

	u.offers(bucket.Generation{Number: 7, Publisher: "test"}, of10("2026.09", september())) // it was upgraded
	w.poll()
	equal(t, "a poll on the same day", u.asked(), []string{"ManifestReleases", "ManifestReleases"})
	w.restart()
	w.expect(w.poll(), "data", report.Unchanged)
	w.poll()
	asked := u.asked()
	equal(t, "what only the wire format has is asked for there", asked[len(asked)-2:], []string{"mirror/current.json", "ManifestReleases"})

	u.mu.Lock()
	u.mirror = nil // it was downgraded
	u.mu.Unlock()
	w.expect(w.poll(), "data", report.Unchanged)
	w.poll()
	asked = u.asked()
	equal(t, "after a downgrade", asked[len(asked)-2:], []string{"ManifestReleases", "ManifestReleases"})
	if !strings.Contains(w.log.String(), "no mirror any more") {
		t.Errorf("the log says\n%s", &w.log)
	}
}

// Whatever stands in the place of a mirror that was never read is none.
func TestWhatIsNoMirrorIsNotRead(t *testing.T) {
	for _, text := range []string{"<html>", "{}", `{"syncd_bucket": 9}`} {
		w := start(t, "data")
		u := w.behindUpstream()
		w.publish("data", "2026.09", september())
		u.mirror = map[string][]byte{"current.json": []byte(text)}
		w.expect(w.poll(), "data", report.Updated)
		u.asked()
		w.expect(w.poll(), "data", report.Unchanged)
		equal(t, "a poll", u.asked(), []string{"ManifestReleases"})
	}
}

// A provider that is no syncd is not asked for a mirror.
func TestAProviderIsNotAskedForAMirror(t *testing.T) {
	w, u := upstreamWith(t, bucket.Generation{Number: 1}, of10("2026.09", september()))
	u.names = "2"
	w.expect(w.poll(), "data", report.Updated)
	if asked := u.asked(); slices.ContainsFunc(asked, func(name string) bool { return strings.HasPrefix(name, "mirror/") }) {
		t.Errorf("asked for %v", asked)
	}
}

// Entries of which a generation has no release of its own stay in the wire format.
func TestOtherEntriesStayInTheWireFormat(t *testing.T) {
	for name, change := range map[string]func(*golive.Target){
		"a month": func(t *golive.Target) { t.Release = "2026.09" },
		"files": func(t *golive.Target) {
			t.Files = []manifest.Reference{manifest.Parts{Class: manifest.Data, Release: manifest.Latest, Name: "a.dat"}.Reference()}
		},
	} {
		w, u := upstreamWith(t, bucket.Generation{Number: 1}, of10("2026.09", september()))
		w.target("data", change)
		w.expect(w.poll(), "data", report.Updated)
		if asked := u.asked(); slices.ContainsFunc(asked, func(name string) bool { return strings.HasPrefix(name, "mirror/") }) {
			t.Errorf("%s: asked for %v", name, asked)
		}
	}
}

func TestAHostThatMovesToALaterRingKeepsWhatItServes(t *testing.T) {
	w, u := upstreamWith(t, bucket.Generation{Number: 5, Ring: "first"}, of10("2026.10", october()))
	w.expect(w.poll(), "data", report.Updated)
	later := bucket.Generation{Number: 3, Ring: "rest"}
	w.offerIn(u, later, of10("2026.09", september()))
	for range 2 {
		w.expect(w.poll(), "data", report.Unchanged)
		w.expect(w.demand(), "data", report.Unchanged)
		w.serves("data", october())
	}
	w.pass(48 * time.Hour) // a full check is due
	w.expect(w.poll(), "data", report.Unchanged)

	later.Number = 6 // other bytes of the release, before those that this host took
	early := of10("2026.10", september())
	early.MirroredAt = early.MirroredAt.Add(-time.Hour)
	w.offerIn(u, later, early)
	w.expect(w.poll(), "data", report.Unchanged)
	w.serves("data", october())

	later.Number = 4
	w.offerIn(u, later, of10("2026.09", september()))
	m := w.expect(w.poll(), "data", report.Refused)
	equal(t, "an older number of the same ring", m.Reason, string(refusal.Downgrade))

	later.Number = 7
	held := of10("2026.09", september())
	held.Held = true
	w.offerIn(u, later, held)
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", september())
}

// Without rings, an older release is a mistake, as in the wire format.
func TestAnOlderReleaseOfAnUpstreamIsRefused(t *testing.T) {
	w, u := upstreamWith(t, bucket.Generation{Number: 1}, of10("2026.10", october()))
	w.expect(w.poll(), "data", report.Updated)
	w.offerIn(u, bucket.Generation{Number: 2}, of10("2026.09", september()))
	m := w.expect(w.poll(), "data", report.Refused)
	equal(t, "reason", m.Reason, string(refusal.Downgrade))
	w.serves("data", october())
}

// The orders of an upstream come with its generation.
func TestTheOrdersOfAnUpstreamComeWithItsGeneration(t *testing.T) {
	order := destruction.Order{Seconds: 90}
	w, u := upstreamWith(t, bucket.Generation{Number: 1, Destruction: map[string]destruction.Order{"data": order}}, of10("2026.09", september()))
	w.expect(w.poll(), "data", report.Updated)
	w.wantOrder("the first poll", &destruction.Told{Source: w.cfg.Source, Order: order})
	w.poll()
	w.wantOrder("a poll without news", &destruction.Told{Source: w.cfg.Source, Order: order})
	w.offerIn(u, bucket.Generation{Number: 2}, of10("2026.09", september()))
	w.poll()
	w.wantOrder("taken back", nil)
}

// A failing mirror is no reason to believe another answer, once it was read.
func TestAMirrorThatFailsIsNotLeft(t *testing.T) {
	w, u := upstreamWith(t, bucket.Generation{Number: 1}, of10("2026.09", september()))
	w.expect(w.poll(), "data", report.Updated)
	u.asked()
	u.mirror["current.json"] = []byte("{}")
	m := w.expect(w.poll(), "data", report.Refused)
	equal(t, "reason", m.Reason, string(refusal.BadShape))
	equal(t, "requests", u.asked(), []string{"mirror/current.json"})
}

// Nothing is read beyond the size that a record names. A cache that has other bytes under the
// name is asked once for those of the upstream.
func TestNoContentIsReadBeyondItsSize(t *testing.T) {
	w, u := upstreamWith(t, bucket.Generation{Number: 1}, of10("2026.09", september()))
	w.expect(w.poll(), "data", report.Updated)
	w.offerIn(u, bucket.Generation{Number: 2}, of10("2026.10", october()))
	id := sha256.Sum256([]byte("b of october"))
	name := bucket.ObjectName(id)
	whole := u.mirror[name]
	longer := append(slices.Clone(whole), make([]byte, 64<<20)...)
	var sent atomic.Int64
	u.sends = func(name string, n int64) { sent.Add(n) }
	u.mirror[name] = longer
	m := w.expect(w.poll(), "data", report.Refused)
	equal(t, "reason", m.Reason, string(refusal.TooLarge))
	w.serves("data", september())
	if n := sent.Load(); n > 40<<20 {
		t.Errorf("%d bytes were read", n)
	}
	u.atCaches = map[string][]byte{name: longer}
	u.mirror[name] = whole
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", october())
}
