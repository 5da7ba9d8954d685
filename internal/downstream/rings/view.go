package rings

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"syncd/internal/manifest"
)

// Condition is how a follower is doing.
type Condition string

// The conditions, the worst first.
const (
	Refused Condition = "refused" // it refused the release that it may take
	Failed  Condition = "failed"  // it could not mirror it
	Silent  Condition = "silent"  // no poll for longer than silentAfter
	Behind  Condition = "behind"  // it serves an older release than it may
	Pending Condition = "pending" // it serves nothing yet
	Unknown Condition = "unknown" // a client that tells nothing
	InSync  Condition = "in_sync"
)

var conditions = []Condition{Refused, Failed, Silent, Behind, Pending, Unknown, InSync}

// Conditions returns all of them, the worst first.
func Conditions() []Condition { return conditions }

// Compare sorts the worse condition first.
func Compare(a, b Condition) int { return slices.Index(conditions, a) - slices.Index(conditions, b) }

// silentAfter is longer than the longest usual schedule, a day.
const silentAfter = 26 * time.Hour

// View is what `fleet --json` prints.
type View struct {
	Rings     []RingView     `json:"rings"`
	Followers []FollowerView `json:"followers"`
	Stopped   []Stop         `json:"stopped"`
}

// RingView is a configured ring.
type RingView struct {
	Name         string   `json:"name"`
	DelaySeconds float64  `json:"delay_seconds"`
	StopAbove    *float64 `json:"stop_above"` // share of an earlier ring's hosts; null for any
	Hosts        int      `json:"hosts"`
}

// FollowerView is a host.
type FollowerView struct {
	Name      string         `json:"name"`     // of the ID; "" if none are configured
	Host      string         `json:"host"`     // "" for a client that tells nothing
	Instance  string         `json:"instance"` // tells followers of one host name apart
	Ring      string         `json:"ring"`
	Version   string         `json:"version"`
	LastSeen  time.Time      `json:"last_seen"`
	Manifests []ManifestView `json:"manifests"`
	Manifest  string         `json:"manifest"` // the one in the worst state, to which the rest belongs
	Told
}

// ManifestView is a manifest of a host.
type ManifestView struct {
	Manifest string    `json:"manifest"`
	LastSeen time.Time `json:"last_seen"`
	Told
}

// Told is what a host tells of a manifest, and what that means.
type Told struct {
	Release  manifest.Release `json:"release"` // served; "" for none or unknown
	Revision string           `json:"revision"`
	State    Condition        `json:"state"`
	Refused  manifest.Release `json:"refused"` // the release that it refused or failed to mirror
	Reason   string           `json:"reason"`
	Since    *time.Time       `json:"since"` // when it first told that
}

// View returns all that is known. The followers are sorted by name and host.
func (f *Fleet) View() View {
	f.mu.RLock()
	defer f.mu.RUnlock()
	view := View{Rings: []RingView{}, Followers: f.followersLocked(f.newestLocked()), Stopped: f.sortedStopsLocked()}
	for _, r := range f.rings {
		ring := RingView{Name: r.Name, DelaySeconds: r.Delay.Seconds()}
		if r.StopAbove >= 0 {
			ring.StopAbove = &r.StopAbove
		}
		for _, follower := range view.Followers {
			if follower.Ring == r.Name && follower.State != Unknown {
				ring.Hosts++
			}
		}
		view.Rings = append(view.Rings, ring)
	}
	return view
}

func (f *Fleet) followersLocked(newest newestReleases) []FollowerView {
	all := []FollowerView{}
	for _, name := range slices.Sorted(maps.Keys(f.reports)) {
		all = append(all, f.hostsLocked(name, newest)...)
	}
	return all
}

// hostsLocked returns the hosts with one name of an ID.
func (f *Fleet) hostsLocked(name string, newest newestReleases) (hosts []FollowerView) {
	reports := f.reports[name]
	keys := slices.SortedFunc(maps.Keys(reports), func(a, b follower) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Manifest, b.Manifest))
	})
	for _, k := range keys {
		r := reports[k]
		if last := len(hosts) - 1; last < 0 || hosts[last].Host != k.Host || hosts[last].Instance != k.ID {
			hosts = append(hosts, FollowerView{Name: name, Host: k.Host, Instance: k.ID, Manifests: []ManifestView{}})
		}
		hosts[len(hosts)-1].add(ManifestView{Manifest: k.Manifest, LastSeen: r.SeenAt, Told: newest.told(k.Manifest, r)}, r)
	}
	return hosts
}

// add adds a manifest to its host.
func (v *FollowerView) add(m ManifestView, r *report) {
	v.Manifests = append(v.Manifests, m)
	if m.LastSeen.After(v.LastSeen) {
		v.LastSeen, v.Ring, v.Version = m.LastSeen, r.Ring, r.Version
	}
	if order := cmp.Or(Compare(m.State, v.State), cmp.Compare(m.Manifest, v.Manifest)); v.Manifest == "" || order < 0 {
		v.Told, v.Manifest = m.Told, m.Manifest
	}
}

// newestReleases has the newest month that a ring sees of a manifest, at one time.
type newestReleases struct {
	now  time.Time
	at   map[place]manifest.Release
	find func(place) manifest.Release
}

func (f *Fleet) newestLocked() newestReleases {
	return newestReleases{now: f.now(), at: map[place]manifest.Release{}, find: func(p place) manifest.Release {
		if months := f.seesLocked(p.manifest, p.ring); len(months) > 0 {
			return months[0]
		}
		return ""
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

func (n newestReleases) told(name string, r *report) Told {
	told := Told{Release: r.Release, Revision: r.Revision, State: n.condition(name, r)}
	if r.Refused != "" {
		told.Refused, told.Reason, told.Since = r.Refused, r.Reason, &r.Since
	}
	return told
}

func (n newestReleases) condition(name string, r *report) Condition {
	switch {
	case n.now.Sub(r.SeenAt) > silentAfter:
		return Silent
	case !r.tells():
		return Unknown
	case r.Refused != "" && r.Reason == ReasonFailed:
		return Failed
	case r.Refused != "":
		return Refused
	case r.Release == "":
		return Pending
	case n.of(place{r.Ring, name}).Newer(r.Release):
		return Behind
	}
	return InSync
}

// seesLocked are the months of a manifest that a ring sees, the newest first.
func (f *Fleet) seesLocked(name, ring string) (months []manifest.Release) {
	a := Asker{ring: ring}
	_, published := f.catalog.Published(name)
	for _, p := range published {
		if p.Release.IsMonth() && f.visibleLocked(a, name, p.Release, p.LiveAt) {
			months = append(months, p.Release)
		}
	}
	slices.Sort(months)
	slices.Reverse(months)
	return months
}

// Count is a number of hosts with the same ring, release and state.
type Count struct {
	Ring    string
	Release string // that a host serves, or that it refused; "other" for one that is not served here, "none" for none
	State   Condition
}

// Counts returns the number of hosts. Its size does not depend on what hosts make up.
func (f *Fleet) Counts() map[Count]int {
	served, counts := f.served(), map[Count]int{}
	f.mu.RLock()
	defer f.mu.RUnlock()
	newest := f.newestLocked()
	for _, reports := range f.reports {
		hosts := map[follower]*FollowerView{} // without the order of View, which costs most
		for k, r := range reports {
			host := follower{Host: k.Host, ID: k.ID}
			if hosts[host] == nil {
				hosts[host] = &FollowerView{}
			}
			hosts[host].add(ManifestView{Manifest: k.Manifest, LastSeen: r.SeenAt, Told: newest.told(k.Manifest, r)}, r)
		}
		for _, host := range hosts {
			counts[Count{host.Ring, releaseLabel(host.Told, served), host.State}]++
		}
	}
	return counts
}

func releaseLabel(told Told, served map[manifest.Release]bool) string {
	release := told.Release
	if told.Refused != "" {
		release = told.Refused
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
		_, published := f.catalog.Published(name)
		for _, p := range published {
			served[p.Release] = true
		}
	}
	return served
}
