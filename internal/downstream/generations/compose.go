package generations

import (
	"crypto/sha256"
	"fmt"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/catalog"
	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
)

// lookLocked returns a ring whose newest generation shows what is live.
func (g *Generations) lookLocked(name string) (*ring, error) {
	r := g.ringLocked(name)
	now, snapshot, decided := g.cfg.Now(), g.cfg.Catalog.Snapshot(), g.decisions()
	if age := now.Sub(r.lookedAt); r.snapshot == snapshot && r.decided == decided && age >= 0 && age < min(restAfterLook*r.lookCost, longestRest) {
		return r, nil
	}
	began := time.Now()
	err := g.renewLocked(r, snapshot, now)
	if err != nil && (r.snapshot == nil || r.newest == nil) { // nothing can be told yet
		return nil, err
	}
	g.warn("composing a generation for followers failed; they are told what was live before", name, err)
	r.snapshot, r.decided, r.lookedAt, r.current = snapshot, decided, now, nil
	if r.given == nil {
		g.signLocked(r, now)
	}
	g.forgetLocked(snapshot)
	r.lookCost = time.Since(began)
	return r, nil
}

func (g *Generations) decisions() int {
	if g.cfg.Decisions == nil {
		return 0
	}
	return g.cfg.Decisions()
}

// renewLocked lets the newest generation of a ring show what is live.
func (g *Generations) renewLocked(r *ring, snapshot *catalog.Snapshot, now time.Time) error {
	texts, passesOn := g.given()
	if passesOn != (r.given != nil) { // what it had is of another host
		*r = ring{name: r.name, told: r.told}
	}
	if passesOn {
		return g.passOnLocked(r, texts, snapshot, now)
	}
	next, err := g.composeLocked(r.name, snapshot)
	if err == nil {
		err = g.replaceLocked(r, next, now)
	}
	return err
}

// withheld is the ring of a host without rings whose own upstream shows it less than it serves.
const withheld = "upstream"

// composeLocked makes the generation of what a ring sees now, without what names it.
func (g *Generations) composeLocked(name string, snapshot *catalog.Snapshot) (*Edition, error) {
	sees := g.seesOf(name)
	e := &Edition{records: map[string]*Record{}, revisions: map[string]bool{}}
	e.Ring, e.Destruction = name, map[string]destruction.Order{}
	if name == "" && sees != nil { // followers keep what they have, as in a ring that sees something older
		e.Ring = withheld
	}
	for _, name := range snapshot.Manifests(sees) {
		revision, err := snapshot.Manifest(name, string(manifest.Latest), sees)
		if err != nil {
			continue
		}
		r, entry, err := g.recordLocked(snapshot, revision)
		if err != nil {
			return nil, fmt.Errorf("read the record of %s: %w", revision.Key(), err)
		}
		g.warn("followers cannot take a revision in the mirror's form", revision.Key(), r.err)
		if r.err != nil {
			continue
		}
		e.Manifests = append(e.Manifests, entry)
		e.records[entry.Record()], e.revisions[revision.Key()] = r, true
		if order := g.orderOf(entry); !order.IsZero() {
			e.Destruction[name] = order
		}
	}
	return e, nil
}

// seesOf is what a ring sees, nil for everything.
func (g *Generations) seesOf(name string) catalog.Sees {
	switch {
	case name == "" && g.cfg.SeesWithout != nil:
		return g.cfg.SeesWithout()
	case name == "" || g.cfg.Sees == nil:
		return nil
	}
	return g.cfg.Sees(name)
}

// orderOf is what followers must destroy of a manifest.
func (g *Generations) orderOf(m bucket.Manifest) (order destruction.Order) {
	if g.cfg.Order != nil {
		order = g.cfg.Order(m.Name)
	}
	order.Gone = destruction.Merge(order.Gone, nil, func(gone destruction.Gone) bool { return gone.Is(m.Release, m.Revision) })
	return order
}

// replaceLocked puts a generation in the place of the newest one, which stays if it says the
// same.
func (g *Generations) replaceLocked(r *ring, next *Edition, now time.Time) error {
	if at := r.newest; at != nil && bucket.SameManifests(at.Manifests, next.Manifests) && bucket.SameOrders(at.Destruction, next.Destruction) {
		next.Generation, next.Sum, next.Text = at.Generation, at.Sum, at.Text
		r.newest = next
		return nil
	}
	next.Number, next.Count, next.Publisher, next.Version = g.numberLocked(now), bucket.CountHost, g.cfg.Publisher, g.cfg.Version
	next.PublishedAt = now.UTC().Truncate(time.Second)
	if r.newest != nil {
		next.Previous = r.newest.Number
	}
	next.Text = next.Generation.Text()
	next.Sum = sha256.Sum256(next.Text)
	if _, err := bucket.ParseGeneration(next.Number, next.Text); err != nil { // no follower would take it
		return err
	}
	if err := g.cfg.Store.SetGeneration(r.name, saved{Text: string(next.Text)}); err != nil {
		return fmt.Errorf("save it: %w", err)
	}
	if r.newest != nil {
		r.retire()
	}
	r.newest, r.statement, g.last = next, "", next.Number
	return nil
}

// begin is when counting begins.
var begin = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// furthest is a number that no right clock reaches, so that a wrong one does not end the
// counting.
const furthest = 1 << 28

// numberLocked is the number of the next generation of any ring.
func (g *Generations) numberLocked(now time.Time) int {
	number := g.last + 1
	if minutes := now.Sub(begin) / time.Minute; minutes < furthest {
		number = max(number, int(minutes))
	}
	return number
}

// signLocked renews the statement about a ring's newest generation. The one before goes on if
// that fails.
func (g *Generations) signLocked(r *ring, now time.Time) {
	if g.cfg.Sign == nil {
		r.statement = ""
		return
	}
	statement, err := g.cfg.Sign(r.statement, r.newest.Number, r.newest.Sum, now)
	g.warn("signing a generation failed; followers with a trust file take nothing newer", r.name, err)
	if err != nil || statement == r.statement {
		return
	}
	r.statement = statement
	err = g.cfg.Store.SetGeneration(r.name, saved{Text: string(r.newest.Text), Statement: statement})
	g.warn("saving the statement about a generation failed; a restart makes another one", r.name, err)
}

// warn warns of a state once, until it is over.
func (g *Generations) warn(message, what string, err error) {
	key := message + "\x00" + what
	if err != nil && !g.warned[key] {
		g.cfg.Warn(message+": "+what, err)
	}
	if g.warned[key] = err != nil; err == nil {
		delete(g.warned, key)
	}
}
