package rings

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"syncd/internal/downstream/rings/promotion"
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
	Knew   Version   // Shown before its last poll, so that its state is about that
	Took   Version   // it could see this one, and serves it
	About  Version   // its ring sees this one, and the host refused it; zero for none

	isPresent bool // it counts as a host that polled in the last day

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
	r.Shown, r.Knew = before.Shown, before.Shown
	if len(visible) > 0 && !r.Shown.Release.Newer(visible[0].Release) {
		r.Shown = visible[0]
	}
	shown := cmp.Or(before.Shown, r.Shown)
	switch {
	case r.Release == "":
	case slices.Contains(visible, Version{Release: r.Release, Revision: r.Revision}):
		r.Took = Version{Release: r.Release, Revision: r.Revision}
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

// proven is the revision that the host serves, and that its consumers work with if it asks
// them; zero for none. A host with filters that takes nothing of replaced bytes goes on serving
// its revision, once it knew the new ones and refused nothing.
func (r *hostReport) proven() Version {
	if !r.hasState() || r.Release == "" || r.Probe != "" && r.Probe != ProbeProven {
		return Version{}
	}
	v := r.Took
	if r.Revision != v.Revision && r.Knew.Release == v.Release && r.Refused != v.Release {
		v = r.Knew
	}
	if r.Refused == v.Release && (r.About == v || r.About == Version{}) {
		return Version{}
	}
	return v
}

// vote is what the report says to the rings.
func (r *hostReport) vote() promotion.Vote {
	v := promotion.Vote{IsPresent: r.isPresent, Proves: r.proven()}
	if about, counts := r.against(); counts {
		v.Refuses = about
	}
	return v
}

// same is true if nothing but the time of the poll differs, and what another poll tells again.
func (r *hostReport) same(other *hostReport) bool {
	return r.State == other.State && r.Ring == other.Ring && r.Shown == other.Shown && r.Took == other.Took && r.About == other.About
}

// place is a manifest in a ring.
type place struct{ ring, manifest string }
