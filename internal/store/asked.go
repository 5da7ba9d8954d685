package store

import (
	"time"

	"go.etcd.io/bbolt"
)

var bucketAsked = []byte("asked") // revision -> when another host asked about it; files of earlier versions have none

// Asked returns when other hosts last asked about revisions, by key.
func (s *Store) Asked() (map[string]time.Time, error) {
	asked := map[string]time.Time{}
	err := s.read(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(bucketAsked)
		if bucket == nil {
			return nil
		}
		return bucket.ForEach(func(key, v []byte) error {
			var at time.Time
			if at.UnmarshalText(v) == nil {
				asked[string(key)] = at
			}
			return nil
		})
	})
	return asked, err
}

// SetAsked notes that another host asked about a revision. It drops what is older than
// horizon.
func (s *Store) SetAsked(key string, at, horizon time.Time) error {
	return s.update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(bucketAsked)
		if err != nil {
			return err
		}
		if err := dropOlder(bucket, horizon); err != nil {
			return err
		}
		text, err := at.UTC().MarshalText()
		if err != nil {
			return err
		}
		return bucket.Put([]byte(key), text)
	})
}
