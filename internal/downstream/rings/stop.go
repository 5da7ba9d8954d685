package rings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"syncd/internal/downstream/rings/promotion"
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
	return target{s.Manifest, Version{Release: s.Release, Revision: s.Revision}}
}

// rulings are what was decided about releases: by hosts, and by the operator. A Fleet guards
// them.
type rulings struct {
	rings     promotion.Rings
	stops     map[target]report.Stop
	approved  map[manifest.Release]time.Time
	begun     map[target]begun
	begins    bool            // some ring began, which is not saved yet
	proving   []string        // rings that need proofs
	decided   map[string]bool // keys of entries that are not saved yet
	decisions int             // see Fleet.Decisions
}

// hides is true when a ring does not see what was stopped. When the ring from which it was kept
// has another name since, it may be any but the first.
func (r *rulings) hides(s report.Stop, place int) bool {
	from, found := r.rings.Place(s.From)
	isRenamed := found && r.rings[from].Name != s.From
	return place > 0 && (place >= from || isRenamed)
}

// isHidden is true when a ring does not see a revision because it was stopped.
func (r *rulings) isHidden(t target, place int) bool {
	stop, stopped := r.stops[t]
	if !stopped {
		stop, stopped = r.stops[target{t.manifest, Version{Release: t.Release}}]
	}
	return stopped && r.hides(stop, place)
}

// isApproved is true for a revision that was served when the operator let its release go.
// Other bytes that came later begin anew.
func (r *rulings) isApproved(manifestName string, s Served) bool {
	at, approved := r.approved[s.Release]
	return approved && !r.liveAt(manifestName, s).After(at)
}

// past is what happened to a revision so far.
func (r *rulings) past(manifestName string, s Served) promotion.Past {
	return promotion.Past{Version: s.Version, LiveAt: r.liveAt(manifestName, s), Begun: r.begun[target{manifestName, s.Version}].Rings, LetGo: r.isApproved(manifestName, s)}
}

// decide notes that an entry changed, and with it what rings see.
func (r *rulings) decide(key string) {
	r.decided[key] = true
	r.decisions++
}

// stop notes a stop.
func (r *rulings) stop(s report.Stop) {
	r.stops[targetOf(s)] = s
	r.decide(stopKey(targetOf(s)))
	for len(r.stops) > maxStops {
		oldest := slices.MinFunc(r.sorted(), func(a, b report.Stop) int { return a.At.Compare(b.At) })
		r.endStop(targetOf(oldest))
	}
}

func (r *rulings) endStop(t target) {
	delete(r.stops, t)
	r.decide(stopKey(t))
}

// sorted are the stops, those of the newest release first.
func (r *rulings) sorted() []report.Stop {
	all := make([]report.Stop, 0, len(r.stops))
	for _, s := range r.stops {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b report.Stop) int {
		return cmp.Or(cmp.Compare(b.Release, a.Release), cmp.Compare(a.Manifest, b.Manifest), b.At.Compare(a.At))
	})
	return all
}

// approve notes that the operator lets a release go on.
func (r *rulings) approve(release manifest.Release, now time.Time) {
	r.approved[release] = now
	r.decide(approvalKey(release))
	for len(r.approved) > maxApprovals {
		oldest, at := manifest.Release(""), time.Time{}
		for release, t := range r.approved {
			if oldest == "" || t.Before(at) {
				oldest, at = release, t
			}
		}
		delete(r.approved, oldest)
		r.decide(approvalKey(oldest))
	}
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
// It returns the stop if it is new. name and host are of the host that refused it now, if any.
func (f *Fleet) judgeLocked(t target, name, host string) (stop report.Stop, isNew bool) {
	if f.isApproved(t.manifest, f.servedLocked(t)) {
		return report.Stop{}, false
	}
	by, from, found := f.rings.Stopped(t.Version, f.votesLocked(t.manifest))
	if !found {
		return report.Stop{}, false
	}
	ring := f.rings[by].Name
	tally := f.tallies[place{ring, t.manifest}]
	before, known := f.stops[t]
	if earlier, _ := f.rings.Place(before.From); known && earlier <= from {
		f.growLocked(t, before, tally, name, host)
		return report.Stop{}, false
	}
	stop = report.Stop{
		Manifest: t.manifest, Release: t.Release, Revision: t.Revision, By: ring, From: f.rings[from].Name, At: f.now().UTC(),
		Refused: tally.Refused(t.Version), Of: tally.Hosts(), Hosts: f.refusers(t, ring),
	}
	f.stop(stop)
	return stop, true
}

// growLocked adds a further host to a stop. Names of an ID that made up hosts give way to those
// of an ID that is not named yet.
func (f *Fleet) growLocked(t target, s report.Stop, now *promotion.Tally, name, host string) {
	if now.Refused(t.Version) <= s.Refused {
		return
	}
	s.Refused, s.Of = now.Refused(t.Version), now.Hosts()
	isNamed := func(h string) bool { return strings.HasPrefix(h, hostName(name, "")) }
	switch {
	case host == "" || slices.Contains(s.Hosts, hostName(name, host)):
	case len(s.Hosts) < maxNamed:
		s.Hosts = append(slices.Clone(s.Hosts), hostName(name, host))
		slices.Sort(s.Hosts)
	case !slices.ContainsFunc(s.Hosts, isNamed):
		s.Hosts = f.refusers(t, s.By)
	}
	f.stop(s)
}

// hostName names a host to people.
func hostName(name, host string) string { return name + "/" + host }

// NotServedError says that no manifest has a release.
type NotServedError struct{ Release manifest.Release }

func (e *NotServedError) Error() string {
	return fmt.Sprintf("no manifest has a release %s here: `syncd fleet` lists those that were stopped", e.Release)
}

// Approve lets a release go on to later rings after their delays, whatever hosts say of it, and
// returns the stops that this ends. It is saved when Approve returns without an error.
func (f *Fleet) Approve(release manifest.Release) (ended []report.Stop, err error) {
	f.mu.Lock()
	f.noteAllAheadLocked()
	for _, s := range f.sorted() {
		if s.Release == release {
			ended = append(ended, s)
		}
	}
	if len(ended) == 0 && !hasRelease(f.catalog, release) {
		f.mu.Unlock()
		return nil, &NotServedError{release}
	}
	for _, s := range ended {
		f.endStop(targetOf(s))
	}
	f.approve(release, f.now().UTC())
	f.mu.Unlock()
	return ended, f.saveRulings()
}
