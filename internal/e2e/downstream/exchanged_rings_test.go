package downstream_test

import (
	"bytes"
	"os"
	"testing"

	"syncd/internal/downstream/bucket"
	"syncd/internal/e2e"
)

// Who can write the bucket, and has no key, puts what the first ring sees in the place of what the
// others see. They do not take it, and the publisher does not sign it for them.
func TestRingsThatAreExchangedInABucket(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	p.Expect(0, "trust", "init", "--origin", "mirror.example.net", "-o", p.Path("trust"), newKeyOf(p.Host, "alice"))
	p.publishWith("sign: {key_file: alice.key, trust_file: trust}\nserve: {rings: [{name: canary}, {name: middle, delay: 0s}, {name: rest, after: {hosts: 1}}]}\n")
	p.Month("m", "2026.10", "october")
	p.Sync(0)
	p.Expect(0, "fleet", "release", "2026.10")
	p.Expect(0, "publish")
	canary, middle, rest, plain := p.inRing("canary"), p.inRing("middle"), p.inRing("rest"), p.follower()
	all := []*e2e.FollowerHost{canary, middle, rest, plain}
	for _, f := range all {
		give(p.Host, "trust", f.Host)
		f.Settings.Source = "trust_file: trust"
		f.Configure()
		f.Sync(0)
	}
	middles := p.store.Path("mirror/" + bucket.RingCurrentName("middle"))
	last, err := os.ReadFile(p.store.Path("mirror/" + bucket.CurrentName))
	p.Must(err)
	p.store.Put("mirror/"+bucket.RingCurrentName("middle"), last) // it shows the same
	p.Expect(0, "publish")
	if now, err := os.ReadFile(middles); err != nil || bytes.Equal(now, last) {
		t.Errorf("the text of the last ring stands in the place of another one: %v", err)
	}
	p.Month("m", "2026.11", "november")
	p.Sync(0)
	before, err := os.ReadFile(p.store.Path("mirror/" + bucket.CurrentName))
	p.Must(err)
	early, err := os.ReadFile(p.store.Path("mirror/" + bucket.RingCurrentName("canary")))
	p.Must(err)
	p.store.Put("mirror/"+bucket.CurrentName, early)
	p.store.Put("mirror/"+bucket.RingCurrentName("rest"), early)
	for _, f := range []*e2e.FollowerHost{rest, plain} {
		f.Contains("error", f.Expect(1, "sync").Stderr, "ring")
		e2e.Same(f.Host, "after an exchange", "2026.10", releaseOf(f.Host))
	}
	p.Expect(0, "publish")
	for _, f := range []*e2e.FollowerHost{rest, plain} {
		f.Sync(0)
		e2e.Same(f.Host, "after the publisher", "2026.10", releaseOf(f.Host))
	}
	p.store.Put("mirror/"+bucket.CurrentName, before) // it shows the same, by a lower number
	p.Expect(0, "publish")
	for _, f := range []*e2e.FollowerHost{rest, plain} {
		f.Sync(0)
		e2e.Same(f.Host, "after a replay", "2026.10", releaseOf(f.Host))
	}
	canary.Sync(0)
	e2e.Same(canary.Host, "the first ring", "2026.11", releaseOf(canary.Host))
	p.Expect(0, "fleet", "release", "2026.11")
	p.Expect(0, "publish")
	for _, f := range all {
		f.Sync(0)
		e2e.Same(f.Host, "in the end", "2026.11", releaseOf(f.Host))
	}
}
