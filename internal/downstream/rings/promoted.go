package rings

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/report"
)

// maxBegun limits the revisions of which is known when rings began, to the newest.
const maxBegun = 2000

// begun is what is known of a revision that goes from ring to ring.
type begun struct {
	Rings map[string]time.Time `json:"rings,omitempty"` // that began because the ring before proved it
	Told  map[string]time.Time `json:"told,omitempty"`  // rings that wait too long, of which an operator was told

	// The clock was ahead when the revision went live. It counts from when this host saw that.
	Ahead time.Time `json:"ahead,omitzero"` // what was noted as LiveAt
	Live  time.Time `json:"live,omitzero"`  // what counts in its place
}

// last is when something happened last.
func (b begun) last() (last time.Time) {
	for _, at := range slices.Concat(slices.Collect(maps.Values(b.Rings)), slices.Collect(maps.Values(b.Told))) {
		if at.After(last) {
			last = at
		}
	}
	if b.Live.After(last) {
		last = b.Live
	}
	return last
}

// liveAt is when a revision went live, by a clock that is right by now.
func (r *rulings) liveAt(manifestName string, s Served) time.Time {
	if b := r.begun[target{manifestName, s.Version}]; !b.Live.IsZero() && b.Ahead.Equal(s.LiveAt) {
		return b.Live
	}
	return s.LiveAt
}

// noteAhead notes the revisions that are said to go live in the future. Rings would wait for
// that time, and an operator could not let the release go until then.
func (r *rulings) noteAhead(manifestName string, published []Served, now time.Time) {
	if len(r.rings) == 0 {
		return
	}
	for _, s := range published {
		if t := (target{manifestName, s.Version}); r.liveAt(manifestName, s).After(now) {
			b := r.begun[t]
			b.Ahead, b.Live = s.LiveAt.UTC(), now.UTC()
			r.setBegun(t, b)
		}
	}
}

// begin notes that a ring sees a revision from now on, whatever becomes of the hosts that
// proved it.
func (r *rulings) begin(t target, ring string, at time.Time) {
	b := r.begun[t]
	b.Rings = with(b.Rings, ring, at)
	r.setBegun(t, b)
}

// tell notes that an operator hears of a ring that waits.
func (r *rulings) tell(t target, ring string, at time.Time) {
	b := r.begun[t]
	b.Told = with(b.Told, ring, at)
	r.setBegun(t, b)
}

func with(all map[string]time.Time, ring string, at time.Time) map[string]time.Time {
	next := map[string]time.Time{ring: at}
	maps.Copy(next, all)
	return next
}

func (r *rulings) setBegun(t target, b begun) {
	r.begun[t] = b
	r.decide(begunKey(t))
	for len(r.begun) > maxBegun {
		oldest := t
		for other, b := range r.begun {
			if b.last().Before(r.begun[oldest].last()) {
				oldest = other
			}
		}
		delete(r.begun, oldest)
		r.decide(begunKey(oldest))
	}
}

// NoteAhead notes which revisions went live while the clock was ahead. A command without a daemon
// calls it before it asks what rings see.
func (f *Fleet) NoteAhead() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noteAllAheadLocked()
}

func (f *Fleet) noteAllAheadLocked() {
	for _, name := range f.catalog.Manifests() {
		name, published := f.catalog.Served(name)
		f.noteAhead(name, published, f.now())
	}
}

// advanceLocked lets rings begin for which the ring before proves a revision of a manifest.
func (f *Fleet) advanceLocked(name string, published []Served) {
	if !f.rings.NeedProof() {
		return
	}
	for _, s := range published {
		for i, ring := range f.rings {
			d := f.rings.Decide(i, f.past(name, s), f.now(), f.votesLocked(name))
			if d.IsNew && ring.NeedsProof() {
				t := target{name, s.Version}
				f.begin(t, ring.Name, d.At.UTC())
				f.begins = true
				f.log.Info().Str("manifest", name).Str("release", string(s.Release)).Str("revision", s.Revision).Str("ring", ring.Name).
					Msg("the hosts of the ring before serve the release: the ring begins")
			}
		}
	}
}

// grandfatherLocked lets rings that need proofs from now on begin with what hosts of theirs, or
// of later rings, took before. Where a host's ring has another name now, nobody knows which one
// it is until the host polls: it may be the first.
func (f *Fleet) grandfatherLocked() {
	var news []string
	for _, ring := range f.rings {
		if ring.NeedsProof() && !slices.Contains(f.proving, ring.Name) {
			news = append(news, ring.Name)
		}
	}
	for _, of := range f.accounts {
		for _, manifests := range of.hosts {
			for name, r := range manifests {
				t := target{name, r.Took}
				at, found := f.rings.Place(r.Ring)
				isRenamed := found && r.Ring != "" && f.rings[at].Name != r.Ring
				for i := 0; found && !isRenamed && i <= at && r.Took.Revision != ""; i++ {
					if ring := f.rings[i].Name; slices.Contains(news, ring) && f.begun[t].Rings[ring].IsZero() {
						f.begin(t, ring, f.now().UTC())
					}
				}
			}
		}
	}
	f.setProving()
}

// setProving notes which rings need proofs.
func (r *rulings) setProving() {
	var now []string
	for _, ring := range r.rings {
		if ring.NeedsProof() {
			now = append(now, ring.Name)
		}
	}
	if !slices.Equal(now, r.proving) {
		r.proving = now
		r.decided[kindProving] = true
	}
}

// Advance does what follows from the time alone: hosts that did not poll for a day prove
// nothing any more, and rings begin after their delays.
func (f *Fleet) Advance() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expire(f.now())
	for _, name := range f.catalog.Manifests() {
		name, published := f.catalog.Served(name)
		f.noteAhead(name, published, f.now())
		f.advanceLocked(name, published)
	}
}

// Waiting are the rings that wait for proofs of a newer release than they see, by manifest.
func (f *Fleet) Waiting() []report.WaitingRing {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.waitingLocked()
}

func (f *Fleet) waitingLocked() []report.WaitingRing {
	all := []report.WaitingRing{}
	if !f.rings.NeedProof() {
		return all
	}
	for _, name := range f.catalog.Manifests() {
		name, published := f.catalog.Served(name)
		for i, ring := range f.rings {
			if w, waits := f.waitLocked(name, published, i); waits && ring.NeedsProof() {
				all = append(all, w)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b report.WaitingRing) int { return cmp.Compare(a.Manifest, b.Manifest) })
	return all
}

// waitLocked says for which release a ring waits, and since when for any: neither a newer release nor
// replaced bytes let an operator wait longer.
func (f *Fleet) waitLocked(name string, published []Served, at int) (w report.WaitingRing, waits bool) {
	ring, now := f.rings[at], f.now()
	for _, s := range newestFirst(published) {
		d := f.rings.Decide(at, f.past(name, s), now, nil)
		if d.Begun && !f.isHidden(target{name, s.Version}, at) {
			break // all others are older
		}
		if !d.Waits || f.isHidden(target{name, s.Version}, at) || !s.Release.IsMonth() {
			continue
		}
		if !waits {
			before := f.rings[at-1].Name
			w = report.WaitingRing{
				Manifest: name, Release: s.Release, Revision: s.Revision, Ring: ring.Name, For: before,
				NeedsHosts: ring.AfterHosts, NeedsShare: ring.AfterShare,
			}
			w.Proven, w.Of = f.tallies[place{before, name}].Proven(s.Version)
			waits = true
			w.Since = d.Since.UTC()
		}
		if d.Since.Before(w.Since) {
			w.Since = d.Since.UTC()
		}
		w.Overdue = w.Overdue || d.IsOverdue(ring, now)
	}
	return w, waits
}

// tellOverdue tells of rings that wait too long. A crash right after it makes it tell again.
func (f *Fleet) tellOverdue(tell func(report.WaitingRing) error) {
	for _, w := range f.Overdue() {
		err := tell(w)
		if err == nil {
			err = f.Told(w)
		}
		if err != nil {
			f.log.Warn().Err(err).Str("ring", w.Ring).Msg("telling of a ring that waits failed; the next attempt comes in seconds")
		}
	}
}

// Overdue returns the rings that wait for longer than an operator wants, and of which nobody
// was told yet. Told notes that somebody was.
func (f *Fleet) Overdue() (untold []report.WaitingRing) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, w := range f.waitingLocked() {
		if w.Overdue && f.begun[targetOfWait(w)].Told[w.Ring].IsZero() {
			untold = append(untold, w)
		}
	}
	return untold
}

// Told notes that an operator was told of a ring that waits. It is saved when Told returns
// without an error.
func (f *Fleet) Told(w report.WaitingRing) error {
	f.mu.Lock()
	f.tell(targetOfWait(w), w.Ring, f.now().UTC())
	f.mu.Unlock()
	f.log.Warn().Str("manifest", w.Manifest).Str("release", string(w.Release)).Str("ring", w.Ring).Str("for", w.For).Int("serving", w.Proven).Int("hosts", w.Of).
		Msg("a ring waits too long for the hosts of the ring before to serve the release: `syncd fleet release` lets it go on")
	return f.saveRulings()
}

func targetOfWait(w report.WaitingRing) target {
	return target{w.Manifest, Version{Release: w.Release, Revision: w.Revision}}
}

func newRulings() rulings {
	return rulings{
		stops: map[target]report.Stop{}, approved: map[manifest.Release]time.Time{}, begun: map[target]begun{}, decided: map[string]bool{},
	}
}
