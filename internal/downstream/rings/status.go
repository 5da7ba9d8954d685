package rings

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// silentAfter is longer than the longest usual schedule, a day.
const silentAfter = 26 * time.Hour

// pageReports is about how many reports a page has, so that a fleet of any size is told in
// little memory.
const pageReports = 2000

// Page returns followers that fit, sorted by name and host, from the one after req.After on.
// The first page has the rings, the stops and the counts of all that fit. Next is nil on the
// last page.
func (f *Fleet) Page(req request.Fleet) report.FleetPage {
	f.mu.Lock() // for inOrder
	defer f.mu.Unlock()
	newest := f.newestLocked()
	page := report.FleetPage{FleetStatus: report.FleetStatus{Rings: []report.RingStatus{}, Followers: []report.FollowerStatus{}, Stopped: []report.Stop{}, Waiting: []report.WaitingRing{}, Counts: []report.FleetCount{}, Destroyed: []report.Destroyed{}}}
	if req.After == nil {
		page.Waiting, page.Counts = f.waitingLocked(), f.countsLocked(newest, req)
		page.Rings, page.Stopped, page.Destroyed = f.ringStatus(newest.hosts(f.accounts)), f.sorted(), f.destroyedLocked(newest.gone)
	}
	size := 0
	for name, h := range f.hostsAfter(req.After) {
		manifests := f.accounts[name].hosts[h]
		if !fits(req, newest.condition(manifests), manifests) {
			continue
		}
		isFull := req.Limit > 0 && len(page.Followers) >= req.Limit
		if size += len(manifests); isFull || size > pageReports && len(page.Followers) > 0 {
			last := page.Followers[len(page.Followers)-1]
			page.Next = &request.Follower{Name: last.Name, Host: last.Host, Instance: last.Instance}
			break
		}
		page.Followers = append(page.Followers, newest.follower(name, h, manifests))
	}
	return page
}

func fits(req request.Fleet, c condition, manifests map[string]*hostReport) bool {
	return (req.Ring == "" || req.Ring == c.last.Ring) && (req.State == "" || req.State == string(c.state)) &&
		(req.Release == "" || req.Release == string(c.worst.Release) || req.Release == string(c.worst.Refused) || holdsAny(manifests, manifest.Release(req.Release)))
}

// holdsAny is true if a host has a release of any manifest on its disk.
func holdsAny(manifests map[string]*hostReport, release manifest.Release) bool {
	for _, r := range manifests {
		if r.holds(release) {
			return true
		}
	}
	return false
}

// Overview counts the followers by state, and shows the first ones in the worst states.
func (f *Fleet) Overview(most int) report.FleetOverview {
	f.mu.Lock() // for inOrder
	defer f.mu.Unlock()
	type named struct {
		name string
		host host
	}
	newest, first := f.newestLocked(), map[report.FollowerState][]named{}
	view := report.FleetOverview{States: map[report.FollowerState]int{}, Stopped: f.sorted(), Waiting: f.waitingLocked(), Destroyed: f.destroyedLocked(newest.gone)}
	for name, h := range f.hostsAfter(nil) {
		state := newest.condition(f.accounts[name].hosts[h]).state
		if view.States[state]++; len(first[state]) < most {
			first[state] = append(first[state], named{name, h})
		}
	}
	for _, state := range report.FollowerStates() {
		for _, h := range first[state][:min(len(first[state]), most-len(view.Worst))] {
			view.Worst = append(view.Worst, newest.follower(h.name, h.host, f.accounts[h.name].hosts[h.host]))
		}
	}
	return view
}

// hosts counts the hosts of each ring that tell their state.
func (n newestReleases) hosts(accounts map[string]*account) map[string]int {
	hosts := map[string]int{}
	for _, of := range accounts {
		for _, manifests := range of.hosts {
			if c := n.condition(manifests); c.state != report.FollowerUnknown {
				hosts[c.last.Ring]++
			}
		}
	}
	return hosts
}

func (r *rulings) ringStatus(hosts map[string]int) []report.RingStatus {
	all := []report.RingStatus{}
	for _, ring := range r.rings {
		status := report.RingStatus{Name: ring.Name, DelaySeconds: ring.Delay.Seconds(), Hosts: hosts[ring.Name]}
		if ring.StopAbove >= 0 {
			status.StopAbove = &ring.StopAbove
		}
		if ring.NeedsProof() {
			status.After = &report.RingProof{Share: ring.AfterShare, Hosts: ring.AfterHosts, MaxWaitSeconds: ring.MaxWait.Seconds()}
		}
		all = append(all, status)
	}
	return all
}

// condition is how a host is doing: as its manifest in the worst state.
type condition struct {
	manifest string
	state    report.FollowerState
	worst    *hostReport
	last     *hostReport // of the last poll
}

func (n newestReleases) condition(manifests map[string]*hostReport) (c condition) {
	for name, r := range manifests {
		state := n.state(name, r)
		if c.worst == nil || cmp.Or(state.Compare(c.state), cmp.Compare(name, c.manifest)) < 0 {
			c.manifest, c.state, c.worst = name, state, r
		}
		if c.last == nil || r.SeenAt.After(c.last.SeenAt) {
			c.last = r
		}
	}
	return c
}

// follower describes a host.
func (n newestReleases) follower(name string, h host, manifests map[string]*hostReport) report.FollowerStatus {
	c := n.condition(manifests)
	v := report.FollowerStatus{
		Name: name, Host: h.Name, Instance: h.ID, Ring: c.last.Ring, Version: c.last.Version, LastSeen: c.last.SeenAt,
		Manifest: c.manifest, Following: n.following(c.manifest, c.worst),
	}
	for _, manifestName := range slices.Sorted(maps.Keys(manifests)) {
		r := manifests[manifestName]
		v.Manifests = append(v.Manifests, report.FollowedManifest{Manifest: manifestName, LastSeen: r.SeenAt, Following: n.following(manifestName, r)})
	}
	return v
}

// newestReleases has the newest bytes of the newest month that a ring sees of a manifest, at
// one time.
type newestReleases struct {
	now     time.Time
	at      map[place]Version
	find    func(place) Version
	stopped func(place, Version) bool
	gone    gone
}

func (f *Fleet) newestLocked() newestReleases {
	return newestReleases{now: f.now(), gone: goneOf(f.catalog), at: map[place]Version{}, find: func(p place) Version {
		if seen := f.seesLocked(p.manifest, p.ring); len(seen) > 0 {
			return seen[0].Version
		}
		return Version{}
	}, stopped: func(p place, v Version) bool {
		i, found := f.rings.Place(p.ring)
		return found && v.Release != "" && f.isHidden(target{p.manifest, v}, i)
	}}
}

func (n newestReleases) of(p place) Version {
	newest, known := n.at[p]
	if !known {
		newest = n.find(p)
		n.at[p] = newest
	}
	return newest
}

func (n newestReleases) following(name string, r *hostReport) report.Following {
	following := report.Following{Release: r.Release, Revision: r.Revision, State: n.state(name, r)}
	if following.State == report.FollowerBehind {
		following.Offered = n.of(place{r.Ring, name}).Release
	}
	if r.Refused != "" {
		following.Refused, following.Reason, following.Since = r.Refused, r.Reason, &r.Since
	}
	n.gone.held(name, r, &following)
	return following
}

func (n newestReleases) state(name string, r *hostReport) report.FollowerState {
	switch {
	case n.now.Sub(r.SeenAt) > silentAfter:
		return report.FollowerSilent
	case !r.hasState():
		return report.FollowerUnknown
	case r.Refused != "" && r.Reason == ReasonFailed:
		return report.FollowerFailed
	case r.Refused != "":
		return report.FollowerRefused
	case n.stopped(place{r.Ring, name}, r.Took):
		return report.FollowerStopped
	case r.Release == "":
		return report.FollowerPending
	case n.of(place{r.Ring, name}).Release.Newer(r.Release), r.misses(n.of(place{r.Ring, name})):
		return report.FollowerBehind
	}
	return report.FollowerInSync
}

// seesLocked are the revisions of a manifest's months that a ring sees, the newest first.
func (f *Fleet) seesLocked(name, ring string) (seen []Served) {
	a := Asker{ring: ring}
	_, published := f.catalog.Served(name)
	for _, s := range newestFirst(published) {
		if s.Release.IsMonth() && f.visibleLocked(a, name, s) {
			seen = append(seen, s)
		}
	}
	return seen
}

// Count is a number of hosts with the same ring, release and state.
type Count struct {
	Ring    string
	Release string // that a host serves, or that it refused; "other" for one that is not served here, "none" for none
	State   report.FollowerState
}

// Counts returns the number of hosts. Its size does not depend on what hosts make up.
func (f *Fleet) Counts() map[Count]int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.countLocked(f.newestLocked(), request.Fleet{})
}

func (f *Fleet) countLocked(newest newestReleases, req request.Fleet) map[Count]int {
	served, counts := releasesOf(f.catalog), map[Count]int{}
	for _, of := range f.accounts {
		for _, manifests := range of.hosts {
			if c := newest.condition(manifests); fits(req, c, manifests) {
				counts[Count{c.last.Ring, releaseLabel(cmp.Or(c.worst.Refused, c.worst.Release), served), c.state}]++
			}
		}
	}
	return counts
}

// countsLocked are the counts in the order of rings, the newest release and the worst state
// first.
func (f *Fleet) countsLocked(newest newestReleases, req request.Fleet) []report.FleetCount {
	all := []report.FleetCount{}
	for c, hosts := range f.countLocked(newest, req) {
		all = append(all, report.FleetCount{Ring: c.Ring, Release: c.Release, State: c.State, Hosts: hosts})
	}
	at := func(ring string) int {
		return slices.IndexFunc(f.rings, func(r Ring) bool { return r.Name == ring })
	}
	slices.SortFunc(all, func(a, b report.FleetCount) int {
		return cmp.Or(cmp.Compare(at(a.Ring), at(b.Ring)), cmp.Compare(a.Ring, b.Ring), cmp.Compare(b.Release, a.Release), a.State.Compare(b.State))
	})
	return all
}

func releaseLabel(release manifest.Release, served map[manifest.Release]bool) string {
	switch {
	case release == "":
		return "none"
	case !served[release]:
		return "other"
	}
	return string(release)
}

// releasesOf has every release that some manifest has here.
func releasesOf(c Catalog) map[manifest.Release]bool {
	served := map[manifest.Release]bool{}
	for _, name := range c.Manifests() {
		_, published := c.Served(name)
		for _, p := range published {
			served[p.Release] = true
		}
	}
	return served
}
