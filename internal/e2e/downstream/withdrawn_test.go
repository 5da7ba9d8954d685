package downstream_test

import (
	"strings"
	"testing"
	"time"

	"syncd/internal/e2e"
)

const withdraws = "\n    expires: {after: 40d}\n    on_expiry: withdraw"

// What a publisher withdrew is not offered any more. A follower keeps what it has, by its own
// rule, and the next release reaches it.
func TestFollowersOfWhatWasWithdrawn(t *testing.T) {
	t.Parallel()
	old := time.Now().UTC().AddDate(0, -3, 0).Format("2006.01")
	now := time.Now().UTC().Format("2006.01")
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		p := newPublisher(t, "m")
		p.Month("m", old, "old")
		p.Sync(0)
		f, own := p.follower(), p.follower()
		f.Sync(0)
		own.Sync(0)
		p.Settings.Manifests = []string{"m" + withdraws}
		p.Configure()
		p.Sync(0)
		e2e.Same(p.Host, "content", "", p.ServedContent("m"))
		e2e.Same(p.Host, "generation", 2, p.inBucket().Generation)
		wantsNothing(f.Host, "has no m")
		own.Settings.Manifests = []string{"m" + withdraws}
		own.Configure()
		own.Syncd("sync") // the bucket's Date header proves that the day is past
		e2e.Same(own.Host, "content", "", own.ServedContent("m"))

		p.Month("m", now, "new")
		p.Sync(0)
		for _, host := range []*e2e.Host{p.Host, f.Host, own.Host} {
			host.Settings.Manifests = []string{"m"}
			host.Configure()
			host.Sync(0)
			e2e.Same(host, "content", "new", host.ServedContent("m"))
		}
	})
	t.Run("serve", func(t *testing.T) {
		t.Parallel()
		u := newUpstream(t, []string{"m"})
		u.Month("m", old, "old")
		id := u.addID("one")
		up := u.SyncedDaemon()
		f := u.follower(id)
		f.Sync(0)
		u.Settings.Manifests = []string{"m" + withdraws}
		u.Configure()
		up.Terminate()
		up = u.Daemon()
		u.Eventually("the withdrawal", func() bool { return u.ServedContent("m") == "" })
		wantsNothing(f, "404")
		u.Month("m", now, "new")
		u.Sync(0)
		f.Sync(0)
		e2e.Same(f, "content", "new", f.ServedContent("m"))
		up.Terminate()
	})
}

// wantsNothing requires that a follower keeps the old release, and says what is missing.
func wantsNothing(f *e2e.Host, says string) {
	f.Helper()
	if out := f.Expect(1, "sync"); !strings.Contains(out.Stderr, says) {
		f.Errorf("the follower says %s", out.Stderr)
	}
	e2e.Same(f, "content", "old", f.ServedContent("m"))
}
