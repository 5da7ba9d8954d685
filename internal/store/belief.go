package store

import (
	"time"

	"go.etcd.io/bbolt"

	"syncd/internal/manifest"
)

// Belief is what a follower with a trust file believed last.
type Belief struct {
	Origin string `json:"origin"`
	Root   string `json:"root"`  // fingerprint of the first version of the trust; a belief of another root does not count
	Chain  string `json:"chain"` // the versions of the trust that were found so far

	Generation int               `json:"generation"` // of the statement; 0 before the first
	Issued     time.Time         `json:"issued,omitzero"`
	Expires    time.Time         `json:"expires,omitzero"`
	Count      string            `json:"count,omitempty"`    // of the generation; "" in states of before
	Began      int64             `json:"began,omitempty"`    // of the generation
	Place      string            `json:"place,omitempty"`    // which of several sources gave it; "" for the only one
	Published  time.Time         `json:"published,omitzero"` // of the generation; zero in states of before
	Content    manifest.ObjectID `json:"content,omitzero"`   // digest of what the generation shows
	Signers    []string          `json:"signers,omitempty"`  // names of the keys that count
	Trust      int               `json:"trust"`              // version that they are of

	Rings map[string]Believed `json:"rings,omitempty"` // the newest generation of each ring that was seen, by count and ring
}

// Believed is a generation that was believed.
type Believed struct {
	Number int               `json:"number"`
	SHA256 manifest.ObjectID `json:"sha256"`
}

var keyBelief = []byte("belief")

// Belief returns what was believed last; the zero value for nothing.
func (s *Store) Belief() (b Belief, err error) {
	err = s.readMeta(keyBelief, &b)
	return b, err
}

// SetBelief records what is believed.
func (s *Store) SetBelief(b Belief) error {
	return s.update(func(tx *bbolt.Tx) error { return putJSON(tx.Bucket(bucketMeta), keyBelief, b) })
}
