package engine

import (
	"sync"
	"time"

	"syncd/internal/config"
	"syncd/internal/disk/durable"
	"syncd/internal/downstream/catalog"
	"syncd/internal/downstream/generations"
	"syncd/internal/downstream/relay"
	"syncd/internal/downstream/rings"
	"syncd/internal/engine/offer"
	"syncd/internal/golive"
	"syncd/internal/mirror/audit"
)

// Followers are the other hosts that take data from this one: the catalog of what they may
// take, and what they reported. Without serve it is empty.
type Followers struct {
	*base
	catalog  *catalog.Catalog // nil while `serve` is off
	building sync.Once        // of the catalog's first snapshot
	fleet    *rings.Fleet     // nil without serve
	audit    *audit.Log
	signing  offer.Signing
	relay    *offer.Relay
	hooks    *Hooks

	composing   sync.Mutex       // guards what follows
	offered     *catalog.Catalog // of generations; the same as catalog with serve
	generations *generations.Generations
}

func (f *Followers) open(cfg *config.Config, served *audit.Log, disk *durable.Disk) error {
	f.audit = served
	f.relay = &offer.Relay{
		Folder: relay.Open(f.mirror.Root(), disk), Signing: &f.signing, Belief: f.store.Belief,
		Believes: func() bool { return f.Config().Source.TrustFile != "" },
		Warn: func(err error) {
			f.options.Log.Warn().Err(err).Msg("the signed texts of the upstream cannot be passed on")
		},
	}
	f.openCatalog(cfg)
	return f.openFleet(cfg)
}

func (f *Followers) configure(cfg *config.Config) {
	if f.fleet != nil {
		f.fleet.Configure(offer.RingsOf(cfg), cfg.Serve.MaxHosts)
	}
	if f.catalog != nil {
		f.catalog.SetKeep(cfg.Serve.Keep)
		f.catalog.SetKeepMax(cfg.Serve.KeepMax)
	}
}

// openCatalog makes the catalog of what other hosts may take, if `serve` is on or a bucket has rings. It is
// empty until Catalog is called, but pruning knows which revisions other hosts use.
func (f *Followers) openCatalog(cfg *config.Config) {
	if !cfg.HasFleet() {
		return
	}
	f.catalog = f.newCatalog(cfg.Serve.Keep)
	f.catalog.SetKeepMax(cfg.Serve.KeepMax)
	f.staging.Changed = f.refresh
}

func (f *Followers) newCatalog(keep time.Duration) *catalog.Catalog {
	return catalog.New(catalog.Config{
		Mirror: withheld{f.mirror, f.notes}, Records: f.mirror.Records, Objects: f.mirror.Objects, Store: f.store, Live: f.audit.Live, Left: f.audit.Left,
		IsStaged: func(name, id string) bool {
			return f.staging.Get(name).ID() == id || f.notes.Of(name, id).IsWithheld()
		},
		Warn: func(message string, err error) { f.options.Log.Warn().Err(err).Msg(message) },
	}, keep)
}

// Generations are what followers see, by their rings. All that asks shares them, because they
// are counted together. Without serve nobody asks for rings.
func (f *Followers) Generations() (all *generations.Generations, err error) {
	f.composing.Lock()
	defer f.composing.Unlock()
	if f.offered == nil {
		f.offered = f.Catalog()
	}
	if f.offered == nil {
		f.offered = f.newCatalog(0)
	}
	if f.catalog == nil {
		f.offered.Rebuild() // nothing refreshes it
	}
	if f.generations == nil {
		f.generations, err = offer.Generations(offer.Host{
			Catalog: f.offered, Mirror: withheld{f.mirror, f.notes}, Records: f.mirror.Records, Store: f.store.Rings(), Fleet: f.fleet, Orders: f.orders, Relay: f.relay, Version: f.options.Version, Log: f.options.Log,
		})
	}
	return f.generations, err
}

// refresh follows a swap, and a change of what is staged.
func (f *Followers) refresh() {
	if f.catalog != nil {
		f.catalog.Refresh()
	}
}

// Catalog returns what other hosts may take, nil while `serve` is off. The first call reads
// the records of earlier revisions.
func (f *Followers) Catalog() *catalog.Catalog {
	if f.catalog != nil {
		f.building.Do(f.catalog.Rebuild)
	}
	return f.catalog
}

// Name tells who may follow, by the name of the id with its ring. It forgets all others: their
// hosts, and the revisions that stay on disk for them.
func (f *Followers) Name(ids map[string]string) {
	f.catalog.KeepOnly(ids)
	f.fleet.Name(ids)
}

// keeper is the catalog as the tree asks it.
func (f *Followers) keeper() golive.Followers {
	if f.catalog == nil {
		return nil
	}
	return f.catalog
}
