package rings

import (
	"slices"
	"time"
)

// Ring is a group of followers that see a release at the same time.
type Ring struct {
	Name      string
	Delay     time.Duration // after the release went live here
	StopAbove float64       // the share of an earlier ring's hosts that may refuse a release; below 0 for any
}

// rings are in the order in which they see a release.
type rings []Ring

// place finds the place of a ring; found is false if there are no rings. A ring that is
// not configured counts as the last one.
func (r rings) place(name string) (i int, found bool) {
	i = slices.IndexFunc(r, func(ring Ring) bool { return ring.Name == name })
	if i < 0 {
		i = len(r) - 1
	}
	return i, len(r) > 0
}

// nameOf is the name of the ring that counts for a follower.
func (r rings) nameOf(name string) string {
	if i, found := r.place(name); found {
		return r[i].Name
	}
	return name
}

// isDue is true when a ring's delay has passed. A time in the future was noted before the
// clock was set back.
func (r Ring) isDue(liveAt, now time.Time) bool {
	return max(now.Sub(liveAt), 0) >= r.Delay
}

// stopped returns the first ring that must not see a release which refused of all hosts
// of an earlier ring refused; found is false for none.
func (r rings) stopped(tally func(ring string) (refused, all int)) (by, from int, found bool) {
	for from, ring := range r {
		for by, earlier := range r[:from] {
			refused, all := tally(earlier.Name)
			if ring.StopAbove >= 0 && float64(refused) > ring.StopAbove*float64(all) {
				return by, from, true
			}
		}
	}
	return 0, 0, false
}
