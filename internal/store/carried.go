package store

import (
	"encoding/json"

	"go.etcd.io/bbolt"

	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
)

var keyCarried = []byte("carried")

// Carried is what the last bundle said that was imported.
type Carried struct {
	Publisher  string          `json:"publisher"` // that made it
	Generation int             `json:"generation"`
	Offered    json.RawMessage `json:"offered"` // its manifests, and those of bundles before that it left out

	// Orders are what its publisher wants destroyed, by manifest.
	Orders map[string]destruction.Order `json:"orders,omitempty"`

	IDs []manifest.ObjectID `json:"ids"` // of the bundles of the generation that were taken
}

// Carried returns what the last bundle said; the zero value before the first.
func (s *Store) Carried() (c Carried, err error) {
	err = s.readMeta(keyCarried, &c)
	return c, err
}

// SetCarried records what a bundle said.
func (s *Store) SetCarried(c Carried) error {
	return s.update(func(tx *bbolt.Tx) error { return putJSON(tx.Bucket(bucketMeta), keyCarried, c) })
}
