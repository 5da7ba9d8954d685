package downstream_test

import (
	"os"
	"strings"
	"testing"

	"syncd/internal/e2e"
)

// A ring begins when the hosts of the ring before serve the release, and not when they are
// silent: then an operator is asked.
func TestARingWaitsForTheHostsBeforeIt(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, []string{"m"}, `rings: [{name: canary}, {name: rest, after: {share: "100%", hosts: 2}, max_wait: 1ms}]`)
	u.Settings.More += "hooks: [{on: [waiting], command: [sh, -c, 'cat >> " + u.Path("told") + "']}]\n"
	u.Configure()
	u.Month("m", "2026.10", "october")
	canaries := []*e2e.Host{u.follow("canary0", "canary"), u.follow("canary1", "canary")}
	canaries[1].ConfigureWith("probe: {command: [test, -e, " + canaries[1].Path("works") + "], within: 1h, every: 20ms}")
	rest := u.follow("rest", "rest")
	up := u.SyncedDaemon()
	canaries[0].Sync(0)
	rest.Syncd("sync")
	e2e.Same(rest, "before any canary serves it", "", releaseOf(rest))
	second := canaries[1].Daemon()
	canaries[1].Eventually("the canary serves it", func() bool { return releaseOf(canaries[1]) == "2026.10" })
	canaries[0].Sync(0) // tells it
	rest.Syncd("sync")
	e2e.Same(rest, "while the probe of a canary has no verdict", "", releaseOf(rest))

	up.Logged("a ring waits too long for the hosts of the ring before to serve the release: `syncd fleet release` lets it go on")
	const waits = "ring rest waits for 2026.10 of m since"
	u.Contains("fleet", u.Expect(0, "fleet").Stdout, waits, "`syncd fleet release 2026.10` lets it go on")
	u.Contains("fleet --json", u.Expect(0, "fleet", "--json").Stdout, `"overdue": true`, `"needs_hosts": 2`)
	u.Contains("explain", u.Expect(0, "explain", "m").Stdout, waits)
	_, series := up.Get("/metrics")
	u.Contains("metrics", series, `syncd_fleet_waiting_releases{ring="rest"} 1`)
	_, page := up.Get("/fleet")
	u.Contains("page", page, waits, "canary1")
	u.Eventually("the event", func() bool {
		told, _ := os.ReadFile(u.Path("told"))
		return strings.Contains(string(told), `"type":"syncd.waiting"`) && strings.Contains(string(told), `"ring":"rest"`)
	})

	canaries[1].Write("works", "", 0o644)
	canaries[1].Eventually("the verdict", func() bool {
		return strings.Contains(canaries[1].Syncd("status", "--json").Stdout, `"state": "proven"`)
	})
	onDemand(second)
	rest.Sync(0)
	e2e.Same(rest, "proven", "2026.10", releaseOf(rest))

	u.Month("m", "2026.11", "november") // the canaries are down
	onDemand(up)
	rest.Sync(0)
	e2e.Same(rest, "without canaries", "2026.10", releaseOf(rest))
	u.Contains("release", u.Expect(0, "fleet", "release", "2026.11").Stdout, "2026.11")
	rest.Sync(0)
	e2e.Same(rest, "let go", "2026.11", releaseOf(rest))
	second.Terminate()
	up.Terminate()
}

// level makes a host that follows u serve others.
func (u *upstream) level(name, ring, rings string) *upstream {
	u.Helper()
	f := u.follow(name, ring)
	next := &upstream{Host: f, address: e2e.FreeAddress(f)}
	next.serve("http", rings)
	u.Cleanup(next.checkIDs)
	return next
}

// A region whose hosts refuse a release refuses it at the root. A release that the root hides
// spreads no further below a region that took it before.
func TestAStopPassesLevels(t *testing.T) {
	t.Parallel()
	const rings = `rings: [{name: canary}, {name: rest, stop_above: "0%"}]`
	root := newUpstream(t, []string{"m"}, rings)
	root.Month("m", "2026.10", "october")
	first, took, late := root.level("first", "canary", rings), root.level("took", "rest", rings), root.level("late", "rest", "keep: 1h")
	plain := root.level("plain", "rest", "keep: 1h")
	refuses, behind, below, beside := first.follow("refuses", "canary"), first.follow("behind", "rest"), took.follow("below", "rest"), plain.follow("beside", "")
	refuses.ConfigureWith(`gate: {command: [sh, -c, 'test "$SYNCD_RELEASE" != 2026.11']}`)
	leaf := late.follow("leaf", "")
	up := root.SyncedDaemon()
	regions := map[string]*e2e.Process{}
	for name, r := range map[string]*upstream{"first": first, "took": took, "late": late, "plain": plain} {
		regions[name] = r.SyncedDaemon()
		onDemand(regions[name]) // the second poll reads the mirror of the root
	}
	leaves := []*e2e.Host{refuses, behind, below, leaf, beside}
	together(leaves, func(f *e2e.Host) { f.Sync(0); f.Sync(0) })

	root.Month("m", "2026.11", "november")
	onDemand(up)
	for _, name := range []string{"first", "took", "plain"} {
		onDemand(regions[name])
	}
	e2e.Same(took.Host, "a region that took it", "2026.11", releaseOf(took.Host))
	for range 2 { // the second sync tells how the first one ended
		refuses.Syncd("sync")
	}
	onDemand(regions["first"]) // tells the stop
	hosts, stopped := root.fleet()
	e2e.Same(root.Host, "the region", "refused 2026.11 stopped 2026.11", hosts["first"].State+" "+hosts["first"].Refused+" "+hosts["first"].Reason+" "+hosts["first"].Release)
	e2e.Same(root.Host, "stopped", 1, len(stopped))
	for _, name := range []string{"late", "took", "plain"} {
		onDemand(regions[name])
	}
	together(leaves[1:], func(f *e2e.Host) { f.Sync(0) })
	for _, f := range leaves {
		e2e.Same(f, "a host below a region", "2026.10", releaseOf(f))
	}
	e2e.Same(late.Host, "a region of a later ring", "2026.10", releaseOf(late.Host))

	root.Expect(0, "fleet", "release", "2026.11")
	first.Expect(0, "fleet", "release", "2026.11")
	for _, name := range []string{"late", "took", "plain"} {
		onDemand(regions[name])
	}
	together(leaves[1:], func(f *e2e.Host) { f.Sync(0); e2e.Same(f, "let go", "2026.11", releaseOf(f)) })
	for _, p := range regions {
		p.Terminate()
	}
	up.Terminate()
}
