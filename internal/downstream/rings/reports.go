package rings

import (
	"cmp"
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
	Ring   string           // at the last poll
	SeenAt time.Time        // the last poll
	Since  time.Time        // when it first reported the refused release
	Shown  manifest.Release // the newest that it could see in a poll
	Took   manifest.Release // it could see this one, and serves it

	savedAt time.Time // SeenAt when it was last to be saved
	stored  bool      // the state has it, in this or an earlier form
}

// show notes that the host can see a release.
func (r *hostReport) show(release manifest.Release) {
	if r.Shown == "" || release.Newer(r.Shown) {
		r.Shown = release
	}
}

// take notes that the host serves a release that it could see.
func (r *hostReport) take() {
	if r.Release != r.Took {
		r.Took = ""
	}
	if r.Release == r.Shown {
		r.Took = r.Release
	}
}

// hasState is true for a host that sends its state. Only those count.
func (r *hostReport) hasState() bool { return r.Host != "" }

// against is the release that the report speaks against, "" for none.
func (r *hostReport) against() manifest.Release {
	if r.hasState() && r.counts() {
		return r.Refused
	}
	return ""
}

// same is true if nothing but the time of the poll differs.
func (r *hostReport) same(other *hostReport) bool {
	return r.State == other.State && r.Ring == other.Ring && r.Shown == other.Shown && r.Took == other.Took
}

// place is a manifest in a ring.
type place struct{ ring, manifest string }

// tally counts the hosts at a place, and those that refused a release.
type tally struct {
	hosts   int
	refused map[manifest.Release]int
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
	if release := r.against(); release != "" {
		if t.refused == nil {
			t.refused = map[manifest.Release]int{}
		}
		if t.refused[release] += n; t.refused[release] == 0 {
			delete(t.refused, release)
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
