package generations_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/catalog"
	"syncd/internal/downstream/generations"
	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
	"syncd/internal/mirror"
)

// host is a mirror in memory, with the real catalog.
type host struct {
	*testing.T
	served  map[string]mirror.Record
	earlier map[string]mirror.Record
	catalog *catalog.Catalog
	state   *state
	cfg     generations.Config
	now     time.Time
	warned  []string
}

func start(t *testing.T) *host {
	h := &host{T: t, served: map[string]mirror.Record{}, earlier: map[string]mirror.Record{}, state: &state{saved: map[string][]byte{}}, now: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
	h.catalog = catalog.New(catalog.Config{
		Mirror: h, Records: h, Objects: h, Store: h.state,
		Live:     func(name string) map[string]time.Time { return h.live(name) },
		Left:     func(string) map[string]bool { return nil },
		IsStaged: func(string, string) bool { return false },
		Warn:     func(message string, err error) { t.Errorf("%s: %v", message, err) },
	}, time.Hour)
	h.cfg = generations.Config{
		Catalog: h.catalog, Mirror: h, Records: h, Store: h.state, Publisher: "main", Version: "1.0.0",
		Warn: func(message string, err error) { h.warned = append(h.warned, message+": "+err.Error()) }, Now: func() time.Time { return h.now },
	}
	return h
}

func (h *host) Current() mirror.Generation { return mirror.Generation{Records: h.served} }

func (h *host) RevisionIDs(name string) (ids []string) {
	for id, r := range h.earlier {
		if r.Manifest == name {
			ids = append(ids, id)
		}
	}
	return ids
}

func (h *host) Revision(_, id string) (mirror.Record, error) {
	r, found := h.earlier[id]
	if !found {
		return r, os.ErrNotExist
	}
	return r, nil
}

func (h *host) Open(manifest.ObjectID) (*os.File, error) { return nil, os.ErrNotExist }

func (h *host) live(string) map[string]time.Time {
	all := map[string]time.Time{}
	for id, r := range h.earlier {
		all[id] = r.PublishedAt
	}
	return all
}

// serve puts a release with one file into service.
func (h *host) serve(name string, release manifest.Release, text string) {
	h.Helper()
	ref := manifest.Reference("Data/" + string(release) + "/" + name)
	sum := manifest.ObjectID(sha256.Sum256([]byte(text)))
	r := mirror.Record{Manifest: name, Release: release, Listed: 1, PublishedAt: h.now, MirroredAt: h.now}
	r.Files = []mirror.File{{Path: ref.Path(), Reference: ref, Size: int64(len(text)), Object: sum, Expected: sum.Digest()}}
	r.Revision = manifest.RevisionID([]manifest.Sum{{Object: sum, Path: ref.Path()}})
	h.show(r)
}

func (h *host) show(r mirror.Record) {
	if before, found := h.served[r.Manifest]; found {
		h.earlier[before.ID()] = before
	}
	h.served[r.Manifest] = r
	h.catalog.Rebuild()
}

func (h *host) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *host) open() *generations.Generations {
	h.Helper()
	g, err := generations.New(h.cfg)
	h.must(err)
	return g
}

func (h *host) of(g *generations.Generations, ring string) *generations.Edition {
	h.Helper()
	e, err := g.Of(ring)
	h.must(err)
	return e
}

// pass lets time pass, so that a generation is looked at again.
func (h *host) pass(d time.Duration) { h.now = h.now.Add(d) }

// state is a store in memory.
type state struct {
	mu    sync.Mutex
	saved map[string][]byte
	err   error
}

func (s *state) Generations(each func(string, json.RawMessage) error) (err error) {
	for ring, value := range s.saved {
		err = errors.Join(err, each(ring, value))
	}
	return err
}

func (s *state) SetGeneration(ring string, value any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	text, err := json.Marshal(value)
	s.saved[ring] = text
	return err
}

func (*state) Asked() (map[string]time.Time, error)        { return nil, nil }
func (*state) SetAsked(string, time.Time, time.Time) error { return nil }

func TestNumbersOnlyGoUp(t *testing.T) {
	h := start(t)
	hidden := map[manifest.Release]bool{}
	h.cfg.Sees = func(ring string) catalog.Sees {
		return func(r *catalog.Revision) bool { return ring == "first" || !hidden[r.Release] }
	}
	g := h.open()
	last := map[string]*generations.Edition{}
	all := map[int]string{}
	look := func(what string, rings ...string) {
		t.Helper()
		h.pass(time.Second)
		for _, ring := range rings {
			e := h.of(g, ring)
			if before := last[ring]; before != nil && (e.Number <= before.Number || e.Previous != before.Number) {
				t.Errorf("%s: generation %d of %s, which names %d before it, comes after %d", what, e.Number, ring, e.Previous, before.Number)
			}
			if other := all[e.Number]; other != "" {
				t.Errorf("%s: generation %d of %s is one of %s, too", what, e.Number, ring, other)
			}
			last[ring], all[e.Number] = e, ring
		}
	}
	same := func(what string, rings ...string) {
		t.Helper()
		h.pass(time.Second)
		for _, ring := range rings {
			if e := h.of(g, ring); e.Number != last[ring].Number || !bytes.Equal(e.Text, last[ring].Text) {
				t.Errorf("%s: %s has another generation\n%s\n%s", what, ring, last[ring].Text, e.Text)
			}
		}
	}
	h.serve("one", "2026.08", "a")
	look("first", "first", "rest", "")
	same("nothing new", "first", "rest", "")
	hidden["2026.09"] = true
	h.serve("one", "2026.09", "b")
	look("a release for the first ring", "first", "")
	same("a release for the first ring", "rest")
	delete(hidden, "2026.09")
	look("promoted", "rest")
	hidden["2026.09"] = true
	look("stopped", "rest")
	g = h.open()
	same("restarted", "first", "rest", "")
	h.cfg.Version = "1.0.1"
	g = h.open()
	same("another version of syncd", "first", "rest", "")
	delete(h.served, "one")
	h.serve("two", "2026.09", "c")
	look("another manifest", "first", "")
	before := last["first"].Number
	h.state.saved = map[string][]byte{}
	h.pass(time.Hour)
	g = h.open()
	h.serve("two", "2026.09", "d")
	if e := h.of(g, "first"); e.Number <= before {
		t.Errorf("a host that lost its state counts from %d on, after %d", e.Number, before)
	}
	h.now = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	h.serve("two", "2026.09", "e")
	before = h.of(g, "first").Number
	h.now = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	h.serve("two", "2026.09", "f")
	if e := h.of(g, "first"); e.Number != before+1 {
		t.Errorf("a wrong clock ended the counting: %d, then %d", before, e.Number)
	}
	if len(h.warned) > 0 {
		t.Errorf("%q", h.warned)
	}
}

// A number that the state does not have is told to nobody: the next start would give it again.
func TestAGenerationThatCannotBeSavedIsNotTold(t *testing.T) {
	h := start(t)
	g := h.open()
	h.serve("one", "2026.08", "a")
	h.state.err = errors.New("the disk is full")
	if e, err := g.Of(""); err == nil {
		t.Errorf("%s", e.Text)
	}
	h.state.err = nil
	first := h.of(g, "")
	h.state.err = errors.New("the disk is full")
	h.serve("one", "2026.09", "b")
	for range 3 {
		h.pass(time.Second)
		if e := h.of(g, ""); e.Number != first.Number {
			t.Errorf("%s", e.Text)
		}
	}
	if len(h.warned) != 1 || !strings.Contains(h.warned[0], "the disk is full") {
		t.Errorf("%q", h.warned)
	}
	h.state.err = nil
	h.pass(time.Second)
	if e := h.of(g, ""); e.Number != first.Number+1 {
		t.Errorf("%s", e.Text)
	}
}

func TestAStatementStaysUntilItsRenewal(t *testing.T) {
	h := start(t)
	var fails error
	h.cfg.Sign = func(before string, number int, sum manifest.ObjectID, now time.Time) (string, error) {
		statement := fmt.Sprintf("generation %d sha256 %s until hour %d", number, sum, now.Hour()+1)
		if fails != nil {
			return "", fails
		}
		return statement, nil
	}
	texts := [][]byte{[]byte("version 1"), []byte("version 2")}
	h.cfg.Trust = func() [][]byte { return texts }
	g := h.open()
	h.serve("one", "2026.08", "a")
	current := func() (bucket.Current, string) {
		t.Helper()
		text, etag, err := g.Current("")
		h.must(err)
		c, err := bucket.ParseCurrent(text)
		h.must(err)
		return c, etag
	}
	first, etag := current()
	e := h.of(g, "")
	if want := fmt.Sprintf("generation %d sha256 %s until hour 13", e.Number, e.Sum); first.Statement != want || first.SHA256 != e.Sum {
		t.Errorf("%+v, want %s", first, want)
	}
	if first.Trust != (bucket.TrustText{Version: 2, SHA256: sha256.Sum256(texts[1])}) {
		t.Errorf("%+v", first.Trust)
	}
	if text, found := g.Trust(1); !found || string(text) != "version 1" {
		t.Errorf("%q", text)
	}
	if _, found := g.Trust(3); found {
		t.Error("there is no version 3")
	}
	h.pass(time.Minute)
	g = h.open()
	if _, again := current(); again != etag {
		t.Error("current.json changed without news, over a restart")
	}
	h.pass(time.Hour)
	if renewed, again := current(); again == etag || !strings.HasSuffix(renewed.Statement, "until hour 14") || renewed.Generation != first.Generation {
		t.Errorf("%+v", renewed)
	}
	fails = errors.New("no key")
	h.pass(time.Hour)
	if kept, _ := current(); !strings.HasSuffix(kept.Statement, "until hour 14") || len(h.warned) != 1 {
		t.Errorf("%+v %q", kept, h.warned)
	}
}

// What no follower would take is left out, and does not keep the rest from followers.
func TestARevisionThatNobodyWouldTakeIsLeftOut(t *testing.T) {
	h := start(t)
	g := h.open()
	h.serve("good", "2026.08", "a")
	h.serve("bad", "2026.08", "b")
	bad := h.served["bad"]
	bad.Revision = "0123456789ab"
	h.show(bad)
	for range 2 {
		h.pass(time.Second)
		if e := h.of(g, ""); len(e.Manifests) != 1 || e.Manifests[0].Name != "good" {
			t.Errorf("%s", e.Text)
		}
	}
	if len(h.warned) != 1 {
		t.Errorf("%q", h.warned)
	}
}

func TestAnOrderIsNewsWithoutANewRevision(t *testing.T) {
	h := start(t)
	var order destruction.Order
	h.cfg.Order = func(string) destruction.Order { return order }
	g := h.open()
	h.serve("one", "2026.08", "a")
	first := h.of(g, "")
	r := h.served["one"]
	order = destruction.Order{Seconds: 60, Gone: []destruction.Gone{{Release: r.Release, Revision: r.Revision, At: h.now}, {Release: "2026.07", At: h.now}}}
	h.pass(time.Second)
	second := h.of(g, "")
	if got := second.Destruction["one"]; second.Number != first.Number+1 || len(got.Gone) != 1 || got.Seconds != 60 {
		t.Errorf("%s", second.Text)
	}
}

// Many readers of a record that is served no more share one copy of it.
func TestReadersOfARecordShareIt(t *testing.T) {
	h := start(t)
	g := h.open()
	h.serve("one", "2026.08", "a")
	first := h.of(g, "")
	h.serve("one", "2026.09", "b")
	h.of(g, "")
	r, found := g.Record("", first.Manifests[0].Record())
	if !found {
		t.Fatal("the record of the generation before cannot be had")
	}
	a, err := g.Read(r)
	h.must(err)
	b, err := g.Read(r)
	h.must(err)
	if a != b {
		t.Error("each reader has a copy")
	}
	var text bytes.Buffer
	write, err := g.Writer(r)
	h.must(err)
	h.must(write(&text))
	if sum := sha256.Sum256(text.Bytes()); manifest.ObjectID(sum) != r.Sum || int64(text.Len()) != r.Size || r.Sum != first.Manifests[0].RecordSHA256 {
		t.Errorf("%d bytes, want %d:\n%s", text.Len(), r.Size, text.String())
	}
	h.earlier = map[string]mirror.Record{}
	h.catalog.Rebuild()
	if _, found := g.Record("", first.Manifests[0].Record()); found {
		t.Error("the record of a revision that was pruned can be had")
	}
	if _, found := g.Object("", sha256.Sum256([]byte("a"))); found {
		t.Error("a content of a revision that was pruned can be had")
	}
	if _, found := g.Object("", sha256.Sum256([]byte("b"))); !found {
		t.Error("a content cannot be had")
	}
}

// The first look at many records takes long. A release that is stopped right after it is seen
// by no later ring from then on, and what only time decides is seen soon.
func TestAStopActsAtOnceAfterALongLook(t *testing.T) {
	h := start(t)
	isStopped, decisions := false, 0
	h.cfg.Decisions = func() int { return decisions }
	h.cfg.Sees = func(string) catalog.Sees {
		return func(r *catalog.Revision) bool {
			time.Sleep(100 * time.Millisecond)
			return !isStopped || r.Release != "2026.09"
		}
	}
	h.serve("one", "2026.08", "a")
	h.serve("one", "2026.09", "b")
	g := h.open()
	shows := func(want manifest.Release) {
		t.Helper()
		if e := h.of(g, "rest"); len(e.Manifests) != 1 || e.Manifests[0].Release != want {
			t.Errorf("the ring is told %s, want %s", e.Text, want)
		}
	}
	shows("2026.09")
	isStopped = true
	decisions++
	shows("2026.08")
	isStopped = false
	h.pass(5 * time.Second)
	shows("2026.09")
}
