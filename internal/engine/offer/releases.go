package offer

import (
	"syncd/internal/config"
	"syncd/internal/downstream/catalog"
	"syncd/internal/downstream/rings"
	"syncd/internal/engine/orders"
	"syncd/internal/manifest/destruction"
	"syncd/internal/mirror"
)

// RingsOf are the rings of a configuration.
func RingsOf(cfg *config.Config) (all []rings.Ring) {
	for _, r := range cfg.Serve.Rings {
		all = append(all, rings.Ring(r))
	}
	return all
}

// Releases is the catalog as a fleet needs it.
type Releases struct {
	Catalog *catalog.Catalog
	Orders  *orders.Orders
}

// Manifests returns the names of all entries.
func (p Releases) Manifests() []string { return p.Catalog.Snapshot().Names() }

// Served returns the revisions of an entry that lists may show.
func (p Releases) Served(name string) (string, []rings.Served) {
	var revisions []rings.Served
	for _, r := range p.Catalog.Snapshot().Listed(name) {
		name, revisions = r.Manifest, append(revisions, r.InRings())
	}
	return name, revisions
}

// Destroyed returns the revisions that were destroyed here, by manifest.
func (p Releases) Destroyed() map[string][]destruction.Gone { return p.Orders.Gone() }

// Now is Releases of what `current` shows, when no engine is running.
type Now struct{ Mirror *mirror.Mirror }

// Manifests returns the names of all that is served.
func (c Now) Manifests() []string { return c.Mirror.Current().Names() }

// Served returns the served revision of an entry.
func (c Now) Served(name string) (string, []rings.Served) {
	record, served := c.Mirror.Current().Records[name]
	if !served {
		return name, nil
	}
	return name, []rings.Served{{Version: rings.Version{Release: record.Release, Revision: record.Revision}, LiveAt: record.PublishedAt}}
}

// Destroyed returns the revisions that were destroyed here, by manifest.
func (c Now) Destroyed() map[string][]destruction.Gone { return orders.Gone(c.Mirror) }
