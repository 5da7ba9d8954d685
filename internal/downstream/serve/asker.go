package serve

import (
	"net/http"

	"syncd/internal/downstream/catalog"
	"syncd/internal/downstream/rings"
	"syncd/internal/manifest/destruction"
)

// ByFleet lets a fleet decide what followers see.
func ByFleet(f *rings.Fleet) func(name, ring string, header http.Header) Asker {
	return func(name, ring string, header http.Header) Asker {
		return fleetAsker{f, f.Asker(name, ring, header)}
	}
}

type fleetAsker struct {
	fleet *rings.Fleet
	asker rings.Asker
}

func (a fleetAsker) Sees(r *catalog.Revision) bool {
	return a.fleet.Visible(a.asker, r.Manifest, r.InRings())
}

func (a fleetAsker) Holds(g destruction.Gone) bool { return a.asker.Holds(g) }

func (a fleetAsker) Polls(entries ...string) { a.fleet.Seen(a.asker, entries...) }

func (a fleetAsker) Told() []string { return a.asker.Told() }

func (a fleetAsker) Ring() string { return a.asker.Ring() }
