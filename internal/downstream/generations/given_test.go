package generations_test

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/catalog"
	"syncd/internal/downstream/generations"
	"syncd/internal/downstream/relay"
	"syncd/internal/downstream/trust"
	"syncd/internal/manifest"
)

// upstream gives signed texts about what a host serves.
type upstream struct {
	*host
	dir   string
	key   *trust.PrivateKey
	off   bool
	texts []relay.Text // the newest first
}

func startUpstream(h *host) *upstream {
	h.Helper()
	secret, _, err := trust.GenerateKey("publisher")
	h.must(err)
	key, err := trust.ParsePrivateKey(secret)
	h.must(err)
	return &upstream{host: h, dir: h.TempDir(), key: key}
}

func (u *upstream) Texts() ([]relay.Text, bool) { return u.texts, !u.off }

func (u *upstream) Record(sum manifest.ObjectID) (*os.File, error) {
	return os.Open(filepath.Join(u.dir, sum.String()))
}

// give gives a generation of what another host serves, until a time.
func (u *upstream) give(number int, from *host, until time.Time) {
	u.Helper()
	g := bucket.Generation{Number: number, Publisher: "first", PublishedAt: u.now}
	for _, r := range from.served {
		text, err := bucket.TextOf(r)
		u.must(err)
		to, err := os.Create(filepath.Join(u.dir, text.Sum.String()))
		u.must(err)
		u.must(errors.Join(bucket.WriteRecord(to, text.Record), to.Close()))
		m := bucket.EntryOf(r)
		m.RecordSHA256 = text.Sum
		g.Manifests = append(g.Manifests, m)
	}
	t := relay.Text{Generation: g, Text: g.Text()}
	sum := manifest.ObjectID(sha256.Sum256(t.Text))
	statement, err := trust.Statement{Origin: "example", Generation: number, SHA256: sum, Issued: until.Add(-time.Hour), Expires: until}.Sign(u.key)
	u.must(err)
	t.Current = bucket.Current{Generation: number, SHA256: sum, Statement: string(statement)}
	t.CurrentText = t.Current.Text()
	u.texts = append([]relay.Text{t}, u.texts...)
}

// A ring with a delay learns of a release when this host has had it for so long, whatever else
// there is to pass on.
func TestADelayedRingIsNotToldOfWhatIsNotHeld(t *testing.T) {
	first, h := start(t), start(t)
	u := startUpstream(h)
	h.cfg.Relay = u
	delays := map[string]time.Duration{"canary": 0, "rest": 24 * time.Hour}
	h.cfg.Sees = func(ring string) catalog.Sees {
		return func(r *catalog.Revision) bool { return h.now.Sub(r.LiveAt) >= delays[ring] }
	}
	g := h.open()
	tells := func(what, ring string, want int) {
		t.Helper()
		h.pass(time.Second)
		text, _, err := g.Current(ring)
		c, _ := bucket.ParseCurrent(text)
		if c.Generation != want || (err != nil) != (want == 0) {
			t.Errorf("%s: %s is told of generation %d, want %d: %v", what, ring, c.Generation, want, err)
		}
	}
	first.serve("one", "2026.08", "a")
	u.give(7, first, h.now.Add(48*time.Hour))
	h.serve("one", "2026.07", "of before")
	tells("another release is held", "canary", 7)
	tells("another release is held", "rest", 0)
	h.serve("one", "2026.08", "a")
	h.pass(25 * time.Hour)
	tells("held", "rest", 7)
	first.serve("one", "2026.09", "b")
	u.give(8, first, h.now.Add(72*time.Hour))
	h.pass(30 * time.Hour)
	tells("what is held expired", "canary", 8)
	tells("what is held expired", "rest", 7)
	if text, found := g.Record("rest", u.texts[0].Generation.Manifests[0].Record()); found {
		t.Errorf("rest gets the record of a release that it does not see: %+v", text)
	}
	h.serve("one", "2026.09", "b")
	tells("live", "canary", 8)
	tells("live", "rest", 7)
	h.pass(25 * time.Hour)
	tells("the delay has passed", "rest", 8)
}

func TestWhichGenerationIsPassedOn(t *testing.T) {
	first, h := start(t), start(t)
	u := startUpstream(h)
	h.cfg.Relay = u
	hidden := map[manifest.Release]bool{}
	h.cfg.Sees = func(string) catalog.Sees {
		return func(r *catalog.Revision) bool { return !hidden[r.Release] }
	}
	g := h.open()
	passes := func(what, ring string, want int) {
		t.Helper()
		h.pass(time.Second)
		text, _, err := g.Current(ring)
		if want == 0 {
			if !errors.Is(err, generations.ErrNone) {
				t.Errorf("%s: %s, %v", what, text, err)
			}
			return
		}
		h.must(err)
		if c, err := bucket.ParseCurrent(text); err != nil || c.Generation != want {
			t.Errorf("%s: generation %d is passed on, want %d", what, c.Generation, want)
		}
	}
	far := h.now.Add(48 * time.Hour)
	passes("nothing was given", "", 0)
	first.serve("one", "2026.08", "a")
	u.give(7, first, far)
	passes("nothing is held", "", 7) // whoever asks is told by name what is missing
	h.serve("one", "2026.08", "a")
	passes("held", "", 7)
	first.serve("one", "2026.09", "b")
	u.give(8, first, far.Add(-47*time.Hour))
	passes("a release that is not held", "", 7)
	h.serve("one", "2026.09", "other bytes")
	passes("other bytes of the release", "", 7)
	h.serve("one", "2026.09", "b")
	passes("held", "", 8)
	hidden["2026.09"] = true
	passes("hidden from a ring", "rest", 7)
	passes("hidden from a ring", "", 8)
	hidden["2026.08"] = true
	passes("all is hidden from a ring", "rest", 0)
	if _, found := g.Object("rest", sha256.Sum256([]byte("a"))); found {
		t.Error("a ring gets a content of what it does not see")
	}
	hidden = map[manifest.Release]bool{}
	h.pass(2 * time.Hour)
	passes("the newest expired", "", 8)
	first.serve("one", "2026.10", "c")
	u.give(9, first, h.now.Add(time.Hour))
	passes("what is held expired", "", 9)
	delete(h.served, "one")
	h.catalog.Rebuild()
	passes("nothing is mirrored any more", "", 9)
	u.off = true
	h.pass(time.Second)
	if e := h.of(g, ""); e.Publisher != "main" || e.Number < 1000 {
		t.Errorf("a host that passes nothing on says %s", e.Text)
	}
	u.off = false
	passes("on again", "", 9)
	g = h.open()
	passes("restarted", "", 9)
	if _, found := g.Text("", 7); found {
		t.Error("a generation is told that is not kept")
	}
}

// A host that lost what it had of the newest generation goes on telling it, also after a
// restart: followers would refuse the one before.
func TestARestartDoesNotGoBackToAnEarlierGeneration(t *testing.T) {
	first, h := start(t), start(t)
	u := startUpstream(h)
	h.cfg.Relay = u
	g := h.open()
	far := h.now.Add(48 * time.Hour)
	tells := func(what string, want int) {
		t.Helper()
		h.pass(time.Second)
		text, _, err := g.Current("rest")
		h.must(err)
		if c, err := bucket.ParseCurrent(text); err != nil || c.Generation != want {
			t.Errorf("%s: generation %d is told, want %d", what, c.Generation, want)
		}
	}
	first.serve("one", "2026.08", "a")
	u.give(7, first, far)
	h.serve("one", "2026.08", "a")
	tells("held", 7)
	first.serve("one", "2026.09", "b")
	u.give(8, first, far)
	h.serve("one", "2026.09", "b")
	tells("held", 8)
	h.serve("one", "2026.08", "a")
	delete(h.earlier, "2026.09-"+first.served["one"].Revision)
	h.catalog.Rebuild()
	tells("rolled back and destroyed", 8)
	g = h.open()
	tells("restarted", 8)
	u.off = true
	h.pass(time.Second)
	h.of(g, "rest")
	u.off = false
	g = h.open()
	tells("it signed meanwhile", 8)
	h.state.err = errors.New("the disk is full")
	first.serve("one", "2026.10", "c")
	u.give(9, first, far)
	h.serve("one", "2026.10", "c")
	tells("it cannot be saved", 9)
	if len(h.warned) != 1 {
		t.Errorf("%q", h.warned)
	}
}
