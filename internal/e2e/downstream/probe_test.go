package downstream_test

import (
	"testing"

	"syncd/internal/e2e"
)

// A release passes every gate, breaks the consumer of a canary, and goes back there: the
// later ring never sees it. The upstream passes on nothing that its own consumer breaks with.
func TestRingStopsAfterAProbeFailed(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, []string{"m"}, `rings: [{name: canary}, {name: rest, stop_above: "0%"}]`)
	u.Settings.More += "\nprobe: {command: [sh, -c, 'test \"$SYNCD_RELEASE\" != 2026.12'], within: 1s, every: 100ms}\n"
	u.Configure()
	u.Month("m", "2026.10", "october")
	canary, rest := u.follow("canary", "canary"), u.follow("rest", "rest")
	canary.ConfigureWith("probe: {command: [sh, -c, 'test \"$SYNCD_RELEASE\" != 2026.11'], within: 1s, every: 100ms}")
	up := u.SyncedDaemon()
	canary.Sync(0)
	rest.Sync(0)

	u.Month("m", "2026.11", "november")
	onDemand(up)
	r := canary.Sync(1)
	e2e.Same(canary, "the canary", "2026.10 refused probe", r.Manifests[0].Release+" "+r.Manifests[0].Result+" "+r.Manifests[0].Reason)
	daemonPolls(canary) // it tells how the last sync ended
	hosts, stopped := u.fleet()
	e2e.Same(u.Host, "the canary", "refused 2026.11 probe 2026.10", hosts["canary"].State+" "+hosts["canary"].Refused+" "+hosts["canary"].Reason+" "+hosts["canary"].Release)
	e2e.Same(u.Host, "stopped", 1, len(stopped))
	rest.Sync(0)
	e2e.Same(rest, "release", "2026.10", releaseOf(rest))

	u.Month("m", "2026.12", "december")
	onDemand(up)
	e2e.Same(u.Host, "the upstream", "2026.11", releaseOf(u.Host))
	canary.Syncd("sync")
	e2e.Same(canary, "release", "2026.10", releaseOf(canary))
	rest.Sync(0)
	e2e.Same(rest, "release", "2026.10", releaseOf(rest))
	up.Terminate()
}
