package store

import "go.etcd.io/bbolt"

// Upstream is what a follower read last from a mirror in the form of a bucket, so that a new
// process asks for news only.
type Upstream struct {
	Source     string `json:"source"` // what was read
	ETag       string `json:"etag"`   // of Current
	Current    []byte `json:"current"`
	Generation []byte `json:"generation"` // that Current names
}

var keyUpstream = []byte("upstream")

// Upstream returns what was read last; the zero value for nothing.
func (s *Store) Upstream() (u Upstream, err error) {
	err = s.readMeta(keyUpstream, &u)
	return u, err
}

// SetUpstream records what was read.
func (s *Store) SetUpstream(u Upstream) error {
	return s.update(func(tx *bbolt.Tx) error { return putJSON(tx.Bucket(bucketMeta), keyUpstream, u) })
}
