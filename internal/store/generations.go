package store

import (
	"encoding/json"
	"fmt"

	"go.etcd.io/bbolt"
)

// bucketGenerations has the newest generation of each ring; files of earlier versions have none.
var bucketGenerations = []byte("generations")

// Rings is what a Store keeps for rings of followers. Safe for concurrent use.
type Rings struct{ store *Store }

// Rings returns what is kept for rings of followers.
func (s *Store) Rings() Rings { return Rings{s} }

// Generations passes the saved generation of each ring of followers to each, which must not
// keep value.
func (r Rings) Generations(each func(ring string, value json.RawMessage) error) error {
	return r.store.read(func(tx *bbolt.Tx) error {
		return forEach(tx, bucketGenerations, func(k, v []byte) error {
			if !json.Valid(v) {
				return fmt.Errorf("bucket %s, key %q: not JSON", bucketGenerations, k)
			}
			return each(string(k[1:]), v)
		})
	})
}

// SetGeneration saves the generation of a ring, "" for followers without rings.
func (r Rings) SetGeneration(ring string, value any) error {
	return r.store.update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(bucketGenerations)
		if err != nil {
			return err
		}
		return putJSON(bucket, []byte("/"+ring), value) // bbolt has no empty keys
	})
}
