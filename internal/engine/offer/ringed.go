package offer

import (
	"maps"

	"syncd/internal/downstream/catalog"
	"syncd/internal/downstream/publisher"
	"syncd/internal/downstream/rings"
	"syncd/internal/mirror"
	"syncd/internal/mirror/record"
)

// Ringed is a mirror as a ring of a bucket sees it.
type Ringed struct {
	publisher.Mirror
	Ring     string
	Catalog  func() *catalog.Catalog // nil without rings
	Fleet    func() *rings.Fleet     // nil without rings
	Revision func(name, id string) (record.Record, error)
}

// Current is the served generation, with the newest revision that the ring sees of each
// manifest. Nothing is there in the place of a manifest of which it sees none yet.
func (r Ringed) Current() mirror.Generation {
	g, fleet, all := r.Mirror.Current(), r.Fleet(), r.Catalog()
	if fleet == nil || all == nil {
		return g
	}
	fleet.NoteAhead()
	snapshot, sees := all.Snapshot(), rings.InRing(r.Ring)
	g.Records = maps.Clone(g.Records)
	for name, served := range g.Records {
		known := snapshot.Find(name + "/" + served.ID())
		now := rings.Served{Version: rings.Version{Release: served.Release, Revision: served.Revision}, LiveAt: served.PublishedAt}
		if known != nil {
			now = known.InRings()
		}
		if fleet.Visible(sees, name, now) {
			continue
		}
		delete(g.Records, name)
		if before := r.newest(snapshot, fleet, name, now); before != nil {
			if read, err := r.Revision(name, before.ID); err == nil {
				read.Held, read.Orders = nil, record.Orders{} // nobody holds what is not served
				g.Records[name] = read
			}
		}
	}
	return g
}

// newest is the newest revision before another one that the ring sees.
func (r Ringed) newest(snapshot *catalog.Snapshot, fleet *rings.Fleet, name string, before rings.Served) (found *catalog.Revision) {
	for _, other := range snapshot.Listed(name) {
		isBefore := before.Release.Newer(other.Release) || other.Release == before.Release && other.LiveAt.Before(before.LiveAt)
		isNewest := found == nil || other.Release.Newer(found.Release) || other.Release == found.Release && other.LiveAt.After(found.LiveAt)
		if isBefore && isNewest && fleet.Visible(rings.InRing(r.Ring), name, other.InRings()) {
			found = other
		}
	}
	return found
}
