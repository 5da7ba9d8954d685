package downstream_test

import (
	"fmt"
	"testing"

	"syncd/internal/e2e"
)

// A host that follows a bucket takes a bundle once, and goes on with the bucket. It passes on
// both, and so do those who follow it: the publisher counts its bucket apart.
func TestFollowersOfAFollowerOfABucket(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "one")
	signs(p.Host, "mirror.example.net")
	p.publishWith(p.Settings.More)
	p.Month("one", "2026.09", "september")
	p.Sync(0)
	f := p.follower()
	address := e2e.FreeAddress(f.Host)
	f.Settings.Source = "trust_file: " + p.Path("trust")
	f.ConfigureWith(fmt.Sprintf("serve: {listen: %q, public_url: %q}", address, "http://"+address))
	f.Sync(0)
	daemon := f.Daemon()
	daemon.Logged("serving followers")
	last := e2e.NewHostOf(t, p.Provider, "one")
	last.Settings.URL, last.Settings.Source = "http://"+address, f.Settings.Source
	last.Configure()
	have := func(want string) {
		t.Helper()
		last.Sync(0)
		for _, h := range []*e2e.Host{f.Host, last} {
			e2e.Same(h, "served", want, h.ServedContent("one"))
		}
	}
	have("september")

	p.Month("one", "2026.10", "october")
	p.Sync(0)
	bundle := f.Path("october.tar")
	p.Expect(0, "bundle", "export", bundle)
	f.Expect(0, "bundle", "import", bundle)
	have("october")

	p.Month("one", "2026.11", "november")
	p.Sync(0)
	f.Sync(0)
	have("november")

	onward := f.Path("november.tar")
	f.Expect(0, "bundle", "export", onward)
	last.Expect(0, "bundle", "import", onward)
	daemon.Terminate()
}
