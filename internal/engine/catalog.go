package engine

import (
	"syncd/internal/config"
	"syncd/internal/downstream/catalog"
	"syncd/internal/syncer"
)

// openCatalog makes the catalog of what other hosts may take, if `serve` is on. It is
// empty until Catalog is called, but pruning knows which revisions other hosts use.
func (e *Engine) openCatalog(cfg *config.Config) {
	if !cfg.Serve.IsOn() {
		return
	}
	e.catalog = catalog.New(catalog.Config{
		Mirror: e.mirror, Store: e.store, Live: e.audit.Live,
		IsStaged: func(name, id string) bool { return e.staging.Get(name).ID() == id },
		Warn:     func(message string, err error) { e.options.Log.Warn().Err(err).Msg(message) },
	}, cfg.Serve.Keep)
	e.staging.Changed = e.refreshCatalog
}

// refreshCatalog follows a swap, and a change of what is staged.
func (e *Engine) refreshCatalog() {
	if e.catalog != nil {
		e.catalog.Refresh()
	}
}

// Catalog returns what other hosts may take, nil while `serve` is off. The first call reads
// the records of earlier revisions.
func (e *Engine) Catalog() *catalog.Catalog {
	if e.catalog != nil {
		e.building.Do(e.catalog.Rebuild)
	}
	return e.catalog
}

// followers is the catalog for the syncer.
func (e *Engine) followers() syncer.Followers {
	if e.catalog == nil {
		return nil
	}
	return e.catalog
}
