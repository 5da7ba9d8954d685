package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/report/request"
)

// FleetStatus is what `fleet --json` prints: the hosts that follow this one.
type FleetStatus struct {
	Rings     []RingStatus     `json:"rings"`
	Followers []FollowerStatus `json:"followers"`
	Stopped   []Stop           `json:"stopped"`
	Waiting   []WaitingRing    `json:"waiting"`
	Counts    []FleetCount     `json:"counts"`
	Destroyed []Destroyed      `json:"destroyed"`

	Signed *Signed `json:"signed,omitempty"` // who signed what followers get; nil without a key
}

// FleetPage is a part of a FleetStatus, because a fleet can be large.
type FleetPage struct {
	FleetStatus
	Next *request.Follower `json:"next"` // the last follower of this page; null on the last page
}

// FleetOverview is what a person sees at once of the followers.
type FleetOverview struct {
	States  map[FollowerState]int // followers in each
	Worst   []FollowerStatus      // the first ones in the worst states
	Stopped []Stop
	Waiting []WaitingRing

	Destroyed []Destroyed
}

// FleetCount is a number of hosts that are alike.
type FleetCount struct {
	Ring    string        `json:"ring"`
	Release string        `json:"release"` // that they serve, or refused; "other" for one that is not served here, "none" for none
	State   FollowerState `json:"state"`
	Hosts   int           `json:"hosts"`
}

// RingStatus is a configured ring.
type RingStatus struct {
	Name         string   `json:"name"`
	DelaySeconds float64  `json:"delay_seconds"`
	StopAbove    *float64 `json:"stop_above"` // share of an earlier ring's hosts; null for any
	Hosts        int      `json:"hosts"`

	After *RingProof `json:"after,omitempty"` // nil for a ring that begins by its delay alone
}

// RingProof is how many hosts of the ring before must serve a release.
type RingProof struct {
	Share          float64 `json:"share"` // 0 for any
	Hosts          int     `json:"hosts"`
	MaxWaitSeconds float64 `json:"max_wait_seconds"`
}

// WaitingRing is a ring that does not see a release because too few hosts of the ring before
// serve it.
type WaitingRing struct {
	Manifest   string           `json:"manifest"`
	Release    manifest.Release `json:"release"`
	Revision   string           `json:"revision"`
	Ring       string           `json:"ring"`
	For        string           `json:"for"`    // the ring before
	Proven     int              `json:"proven"` // hosts of it that serve the release, and whose probe passed
	Of         int              `json:"of"`     // hosts of it that mirror the manifest and polled in the last day
	NeedsHosts int              `json:"needs_hosts"`
	NeedsShare float64          `json:"needs_share"` // 0 for any
	Since      time.Time        `json:"since"`
	Overdue    bool             `json:"overdue"` // for longer than max_wait
}

// Text says which ring waits for which hosts. Its time is in the zone of now.
func (w WaitingRing) Text(now time.Time) string {
	needs := fmt.Sprintf("%d", w.NeedsHosts)
	if w.NeedsShare > 0 {
		needs = fmt.Sprintf("%g %% and at least %d", w.NeedsShare*100, w.NeedsHosts)
	}
	text := fmt.Sprintf("ring %s waits for %s of %s since %s: %d of %d hosts of ring %s that polled in the last day serve it, %s are needed",
		w.Ring, w.Release, w.Manifest, Moment(w.Since.In(now.Location())), w.Proven, w.Of, w.For, needs)
	if w.Overdue {
		text += fmt.Sprintf("; that is longer than max_wait, `syncd fleet release %s` lets it go on", w.Release)
	}
	return text
}

// FollowerStatus is a host.
type FollowerStatus struct {
	Name      string             `json:"name"`     // of the ID; "" if none are configured
	Host      string             `json:"host"`     // "" for a client that reports nothing
	Instance  string             `json:"instance"` // tells followers of one host name apart
	Ring      string             `json:"ring"`
	Version   string             `json:"version"`
	LastSeen  time.Time          `json:"last_seen"`
	Manifests []FollowedManifest `json:"manifests"`
	Manifest  string             `json:"manifest"` // the one in the worst state, to which the rest belongs
	Following
}

// FollowedManifest is a manifest of a host.
type FollowedManifest struct {
	Manifest string    `json:"manifest"`
	LastSeen time.Time `json:"last_seen"`
	Following
}

// Following is what a host reports of a manifest, and what that means.
type Following struct {
	Release  manifest.Release `json:"release"` // served; "" for none or unknown
	Revision string           `json:"revision"`
	State    FollowerState    `json:"state"`
	Refused  manifest.Release `json:"refused"` // the release that it refused or failed to mirror
	Reason   string           `json:"reason"`
	Since    *time.Time       `json:"since"` // when it first reported that

	Offered manifest.Release `json:"offered,omitempty"` // of a host that is behind: the release that it may have

	Holds     []manifest.Release `json:"holds"`                // that are on its disk, the newest first; null if the host does not tell
	HoldsMore int                `json:"holds_more,omitempty"` // revisions on its disk that it does not name
	Destroyed []manifest.Release `json:"destroyed,omitempty"`  // of these, that were destroyed here
}

// shownHeld is how many releases of a host a table shows.
const shownHeld = 4

// HeldText lists the releases that a host has on its disk; "" for none or unknown.
func (f Following) HeldText() string {
	var names []string
	for _, release := range f.Holds[:min(len(f.Holds), shownHeld)] {
		name := string(release)
		if slices.Contains(f.Destroyed, release) {
			name += " (destroyed here)"
		}
		names = append(names, name)
	}
	text := strings.Join(names, ", ")
	if more := f.HoldsMore + len(f.Holds) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// FollowerState is how a follower is doing, as `fleet --json` names it.
type FollowerState string

// The states of a follower, the worst first.
const (
	FollowerRefused FollowerState = "refused" // it refused a release
	FollowerFailed  FollowerState = "failed"  // it could not mirror it
	FollowerSilent  FollowerState = "silent"  // it has not polled for more than a day
	FollowerStopped FollowerState = "stopped" // it serves what hosts refused, and its ring does not see any more
	FollowerBehind  FollowerState = "behind"  // it serves an older release than it may, or older files of it
	FollowerPending FollowerState = "pending" // it serves nothing yet
	FollowerUnknown FollowerState = "unknown" // a client that reports nothing
	FollowerInSync  FollowerState = "in_sync"
)

var followerStates = []FollowerState{FollowerRefused, FollowerFailed, FollowerSilent, FollowerStopped, FollowerBehind, FollowerPending, FollowerUnknown, FollowerInSync}

// FollowerStates returns all of them, the worst first.
func FollowerStates() []FollowerState { return followerStates }

// Compare sorts the worse state first.
func (s FollowerState) Compare(other FollowerState) int {
	return slices.Index(followerStates, s) - slices.Index(followerStates, other)
}

// Destroyed is a revision that was destroyed here, with the hosts that follow and still have
// it.
type Destroyed struct {
	Manifest string           `json:"manifest"`
	Release  manifest.Release `json:"release"`
	Revision string           `json:"revision"` // "" for all revisions of the release
	At       time.Time        `json:"at"`
	Held     int              `json:"held"`   // hosts that still have it
	Untold   int              `json:"untold"` // hosts with this manifest that do not tell what they have
	Hosts    []string         `json:"hosts"`  // the first ones that still have it, as name/host
}

// maxHolders is how many hosts a Destroyed names.
const maxHolders = 100

// Add adds a host that still has it.
func (d *Destroyed) Add(host string) {
	d.Held++
	if len(d.Hosts) < maxHolders {
		d.Hosts = append(d.Hosts, host)
	}
}

// Text says which hosts still have it.
func (d Destroyed) Text() string {
	name := string(d.Release)
	if d.Revision != "" {
		name += "-" + d.Revision
	}
	text := fmt.Sprintf("%s of %s was destroyed here. ", name, d.Manifest)
	switch d.Held {
	case 0:
		text += "No host says that it still has it"
	case 1:
		text += "1 host still has it: " + d.Hosts[0]
	default:
		text += fmt.Sprintf("%d hosts still have it: %s", d.Held, strings.Join(d.Hosts, ", "))
	}
	switch d.Untold {
	case 0:
	case 1:
		text += "; 1 host does not tell what it has"
	default:
		text += fmt.Sprintf("; %d hosts do not tell what they have", d.Untold)
	}
	return text + "."
}

// Stop keeps a release from later rings, until the provider replaces its bytes.
type Stop struct {
	Manifest string           `json:"manifest"`
	Release  manifest.Release `json:"release"`
	Revision string           `json:"revision"` // "" for whatever bytes, if an earlier syncd stopped it
	By       string           `json:"by"`       // the ring whose hosts refused it
	From     string           `json:"from"`     // the first ring that does not see it
	At       time.Time        `json:"at"`       // when it was stopped
	Refused  int              `json:"refused"`  // hosts, at most at one time
	Of       int              `json:"of"`       // hosts of the ring with this manifest
	Hosts    []string         `json:"hosts"`    // the first ones that refused it, as name/host
}
