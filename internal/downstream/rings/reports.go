package rings

import (
	"cmp"
	"slices"
	"time"

	"syncd/internal/manifest"
)

// Limits of the reports. A host has one for each manifest that it polls.
const (
	maxReports  = 200_000
	forgetAfter = 7 * 24 * time.Hour // without a poll
	saveEvery   = time.Hour          // for a report in which only the time of the poll is new
)

// follower is a manifest of a host. The name of the ID comes first in the maps of Fleet.
type follower struct{ Host, ID, Manifest string }

func (a Asker) follower(manifestName string) follower {
	return follower{a.state.Host, a.state.ID, manifestName}
}

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
// filters of its own. What a host tells is thus about the revision that it could see before.
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

// setLocked replaces a report.
func (f *Fleet) setLocked(name string, k follower, next *hostReport) {
	before := f.reports[name][k]
	if before == nil {
		f.makeRoomLocked()
	}
	next.Since = next.SeenAt
	if before != nil {
		if before.Refused == next.Refused && before.Reason == next.Reason {
			next.Since = before.Since
		}
		next.savedAt, next.stored = before.savedAt, before.stored
	}
	if before == nil || !before.same(next) || next.SeenAt.Sub(before.savedAt) >= saveEvery {
		next.savedAt = next.SeenAt
		f.changed[reportKey(name, k)] = true
	}
	f.putLocked(name, k, next)
}

// putLocked puts a report in place of the one before; nil removes it.
func (f *Fleet) putLocked(name string, k follower, next *hostReport) {
	of := f.reports[name]
	if before := of[k]; before != nil {
		f.countLocked(k, before, -1)
		delete(of, k)
		f.count--
	}
	if next != nil {
		if of == nil {
			of = map[follower]*hostReport{}
			f.reports[name] = of
		}
		f.countLocked(k, next, 1)
		of[k] = next
		f.count++
	}
	if len(of) == 0 {
		delete(f.reports, name)
	}
}

func (f *Fleet) countLocked(k follower, r *hostReport, n int) {
	if !r.hasState() {
		return
	}
	p := place{r.Ring, k.Manifest}
	t := f.tallies[p]
	t.hosts += n
	if about, counts := r.against(); counts {
		if t.refused == nil {
			t.refused = map[Version]int{}
		}
		if t.refused[about] += n; t.refused[about] == 0 {
			delete(t.refused, about)
		}
	}
	f.tallies[p] = t
	if t.hosts == 0 {
		delete(f.tallies, p)
	}
}

// makeRoomLocked drops a report of the ID that has most of them, so that one ID that
// makes up hosts pushes out no others.
func (f *Fleet) makeRoomLocked() {
	if f.count < f.limit {
		return
	}
	largest := ""
	for name, of := range f.reports {
		if len(of) > len(f.reports[largest]) {
			largest = cmp.Or(name, largest)
		}
	}
	for k := range f.reports[largest] {
		f.dropLocked(largest, k)
		break
	}
	if !f.crowded {
		f.crowded = true
		f.log.Warn().Str("name", largest).Int("reports", f.limit).Msg("too many hosts follow this one: forgetting some of the name with most of them")
	}
}

// dropLocked forgets a report. One that the state never had leaves nothing to be saved, so
// that made-up hosts need no memory while the disk is full.
func (f *Fleet) dropLocked(name string, k follower) {
	if key := reportKey(name, k); f.reports[name][k].stored {
		f.changed[key] = true
	} else {
		delete(f.changed, key)
	}
	f.putLocked(name, k, nil)
}

// Forget drops hosts that have not polled for long.
func (f *Fleet) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	for name, of := range f.reports {
		for k, r := range of {
			if now.Sub(r.SeenAt) > forgetAfter {
				f.dropLocked(name, k)
			}
		}
	}
}
