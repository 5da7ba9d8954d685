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

// target is a release of a manifest.
type target struct {
	manifest string
	release  manifest.Release
}

// hides is true when a ring does not see the release. The last ring never sees it, even if
// the rings were renamed since.
func hides(s report.Stop, r rings, place int) bool {
	from, _ := r.place(s.From)
	return place >= from && place > 0
}

// judgeLocked stops a release that too many hosts refused, unless the operator let it go.
// It returns the stop if it is new. name is that of the host that refused it now, if any.
func (f *Fleet) judgeLocked(t target, name string) (stop report.Stop, isNew bool) {
	if _, approved := f.approved[t.release]; approved {
		return report.Stop{}, false
	}
	by, from, found := f.rings.stopped(func(ring string) (refused, all int) {
		tally := f.tallies[place{ring, t.manifest}]
		return tally.refused[t.release], tally.hosts
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
		Manifest: t.manifest, Release: t.release, By: ring, From: f.rings[from].Name, At: f.now().UTC(),
		Refused: tally.refused[t.release], Of: tally.hosts, Hosts: f.refusersLocked(t, ring),
	}
	f.stops[t] = stop
	f.changed[stopKey(t)] = true
	f.trimStopsLocked()
	return stop, true
}

// growLocked adds a further host to a stop.
func (f *Fleet) growLocked(t target, s report.Stop, now tally, name string) {
	if now.refused[t.release] <= s.Refused {
		return
	}
	s.Refused, s.Of = now.refused[t.release], now.hosts
	if len(s.Hosts) < maxNamed && name != "" && !slices.Contains(s.Hosts, name) {
		s.Hosts = append(slices.Clone(s.Hosts), name)
		slices.Sort(s.Hosts)
	}
	f.stops[t] = s
	f.changed[stopKey(t)] = true
}

func (f *Fleet) refusersLocked(t target, ring string) (names []string) {
	for name, reports := range f.reports {
		for k, r := range reports {
			if k.Manifest == t.manifest && r.Ring == ring && r.against() == t.release {
				names = append(names, hostName(name, k.Host))
			}
		}
	}
	slices.Sort(names)
	return names[:min(len(names), maxNamed)]
}

func (f *Fleet) trimStopsLocked() {
	for len(f.stops) > maxStops {
		oldest := slices.MinFunc(f.sortedStopsLocked(), func(a, b report.Stop) int { return a.At.Compare(b.At) })
		t := target{oldest.Manifest, oldest.Release}
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
		return cmp.Or(cmp.Compare(b.Release, a.Release), cmp.Compare(a.Manifest, b.Manifest))
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
		t := target{s.Manifest, s.Release}
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
