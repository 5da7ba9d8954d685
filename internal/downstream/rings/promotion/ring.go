package promotion

import (
	"math"
	"slices"
	"time"

	"syncd/internal/manifest"
)

// Version is one revision of a release. A release whose bytes the provider replaced has
// several.
type Version struct {
	Release  manifest.Release
	Revision string
}

// Ring is a group of followers that see a release at the same time.
type Ring struct {
	Name      string
	Delay     time.Duration // after the release went live here
	StopAbove float64       // the share of an earlier ring's hosts that may refuse a release; below 0 for any

	AfterShare float64       // of the hosts of the ring before must prove a release; 0 for any
	AfterHosts int           // so many of them at least; 0 for a ring that begins by its delay alone
	MaxWait    time.Duration // for that proof; then an operator is told
}

// NeedsProof is true for a ring that waits for the hosts of the ring before.
func (r Ring) NeedsProof() bool { return r.AfterHosts > 0 }

// Rings are in the order in which they see a release.
type Rings []Ring

// Place finds the place of a ring; found is false if there are no rings. A ring that is
// not configured counts as the last one.
func (r Rings) Place(name string) (i int, found bool) {
	i = slices.IndexFunc(r, func(ring Ring) bool { return ring.Name == name })
	if i < 0 {
		i = len(r) - 1
	}
	return i, len(r) > 0
}

// NameOf is the name of the ring that counts for a follower.
func (r Rings) NameOf(name string) string {
	if i, found := r.Place(name); found {
		return r[i].Name
	}
	return name
}

// NeedProof is true if some ring waits for another one.
func (r Rings) NeedProof() bool { return slices.ContainsFunc(r, Ring.NeedsProof) }

// Votes returns what the hosts of a ring say of a manifest.
type Votes func(ring string) Ballot

// Stopped returns the first ring that must not see a version which the hosts of an earlier
// ring refused; found is false for none.
func (r Rings) Stopped(v Version, votes Votes) (by, from int, found bool) {
	for from, ring := range r {
		for by, earlier := range r[:from] {
			if ring.StopAbove >= 0 && votes(earlier.Name).refusedMoreThan(v, ring.StopAbove) {
				return by, from, true
			}
		}
	}
	return 0, 0, false
}

// Past is what happened to a version so far.
type Past struct {
	Version
	LiveAt time.Time            // when it went live here
	Begun  map[string]time.Time // rings that began because the ring before proved it
	LetGo  bool                 // an operator lets it go on without proofs
}

// Decision says whether a ring may see a version, if nothing stopped it.
type Decision struct {
	Begun bool
	At    time.Time // when it began
	IsNew bool      // it begins now because of a proof, which is to be kept in Past.Begun

	// Waits is true when nothing but the proof of the ring before is missing, since a time.
	Waits bool
	Since time.Time
}

// IsOverdue is true for a wait that an operator is to be told of.
func (d Decision) IsOverdue(ring Ring, now time.Time) bool {
	return d.Waits && now.Sub(d.Since) >= ring.MaxWait
}

// Decide decides about the ring at a place. No ring begins before the one before it. With nil
// votes, it begins only by what happened so far.
func (r Rings) Decide(place int, p Past, now time.Time, votes Votes) (d Decision) {
	d = Decision{Begun: true, At: p.LiveAt}
	first := 0
	for i, ring := range r[:place+1] {
		if began, isKnown := p.Begun[ring.Name]; ring.NeedsProof() && isKnown {
			first, d.At = i+1, began
		}
	}
	for i, ring := range r[first : place+1] {
		i += first
		// A time in the future was noted before the clock was set back.
		if max(now.Sub(p.LiveAt), 0) < ring.Delay {
			return Decision{}
		}
		if due := p.LiveAt.Add(ring.Delay); due.After(d.At) {
			d.At = due
		}
		d.IsNew = false
		switch {
		case i == 0 || !ring.NeedsProof() || p.LetGo:
		case votes != nil && votes(r[i-1].Name).Proves(p.Version, ring):
			d.At, d.IsNew = now, true
		case i == place:
			return Decision{Waits: true, Since: d.At}
		default:
			return Decision{}
		}
	}
	return d
}

// part is the part of a number of hosts that each of some IDs may supply.
func part(hosts, ids int) int { return int(math.Ceil(float64(hosts) / float64(max(ids, 1)))) }
