package store

import (
	"time"

	"go.etcd.io/bbolt"

	"syncd/internal/manifest"
)

// Scrub is how far the newest scrub has come.
type Scrub struct {
	StartedAt  time.Time `json:"started_at,omitzero"`
	FinishedAt time.Time `json:"finished_at,omitzero"` // zero while it is under way

	CompletedAt time.Time `json:"completed_at,omitzero"` // when the newest one that ended did

	Objects      int   `json:"objects"` // that it has read
	Bytes        int64 `json:"bytes"`
	TotalObjects int   `json:"total_objects"` // that were on disk when it started
	TotalBytes   int64 `json:"total_bytes"`

	Last manifest.ObjectID `json:"last,omitzero"` // the objects up to this one are done; zero for none
	Part *ScrubPart        `json:"part,omitempty"`

	Damaged  int           `json:"damaged"`
	Repaired int           `json:"repaired"`
	Left     []ScrubDamage `json:"left,omitempty"` // what could not be repaired yet, also of the scrub before
}

// ScrubPart is an object that was read in part.
type ScrubPart struct {
	Object manifest.ObjectID `json:"object"`
	Proof  Proof             `json:"proof"` // of the file that was read
	Bytes  int64             `json:"bytes"`
	Hash   []byte            `json:"hash"` // the state of SHA-256 after them
}

// ScrubDamage is an object whose content is not what its name says.
type ScrubDamage struct {
	Object manifest.ObjectID `json:"object"`
	File   string            `json:"file"` // a file with that content
	Error  string            `json:"error"`
	At     time.Time         `json:"at"`
}

// IsRunning is true while a scrub is under way.
func (s Scrub) IsRunning() bool { return !s.StartedAt.IsZero() && s.FinishedAt.IsZero() }

var keyScrub = []byte("scrub")

// Scrub returns how far the newest scrub has come; the zero value before the first.
func (s *Store) Scrub() (scrub Scrub, err error) {
	err = s.readMeta(keyScrub, &scrub)
	return scrub, err
}

// SetScrub records how far the scrub has come.
func (s *Store) SetScrub(scrub Scrub) error {
	return s.update(func(tx *bbolt.Tx) error { return putJSON(tx.Bucket(bucketMeta), keyScrub, scrub) })
}
