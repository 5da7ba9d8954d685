package inventory

import (
	"sync"

	"github.com/rs/zerolog"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/store"
	"syncd/internal/verify"
)

// Config is what New needs; every field is required.
type Config struct {
	Mirror    *mirror.Mirror
	Store     Store
	Algorithm manifest.Algorithm // of the expected digests
	Log       zerolog.Logger
	Damaged   func(manifest string) // counts a damaged object that the manifest would reuse
}

// Store is the part of store.Store that the inventory reads.
type Store interface {
	Planned() (map[string][]store.Planned, error)
	Proofs() (map[string]*store.Proofs, error)
}

// Inventory lives as long as its Syncer. Safe for concurrent use.
type Inventory struct {
	cfg Config

	mu      sync.Mutex                    // guards digests; never held while a file is read
	digests map[digestKey]manifest.Digest // of objects that had to be read; zero for a damaged one
}

// New returns an Inventory of the objects of a mirror.
func New(cfg Config) *Inventory {
	return &Inventory{cfg: cfg, digests: map[digestKey]manifest.Digest{}}
}

// Add makes one proven file an object at once. A sync uses Session.Add.
func (v *Inventory) Add(file verify.Proven) error { return v.cfg.Mirror.Objects.Adopt(file) }
