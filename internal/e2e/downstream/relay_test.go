package downstream_test

import (
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/e2e"
)

// The first publisher's statement goes over HTTP, then in bundles from disk to disk. All hosts
// have its trust file and nothing else to believe.
func TestOneKeyGoesAnyWay(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, []string{"one", "two"})
	u.Month("one", "2026.09", "first")
	u.Month("two", "2026.09", "other")
	public := strings.Fields(u.Expect(0, "trust", "keygen", "publisher.example", "-o", u.Path("key")).Stdout)
	u.Expect(0, "trust", "init", "--origin", "example", public[len(public)-1], "-o", u.Path("trust"))
	u.Settings.More += "sign: {key_file: " + u.Path("key") + ", trust_file: " + u.Path("trust") + "}\n"
	u.Configure()
	trusting := "trust_file: " + u.Path("trust")
	first := u.follower(u.addID("db01"))
	first.Settings.Source = trusting
	first.Configure()
	second, third := e2e.NewHostOf(t, u.Provider, "one"), e2e.NewHostOf(t, u.Provider, "one", "two")
	for _, h := range []*e2e.Host{second, third} {
		h.Settings.URL, h.Settings.Source = "http://127.0.0.1:1", trusting // nothing answers there
		h.Configure()
	}
	u.Sync(0)
	daemon := u.Daemon()
	daemon.Logged("serving followers")

	disk := e2e.NewDir(t)
	carry := func(from, to *e2e.Host, name string, code int, args ...string) string {
		t.Helper()
		from.Expect(0, append([]string{"bundle", "export", filepath.Join(disk, name)}, args...)...)
		return to.Expect(code, "bundle", "import", filepath.Join(disk, name)).Stderr
	}
	for _, month := range []string{"2026.09", "2026.10"} {
		first.Sync(0)
		carry(first, second, "a"+month, 0)
		carry(second, third, "b"+month, 0)
		want := u.ServedContent("one")
		for _, h := range []*e2e.Host{first, second, third} {
			e2e.Same(h, month, want, h.ServedContent("one"))
		}
		if month == "2026.09" {
			e2e.Same(third, "what a hop does not mirror", "", third.ServedContent("two"))
			u.Month("one", "2026.10", "second")
			u.Sync(0)
		}
	}
	daemon.Terminate()
}

// A follower of a bucket that takes a bundle once goes on with the bucket.
func TestABundleBesideABucket(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "one")
	signs(p.Host, "mirror.example.net")
	p.publishWith(p.Settings.More)
	p.Month("one", "2026.09", "september")
	p.Sync(0)
	f := p.follower()
	f.Settings.Source = "trust_file: " + p.Path("trust")
	f.Configure()
	f.Sync(0)

	p.Month("one", "2026.10", "october")
	p.Sync(0)
	bundle := f.Path("october.tar")
	p.Expect(0, "bundle", "export", bundle)
	f.Expect(0, "bundle", "import", bundle)
	e2e.Same(f.Host, "by the bundle", "october", f.ServedContent("one"))
	f.Sync(0)

	p.Month("one", "2026.11", "november")
	p.Sync(0)
	f.Sync(0)
	e2e.Same(f.Host, "by the bucket", "november", f.ServedContent("one"))
}

// With a trust file, the provider's wire format is never used, and the error says what is needed.
func TestATrustFileAtTheProvider(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "one")
	h.Month("one", "2026.09", "september")
	signs(h, "mirror.example.net")
	h.Settings.Source = "trust_file: " + h.Path("trust")
	h.ConfigureWith("")
	h.Contains("sync", h.Expect(1, "sync").Stderr, "with source.trust_file, source.url must name a syncd")
	e2e.Same(h, "served", "", h.ServedContent("one"))
}
