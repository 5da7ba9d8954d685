package downstream_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"syncd/internal/e2e"
)

// inRing is a follower of the bucket in a ring.
func (p *publisherHost) inRing(ring string) *e2e.FollowerHost {
	p.Helper()
	f := p.follower()
	f.Settings.Bucket = strings.Replace(f.Settings.Bucket, "prefix:", "ring: "+ring+", prefix:", 1)
	f.Configure()
	return f
}

// Without a proof of the first ring, nothing goes on and somebody is told. `fleet release` lets
// the release go on.
func TestABucketWithRings(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	p.publishWith("serve: {rings: [{name: canary}, {name: rest, after: {hosts: 1}, max_wait: 1ms}]}\n")
	p.Month("m", "2026.10", "october")
	p.Sync(0)
	canary, rest, plain := p.inRing("canary"), p.inRing("rest"), p.follower()
	canary.Sync(0)
	e2e.Same(canary.Host, "the first ring", "2026.10", releaseOf(canary.Host))
	for _, f := range []*e2e.FollowerHost{rest, plain} {
		f.Syncd("sync")
		e2e.Same(f.Host, "a ring that waits", "", releaseOf(f.Host))
	}
	p.Contains("fleet", p.Expect(0, "fleet").Stdout, "ring rest waits for 2026.10 of m since")
	daemon := p.Daemon()
	daemon.Logged("a ring waits too long for the hosts of the ring before to serve the release: `syncd fleet release` lets it go on")
	p.Expect(0, "fleet", "release", "2026.10")
	p.Expect(0, "publish")
	for _, f := range []*e2e.FollowerHost{rest, plain} {
		f.Sync(0)
		e2e.Same(f.Host, "let go", "2026.10", releaseOf(f.Host))
	}
	daemon.Terminate()

	p.Month("m", "2026.11", "november")
	p.Sync(0)
	for _, f := range []*e2e.FollowerHost{canary, rest, plain} {
		f.Sync(0)
	}
	e2e.Same(canary.Host, "the first ring", "2026.11", releaseOf(canary.Host))
	e2e.Same(rest.Host, "the last ring", "2026.10", releaseOf(rest.Host))
	e2e.Same(plain.Host, "without a ring", "2026.10", releaseOf(plain.Host))
	rest.Settings.Bucket = strings.Replace(rest.Settings.Bucket, "ring: rest", "ring: canary", 1)
	rest.Configure()
	rest.Sync(0)
	e2e.Same(rest.Host, "in the first ring", "2026.11", releaseOf(rest.Host))
	p.Expect(0, "publish", "--verify")
}

// The clock of a publisher was far ahead when a release went live. The later ring gets it after
// its delay all the same, by commands alone.
func TestAPublisherWhoseClockWasAhead(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	p.publishWith("serve: {rings: [{name: canary}, {name: rest, delay: 1h}]}\n")
	p.Month("m", "2026.10", "october")
	p.Sync(0)
	const events = "state/audit/events"
	text, err := os.ReadFile(filepath.Join(p.Data, events))
	p.Must(err)
	ahead := regexp.MustCompile(`"at":"\d{4}`).ReplaceAll(text, []byte(`"at":"2199`))
	p.Must(os.WriteFile(filepath.Join(p.Data, events), ahead, 0o600))
	p.publishWith("serve: {rings: [{name: canary}, {name: rest, delay: 1ms}]}\n")
	rest := p.inRing("rest")
	p.Eventually("the ring sees the release", func() bool {
		p.Expect(0, "publish")
		return rest.Syncd("sync").Code == 0 && releaseOf(rest.Host) == "2026.10"
	})
}
