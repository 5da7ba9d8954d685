package publisher

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/manifest"
	"syncd/internal/report"
)

// lookIn reads what a ring sees, and requires that its contents are there.
func lookIn(t testing.TB, s *buckettest.Server, ring string) (bucket.Current, bucket.Generation) {
	t.Helper()
	current, err := bucket.ParseCurrent(file(t, s, bucket.RingCurrentName(ring)))
	must(t, err)
	text := file(t, s, bucket.GenerationName(current.Generation))
	if sha256.Sum256(text) != current.SHA256 {
		t.Fatalf("the generation of ring %q is not the one that its current.json names", ring)
	}
	g, err := bucket.ParseGeneration(current.Generation, text)
	must(t, err)
	return current, g
}

// ringed publishes to two rings with hosts of their own for what they see.
func ringed(t testing.TB, s *buckettest.Server, canary, rest *host) *Publisher {
	return newPublisher(t, s.Endpoint, rest, func(cfg *Config) {
		cfg.Ring, cfg.Rings = "rest", []Ring{{"canary", canary}}
		cfg.Objects = canary
	})
}

// Each ring has a current.json. It names what the ring sees, and followers that say no ring see
// what the last one sees.
func TestEachRingHasItsCurrent(t *testing.T) {
	onEachServer(t, func(t *testing.T, s *buckettest.Server) {
		canary, rest := newHost(t), newHost(t)
		canary.serve("m", "2026.10", map[string]string{"a": "october"})
		p := ringed(t, s, canary, rest)
		if done := mustPublish(t, p, Request{}); done.Generation != 1 || done.Served != canary.Current().Number { // the last ring sees nothing yet
			t.Errorf("%+v", done)
		}
		if _, g := lookIn(t, s, "canary"); g.Ring != "canary" || len(g.Manifests) != 1 {
			t.Errorf("%+v", g)
		}
		rest.show(canary.Current().Records["m"])
		canary.serve("m", "2026.11", map[string]string{"a": "november", "b": "small"})
		done := mustPublish(t, p, Request{})
		first, early := lookIn(t, s, "canary")
		last, late := lookIn(t, s, "rest")
		if early.Manifests[0].Release != "2026.11" || late.Manifests[0].Release != "2026.10" || late.Ring != "rest" {
			t.Errorf("%+v\n%+v", early, late)
		}
		if done.Generation != last.Generation || first.Began != last.Began || first.Generation == last.Generation {
			t.Errorf("%+v\n%+v\n%+v", done, first, last)
		}
		if whole := look(t, s); whole.current.SHA256 != last.SHA256 || whole.files["m/a"] != "october" {
			t.Errorf("%+v", whole)
		}
		again := mustPublish(t, ringed(t, s, canary, rest), Request{Check: true})
		if now, _ := lookIn(t, s, "canary"); again.Result != "unchanged" || now.Generation != first.Generation {
			t.Errorf("nothing is new: %+v", again)
		}
	})
}

// A ring that waits for long keeps its contents, and its publisher knows them as its own. The
// next ring needs no upload of what the one before has.
func TestARingThatWaitsKeepsItsContents(t *testing.T) {
	s := start(t)
	canary, rest := newHost(t), newHost(t)
	rest.show(canary.serve("m", "2026.01", map[string]string{"a": "january"}))
	p := ringed(t, s, canary, rest)
	mustPublish(t, p, Request{})
	for _, month := range []string{"02", "03", "04", "05", "06", "07", "08", "09", "10", "11"} {
		canary.serve("m", manifest.Release("2026."+month), map[string]string{"a": month})
		mustPublish(t, p, Request{})
	}
	age(t, s, 100*time.Hour)
	canary.serve("m", "2026.12", map[string]string{"a": "december"})
	mustPublish(t, p, Request{Collect: true})
	age(t, s, 100*time.Hour)
	mustPublish(t, p, Request{Collect: true})
	if got := look(t, s).files["m/a"]; got != "january" {
		t.Errorf("the last ring has %q", got)
	}
	name := p.identity.Name()
	rest.show(canary.Current().Records["m"])
	done := mustPublish(t, p, Request{})
	if done.Objects != 0 || look(t, s).files["m/a"] != "december" || p.identity.Name() != name {
		t.Errorf("%+v", done)
	}
	// A publisher without rings keeps what the rings of another one have.
	mustPublish(t, newPublisher(t, s.Endpoint, rest, func(cfg *Config) { cfg.Objects = canary }), Request{Collect: true})
	if _, g := lookIn(t, s, "canary"); g.Manifests[0].Release != "2026.12" {
		t.Errorf("%+v", g)
	}
}

// A damaged generation of a ring is found, and published again.
func TestTheTextsOfRingsAreVerified(t *testing.T) {
	s := start(t)
	canary, rest := newHost(t), newHost(t)
	rest.show(canary.serve("m", "2026.10", map[string]string{"a": "october"}))
	canary.serve("m", "2026.11", map[string]string{"a": "november"})
	p := ringed(t, s, canary, rest)
	mustPublish(t, p, Request{})
	before, _ := lookIn(t, s, "canary")
	must(t, p.store.Remove(inJob(t), bucket.GenerationName(before.Generation)))
	done, err := p.Verify(context.Background(), Verify{})
	must(t, err)
	if v := done.Verification; v.Missing != 1 {
		t.Errorf("%+v", v)
	}
	done, err = p.Verify(context.Background(), Verify{Repair: true})
	must(t, err)
	if v := done.Verification; v.Missing != 1 || v.Repaired != 1 {
		t.Errorf("%+v", v)
	}
	if _, g := lookIn(t, s, "canary"); g.Manifests[0].Release != "2026.11" {
		t.Errorf("%+v", g)
	}
}

// An operator's --force begins one epoch for all rings: otherwise a host that goes from one ring to
// another would refuse what it finds there.
func TestForceBeginsOneEpochForAllRings(t *testing.T) {
	s := start(t)
	canary, rest, other := newHost(t), newHost(t), newHost(t)
	rest.show(canary.serve("m", "2026.10", map[string]string{"a": "october"}))
	canary.serve("m", "2026.11", map[string]string{"a": "november"})
	other.serve("m", "2026.12", map[string]string{"a": "december"})
	p, q := ringed(t, s, canary, rest), ringed(t, s, other, other)
	mustPublish(t, p, Request{})
	mustPublish(t, q, Request{})
	for epoch := range int64(2) {
		mustPublish(t, p, Request{Force: true})
		for _, ring := range []string{"canary", "rest", ""} {
			if current, g := lookIn(t, s, ring); current.Epoch != epoch+1 || g.Epoch != epoch+1 {
				t.Errorf("ring %q has epoch %d", ring, current.Epoch)
			}
		}
	}
	if done := mustPublish(t, q, Request{}); !done.Superseded {
		t.Errorf("the other publisher: %+v", done)
	}
	if _, g := lookIn(t, s, "canary"); g.Manifests[0].Release != "2026.11" {
		t.Errorf("%+v", g)
	}
}

// The keys sign what each ring sees, and a copy for the last ring is believed as current.json is.
func TestTheGenerationOfEachRingIsSigned(t *testing.T) {
	s, k := start(t), newKeys(t, 1, "a")
	canary, rest := newHost(t), newHost(t)
	rest.show(canary.serve("m", "2026.10", map[string]string{"a": "october"}))
	canary.serve("m", "2026.11", map[string]string{"a": "november"})
	sign := k.signsWith(t, 0, time.Hour)
	p := newPublisher(t, s.Endpoint, rest, func(cfg *Config) {
		sign(cfg)
		cfg.Ring, cfg.Rings, cfg.Objects = "rest", []Ring{{"canary", canary}}, canary
	})
	mustPublish(t, p, Request{})
	for _, ring := range []string{"canary", "rest", ""} {
		current, g := lookIn(t, s, ring)
		believed, by, err := k.chain.Newest().Believe([]byte(current.Statement))
		if err != nil || len(by) != 1 || believed.Generation != g.Number || believed.SHA256 != current.SHA256 {
			t.Errorf("ring %q: %+v, %v", ring, believed, err)
		}
	}
	if p.IsDue() {
		t.Error("the bucket is to be looked at again right after the publication")
	}
	canary.serve("m", "2026.12", map[string]string{"a": "december"})
	if !p.IsDue() {
		t.Error("a ring sees something else, and nobody looks")
	}
	must(t, p.store.Remove(inJob(t), bucket.RingCurrentName("canary")))
	mustPublish(t, p, Request{})
	if _, g := lookIn(t, s, "canary"); g.Manifests[0].Release != "2026.12" {
		t.Errorf("%+v", g)
	}
	// Anybody can write what no key signs.
	forged, _ := lookIn(t, s, "rest")
	forged.Statement, forged.Epoch = "", 99
	s.Put("mirror/"+bucket.RingCurrentName("canary"), forged.Text())
	mustPublish(t, p, Request{Check: true})
	if current, g := lookIn(t, s, "canary"); g.Ring != "canary" || current.Epoch != 0 || g.Manifests[0].Release != "2026.12" {
		t.Errorf("%+v %+v", current, g)
	}
}

// A new leader puts its fence into the current.json of each ring, so that the earlier one cannot
// write any of them.
func TestANewLeaderFencesEachRing(t *testing.T) {
	s := start(t)
	canary, rest := newHost(t), newHost(t)
	rest.show(canary.serve("m", "2026.10", map[string]string{"a": "october"}))
	canary.serve("m", "2026.11", map[string]string{"a": "november"})
	inElection := func() *Publisher {
		return newPublisher(t, s.Endpoint, rest, func(cfg *Config) {
			elected(cfg)
			cfg.Ring, cfg.Rings, cfg.Objects = "rest", []Ring{{"canary", canary}}, canary
		})
	}
	p := inElection()
	mustPublish(t, p, Request{})
	before, err := p.store.ReadCurrent(inJob(t), bucket.RingCurrentName("canary"), &p.cfg.Log)
	must(t, err)
	p.Close()
	q := inElection()
	mustPublish(t, q, Request{})
	for _, ring := range []string{"canary", "rest", ""} {
		if current, _ := lookIn(t, s, ring); current.Fence != 2 {
			t.Errorf("ring %q: %+v", ring, current)
		}
	}
	late := ringed(t, s, canary, rest) // writes without asking anybody
	if err := late.lines[0].writeCurrent(inJob(t), before, before.ID(), bucket.Generation{}); err == nil {
		t.Error("the earlier leader's write was done")
	}
	standby := inElection()
	if done := mustPublish(t, standby, Request{}); done.Result != report.Standby {
		t.Errorf("%+v", done)
	}
}

// A ring that left the configuration sees what the last one sees, and a bucket with more rings than
// a configuration can have is not collected.
func TestRingsThatLeft(t *testing.T) {
	s := start(t)
	canary, rest := newHost(t), newHost(t)
	rest.show(canary.serve("m", "2026.10", map[string]string{"a": "october"}))
	canary.serve("m", "2026.11", map[string]string{"a": "november"})
	mustPublish(t, ringed(t, s, canary, rest), Request{})
	p := newPublisher(t, s.Endpoint, rest, nil)
	mustPublish(t, p, Request{})
	if _, g := lookIn(t, s, "canary"); g.Manifests[0].Release != "2026.10" {
		t.Errorf("%+v", g)
	}
	for i := range maxRings {
		s.Put("mirror/"+bucket.RingCurrentName(fmt.Sprint("invented", i)), file(t, s, bucket.CurrentName))
	}
	if _, err := p.Upload(t.Context(), Request{Collect: true}); err == nil || !strings.Contains(err.Error(), "over 64 rings") {
		t.Error(err)
	}
}
