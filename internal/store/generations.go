package store

import (
	"encoding/json"
	"fmt"

	"go.etcd.io/bbolt"
)

// bucketGenerations has the newest generation of each ring; files of earlier versions have none.
var bucketGenerations = []byte("generations")

// Generations passes the saved generation of each ring of followers to each, which must not
// keep value.
func (s *Store) Generations(each func(ring string, value json.RawMessage) error) error {
	return s.read(func(tx *bbolt.Tx) error {
		return forEach(tx, bucketGenerations, func(k, v []byte) error {
			if !json.Valid(v) {
				return fmt.Errorf("bucket %s, key %q: not JSON", bucketGenerations, k)
			}
			return each(string(k[1:]), v)
		})
	})
}

// SetGeneration saves the generation of a ring, "" for followers without rings.
func (s *Store) SetGeneration(ring string, value any) error {
	return s.update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(bucketGenerations)
		if err != nil {
			return err
		}
		return putJSON(bucket, []byte("/"+ring), value) // bbolt has no empty keys
	})
}
