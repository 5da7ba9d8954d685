package rings

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/report"
)

// silentAfter is longer than the longest usual schedule, a day.
const silentAfter = 26 * time.Hour

// Status returns all that is known. The followers are sorted by name and host.
func (f *Fleet) Status() report.FleetStatus {
	f.mu.RLock()
	defer f.mu.RUnlock()
	status := report.FleetStatus{Rings: []report.RingStatus{}, Followers: f.followersLocked(f.newestLocked()), Stopped: f.sortedStopsLocked()}
	for _, r := range f.rings {
		ring := report.RingStatus{Name: r.Name, DelaySeconds: r.Delay.Seconds()}
		if r.StopAbove >= 0 {
			ring.StopAbove = &r.StopAbove
		}
		for _, follower := range status.Followers {
			if follower.Ring == r.Name && follower.State != report.FollowerUnknown {
				ring.Hosts++
			}
		}
		status.Rings = append(status.Rings, ring)
	}
	return status
}

func (f *Fleet) followersLocked(newest newestReleases) []report.FollowerStatus {
	all := []report.FollowerStatus{}
	for _, name := range slices.Sorted(maps.Keys(f.reports)) {
		all = append(all, f.hostsLocked(name, newest)...)
	}
	return all
}

// hostsLocked returns the hosts with one name of an ID.
func (f *Fleet) hostsLocked(name string, newest newestReleases) (hosts []report.FollowerStatus) {
	reports := f.reports[name]
	keys := slices.SortedFunc(maps.Keys(reports), func(a, b follower) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Manifest, b.Manifest))
	})
	for _, k := range keys {
		r := reports[k]
		if last := len(hosts) - 1; last < 0 || hosts[last].Host != k.Host || hosts[last].Instance != k.ID {
			hosts = append(hosts, report.FollowerStatus{Name: name, Host: k.Host, Instance: k.ID, Manifests: []report.FollowedManifest{}})
		}
		addManifest(&hosts[len(hosts)-1], report.FollowedManifest{Manifest: k.Manifest, LastSeen: r.SeenAt, Following: newest.following(k.Manifest, r)}, r)
	}
	return hosts
}

// addManifest adds a manifest to its host.
func addManifest(v *report.FollowerStatus, m report.FollowedManifest, r *hostReport) {
	v.Manifests = append(v.Manifests, m)
	if m.LastSeen.After(v.LastSeen) {
		v.LastSeen, v.Ring, v.Version = m.LastSeen, r.Ring, r.Version
	}
	if order := cmp.Or(m.State.Compare(v.State), cmp.Compare(m.Manifest, v.Manifest)); v.Manifest == "" || order < 0 {
		v.Following, v.Manifest = m.Following, m.Manifest
	}
}

// newestReleases has the newest month that a ring sees of a manifest, at one time.
type newestReleases struct {
	now     time.Time
	at      map[place]manifest.Release
	find    func(place) manifest.Release
	stopped func(place, Version) bool
}

func (f *Fleet) newestLocked() newestReleases {
	return newestReleases{now: f.now(), at: map[place]manifest.Release{}, find: func(p place) manifest.Release {
		if seen := f.seesLocked(p.manifest, p.ring); len(seen) > 0 {
			return seen[0].Release
		}
		return ""
	}, stopped: func(p place, v Version) bool {
		i, found := f.rings.place(p.ring)
		return found && v.Release != "" && f.hidesLocked(target{p.manifest, v}, i)
	}}
}

func (n newestReleases) of(p place) manifest.Release {
	release, known := n.at[p]
	if !known {
		release = n.find(p)
		n.at[p] = release
	}
	return release
}

func (n newestReleases) following(name string, r *hostReport) report.Following {
	following := report.Following{Release: r.Release, Revision: r.Revision, State: n.state(name, r)}
	if r.Refused != "" {
		following.Refused, following.Reason, following.Since = r.Refused, r.Reason, &r.Since
	}
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
	case n.of(place{r.Ring, name}).Newer(r.Release):
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
	served, counts := f.served(), map[Count]int{}
	f.mu.RLock()
	defer f.mu.RUnlock()
	newest := f.newestLocked()
	for _, reports := range f.reports {
		hosts := map[follower]*report.FollowerStatus{} // without the order of Status, which costs most
		for k, r := range reports {
			host := follower{Host: k.Host, ID: k.ID}
			if hosts[host] == nil {
				hosts[host] = &report.FollowerStatus{}
			}
			addManifest(hosts[host], report.FollowedManifest{Manifest: k.Manifest, LastSeen: r.SeenAt, Following: newest.following(k.Manifest, r)}, r)
		}
		for _, host := range hosts {
			counts[Count{host.Ring, releaseLabel(host.Following, served), host.State}]++
		}
	}
	return counts
}

func releaseLabel(following report.Following, served map[manifest.Release]bool) string {
	release := following.Release
	if following.Refused != "" {
		release = following.Refused
	}
	switch {
	case release == "":
		return "none"
	case !served[release]:
		return "other"
	}
	return string(release)
}

// served has every release that some manifest has here.
func (f *Fleet) served() map[manifest.Release]bool {
	served := map[manifest.Release]bool{}
	for _, name := range f.catalog.Manifests() {
		_, published := f.catalog.Served(name)
		for _, p := range published {
			served[p.Release] = true
		}
	}
	return served
}
