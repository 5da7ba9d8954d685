package offer

import (
	"os"

	"github.com/rs/zerolog"

	"syncd/internal/downstream/catalog"
	"syncd/internal/downstream/generations"
	"syncd/internal/downstream/rings"
	"syncd/internal/engine/orders"
)

// Host is what Generations needs of an engine.
type Host struct {
	Catalog *catalog.Catalog
	Mirror  catalog.Mirror
	Records catalog.Records
	Store   generations.Store
	Fleet   *rings.Fleet // nil without followers
	Orders  *orders.Orders
	Relay   *Relay
	Version string
	Log     zerolog.Logger
}

// Generations are what followers of h see, by their rings.
func Generations(h Host) (*generations.Generations, error) {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	return generations.New(generations.Config{
		Catalog: h.Catalog, Mirror: h.Mirror, Records: h.Records, Store: h.Store, Order: h.Orders.Of,
		Publisher: name, Version: h.Version, Sign: h.Relay.Signing.Sign, Trust: h.Relay.Trust, Relay: h.Relay,
		Sees: h.sees, Decisions: h.decisions,
		SeesWithout: func() catalog.Sees {
			if h.Fleet == nil || !h.Fleet.Withholds() {
				return nil
			}
			return h.sees("")
		},
		Warn: func(message string, err error) { h.Log.Warn().Err(err).Msg(message) },
	})
}

func (h Host) decisions() int {
	if h.Fleet == nil {
		return 0
	}
	return h.Fleet.Decisions()
}

// sees is what followers of a ring see, nil for everything.
func (h Host) sees(ring string) catalog.Sees {
	if h.Fleet == nil {
		return nil
	}
	return func(r *catalog.Revision) bool { return h.Fleet.Visible(rings.InRing(ring), r.Manifest, r.InRings()) }
}
