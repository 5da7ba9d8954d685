package store

import (
	"encoding/json"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// Publication is what is known of publishing to object storage.
type Publication struct {
	Place        string    `json:"place"`      // what is known of another place does not count
	Generation   int       `json:"generation"` // there, when this host looked last; 0 for none
	Shown        int       `json:"shown"`      // the generation of this host that it shows
	PublishedAt  time.Time `json:"published_at,omitzero"`
	Standby      bool      `json:"standby,omitempty"` // another publisher held the lease
	FailingSince time.Time `json:"failing_since,omitzero"`
	Error        string    `json:"error,omitempty"`
}

var keyPublication = []byte("publication")

// Publication returns what is known of publishing; the zero value before the first attempt.
func (s *Store) Publication() (p Publication, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		data := tx.Bucket(bucketMeta).Get(keyPublication)
		if data == nil {
			return nil
		}
		if err := json.Unmarshal(data, &p); err != nil {
			return fmt.Errorf("bucket %s, key %s: %w", bucketMeta, keyPublication, err)
		}
		return nil
	})
	return p, err
}

// SetPublication records what is known of publishing.
func (s *Store) SetPublication(p Publication) error {
	return s.update(func(tx *bbolt.Tx) error { return putJSON(tx.Bucket(bucketMeta), keyPublication, p) })
}
