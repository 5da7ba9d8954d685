package store

import (
	"encoding/json"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// Upload is what is known of publishing to object storage.
type Upload struct {
	Place        string    `json:"place"`      // what is known of another place does not count
	Generation   int       `json:"generation"` // there, when this host looked last; 0 for none
	Shown        int       `json:"shown"`      // the generation of this host that it shows
	PublishedAt  time.Time `json:"published_at,omitzero"`
	Standby      bool      `json:"standby,omitempty"` // another publisher held the lease
	FailingSince time.Time `json:"failing_since,omitzero"`
	Error        string    `json:"error,omitempty"`

	Verified UploadCheck `json:"verified,omitzero"`
}

// UploadCheck is what the last verification of the bucket found.
type UploadCheck struct {
	At       time.Time `json:"at"`
	Objects  int       `json:"objects"`
	Bytes    int64     `json:"bytes"`
	Found    int       `json:"found"`           // missing or damaged
	Repaired int       `json:"repaired"`        // of these
	First    string    `json:"first,omitempty"` // of those that are left, and what is wrong
}

var keyUpload = []byte("publication")

// Upload returns what is known of publishing; the zero value before the first attempt.
func (s *Store) Upload() (p Upload, err error) {
	err = s.read(func(tx *bbolt.Tx) error {
		data := tx.Bucket(bucketMeta).Get(keyUpload)
		if data == nil {
			return nil
		}
		if err := json.Unmarshal(data, &p); err != nil {
			return fmt.Errorf("bucket %s, key %s: %w", bucketMeta, keyUpload, err)
		}
		return nil
	})
	return p, err
}

// SetUpload records what is known of publishing.
func (s *Store) SetUpload(p Upload) error {
	return s.update(func(tx *bbolt.Tx) error { return putJSON(tx.Bucket(bucketMeta), keyUpload, p) })
}
