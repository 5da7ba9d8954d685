package rings

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"syncd/internal/manifest"
)

// host tells the hosts of one ID apart. The zero value stands for clients that tell
// nothing.
type host struct{ Name, ID string }

func (h host) compare(other host) int {
	return cmp.Or(strings.Compare(h.Name, other.Name), strings.Compare(h.ID, other.ID))
}

// follower is a manifest of a host.
type follower struct {
	host
	Manifest string
}

func (a Asker) follower(manifestName string) follower { return follower{a.host(), manifestName} }

func (a Asker) host() host { return host{a.state.Host, a.state.ID} }

// hostReport is what is known of one manifest of one host. Only the State comes from the host.
type hostReport struct {
	State
	Ring   string    // at the last poll
	SeenAt time.Time // the last poll
	Since  time.Time // when it first reported the refused release
	Shown  Version   // the newest that it could see in a poll
	Took   Version   // it could see this one, and serves it
	About  Version   // its ring sees this one, and the host refused it; zero for none

	savedAt time.Time // SeenAt when it was last to be saved
	stored  bool      // the state has it, in this or an earlier form
}

// follow completes a report with what the one before tells; visible is what the host can see
// now, the newest first. The names of revisions differ between hosts, because each has
// filters of its own. A host's report is thus about the revision that it could see before.
func (r *hostReport) follow(before *hostReport, visible []Version) {
	if before == nil {
		before = &hostReport{}
	}
	r.Shown = before.Shown
	if len(visible) > 0 && !r.Shown.Release.Newer(visible[0].Release) {
		r.Shown = visible[0]
	}
	shown := cmp.Or(before.Shown, r.Shown)
	switch {
	case r.Release == "":
	case r.Release == before.Took.Release && r.Revision == before.Revision && before.Took.Revision != "":
		r.Took = before.Took
	case r.Release == shown.Release:
		r.Took = shown
	case r.Release == before.Took.Release:
		r.Took = before.Took
	}
	switch {
	case r.Refused == "":
	case r.refusal() == before.refusal() && before.About != Version{}: // it has not tried another one since
		r.About = before.About
	case shown.Release == r.Refused:
		r.About = shown
	default:
		r.About = firstOf(visible, r.Refused)
	}
	if !slices.Contains(visible, r.About) {
		r.About = Version{}
	}
}

// firstOf returns the newest revision of a release, the zero Version for none.
func firstOf(revisions []Version, release manifest.Release) Version {
	for _, v := range revisions {
		if v.Release == release {
			return v
		}
	}
	return Version{}
}

// hasState is true for a host that sends its state. Only those count.
func (r *hostReport) hasState() bool { return r.Host != "" }

// misses is true for a host that serves bytes of a release which were replaced since. That of
// a host with filters is not sure: it is taken to have what it wants of the new bytes once it
// has seen that there are some.
func (r *hostReport) misses(newest Version) bool {
	hasFilters := r.Revision != r.Took.Revision
	return r.Took.Release == newest.Release && r.Took.Revision != "" && r.Took != newest && (!hasFilters || r.Shown != newest)
}

// against is the revision that the report speaks against.
func (r *hostReport) against() (about Version, counts bool) {
	return r.About, r.hasState() && r.counts() && r.About != Version{}
}

// same is true if nothing but the time of the poll differs.
func (r *hostReport) same(other *hostReport) bool {
	return r.State == other.State && r.Ring == other.Ring && r.Shown == other.Shown && r.Took == other.Took && r.About == other.About
}

// place is a manifest in a ring.
type place struct{ ring, manifest string }

// tally counts the hosts at a place, and those that refused a revision.
type tally struct {
	hosts   int
	refused map[Version]int
}
