package rings

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/report"
)

// Limits of what is remembered of releases, the newest.
const (
	maxStops     = 1000
	maxApprovals = 100
	maxNamed     = 100 // hosts that a Stop names
)

// target is a revision of a manifest. Its Revision is "" in a stop of an earlier syncd,
// which stands for the whole release.
type target struct {
	manifest string
	Version
}

func targetOf(s report.Stop) target {
	return target{s.Manifest, Version{s.Release, s.Revision}}
}

// hides is true when a ring does not see what was stopped. The last ring never sees it, even
// if the rings were renamed since.
func (r rings) hides(s report.Stop, place int) bool {
	from, _ := r.place(s.From)
	return place >= from && place > 0
}

// hidesLocked is true when a ring does not see a revision because it was stopped.
func (f *Fleet) hidesLocked(t target, place int) bool {
	stop, stopped := f.stops[t]
	if !stopped {
		stop, stopped = f.stops[target{t.manifest, Version{Release: t.Release}}]
	}
	return stopped && f.rings.hides(stop, place)
}

// isApprovedLocked is true for a revision that was served when the operator let its release
// go. Other bytes that came later begin anew.
func (f *Fleet) isApprovedLocked(s Served) bool {
	at, approved := f.approved[s.Release]
	return approved && !s.LiveAt.After(at)
}

// servedLocked returns the revision of a target as it is served.
func (f *Fleet) servedLocked(t target) Served {
	_, published := f.catalog.Served(t.manifest)
	i := slices.IndexFunc(published, func(s Served) bool { return s.Version == t.Version })
	if i < 0 {
		return Served{Version: t.Version}
	}
	return published[i]
}

// judgeLocked stops a revision that too many hosts refused, unless the operator let it go.
// It returns the stop if it is new. name is that of the host that refused it now, if any.
func (f *Fleet) judgeLocked(t target, name string) (stop report.Stop, isNew bool) {
	if f.isApprovedLocked(f.servedLocked(t)) {
		return report.Stop{}, false
	}
	by, from, found := f.rings.stopped(func(ring string) (refused, all int) {
		tally := f.tallies[place{ring, t.manifest}]
		return tally.refused[t.Version], tally.hosts
	})
	if !found {
		return report.Stop{}, false
	}
	ring := f.rings[by].Name
	before, known := f.stops[t]
	if earlier, _ := f.rings.place(before.From); known && earlier <= from {
		f.growLocked(t, before, f.tallies[place{ring, t.manifest}], name)
		return report.Stop{}, false
	}
	tally := f.tallies[place{ring, t.manifest}]
	stop = report.Stop{
		Manifest: t.manifest, Release: t.Release, Revision: t.Revision, By: ring, From: f.rings[from].Name, At: f.now().UTC(),
		Refused: tally.refused[t.Version], Of: tally.hosts, Hosts: f.refusers(t, ring),
	}
	f.stops[t] = stop
	f.changed[stopKey(t)] = true
	f.trimStopsLocked()
	return stop, true
}

// growLocked adds a further host to a stop.
func (f *Fleet) growLocked(t target, s report.Stop, now tally, name string) {
	if now.refused[t.Version] <= s.Refused {
		return
	}
	s.Refused, s.Of = now.refused[t.Version], now.hosts
	if len(s.Hosts) < maxNamed && name != "" && !slices.Contains(s.Hosts, name) {
		s.Hosts = append(slices.Clone(s.Hosts), name)
		slices.Sort(s.Hosts)
	}
	f.stops[t] = s
	f.changed[stopKey(t)] = true
}

func (f *Fleet) trimStopsLocked() {
	for len(f.stops) > maxStops {
		oldest := slices.MinFunc(f.sortedStopsLocked(), func(a, b report.Stop) int { return a.At.Compare(b.At) })
		t := targetOf(oldest)
		delete(f.stops, t)
		f.changed[stopKey(t)] = true
	}
}

func (f *Fleet) sortedStopsLocked() []report.Stop {
	all := make([]report.Stop, 0, len(f.stops))
	for _, s := range f.stops {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b report.Stop) int {
		return cmp.Or(cmp.Compare(b.Release, a.Release), cmp.Compare(a.Manifest, b.Manifest), b.At.Compare(a.At))
	})
	return all
}

// hostName names a host to people.
func hostName(name, host string) string { return name + "/" + host }

// NotServedError says that no manifest has a release.
type NotServedError struct{ Release manifest.Release }

func (e *NotServedError) Error() string {
	return fmt.Sprintf("no manifest has a release %s here: `syncd fleet` lists those that were stopped", e.Release)
}

// Approve lets a release go on to later rings, whatever hosts say of it, and returns the
// stops that this ends. It is saved when Approve returns without an error.
func (f *Fleet) Approve(release manifest.Release) (ended []report.Stop, err error) {
	f.mu.Lock()
	for _, s := range f.sortedStopsLocked() {
		if s.Release == release {
			ended = append(ended, s)
		}
	}
	if len(ended) == 0 && !f.isServedLocked(release) {
		f.mu.Unlock()
		return nil, &NotServedError{release}
	}
	for _, s := range ended {
		t := targetOf(s)
		delete(f.stops, t)
		f.changed[stopKey(t)] = true
	}
	f.approved[release] = f.now().UTC()
	f.changed[approvalKey(release)] = true
	f.trimApprovalsLocked()
	f.mu.Unlock()
	return ended, f.Save()
}

func (f *Fleet) trimApprovalsLocked() {
	for len(f.approved) > maxApprovals {
		oldest, at := manifest.Release(""), time.Time{}
		for release, t := range f.approved {
			if oldest == "" || t.Before(at) {
				oldest, at = release, t
			}
		}
		delete(f.approved, oldest)
		f.changed[approvalKey(oldest)] = true
	}
}
