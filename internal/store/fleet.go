package store

import (
	"encoding/json"
	"fmt"

	"go.etcd.io/bbolt"
)

// Fleet passes each saved entry about the hosts that follow this one to each, which
// must not keep value. A file of an earlier version has none.
func (s *Store) Fleet(each func(key string, value json.RawMessage) error) error {
	return s.read(func(tx *bbolt.Tx) error {
		return forEach(tx, bucketFleet, func(k, v []byte) error {
			if !json.Valid(v) {
				return fmt.Errorf("bucket %s, key %q: not JSON", bucketFleet, k)
			}
			return each(string(k), v)
		})
	})
}

// SetFleet saves entries about the hosts that follow this one, and removes those that
// are nil, all in one transaction.
func (s *Store) SetFleet(entries map[string]any) error {
	return s.update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(bucketFleet)
		if err != nil {
			return err
		}
		for key, entry := range entries {
			if err := setEntry(bucket, []byte(key), entry); err != nil {
				return err
			}
		}
		return nil
	})
}

func setEntry(bucket *bbolt.Bucket, key []byte, entry any) error {
	if entry == nil {
		return bucket.Delete(key)
	}
	return putJSON(bucket, key, entry)
}
