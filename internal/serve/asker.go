package serve

import (
	"net/http"

	"syncd/internal/catalog"
	"syncd/internal/fleet"
)

// ByFleet lets a fleet decide what followers see.
func ByFleet(f *fleet.Fleet) func(name, ring string, header http.Header) Asker {
	return func(name, ring string, header http.Header) Asker {
		return fleetAsker{f, f.Asker(name, ring, header)}
	}
}

type fleetAsker struct {
	fleet *fleet.Fleet
	asker fleet.Asker
}

func (a fleetAsker) Sees(r *catalog.Revision) bool {
	return a.fleet.Visible(a.asker, r.Manifest, r.Release, r.LiveAt)
}

func (a fleetAsker) Polls(entries ...string) { a.fleet.Seen(a.asker, entries...) }
