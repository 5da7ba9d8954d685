package store

import (
	"time"

	"go.etcd.io/bbolt"
)

// Sources is what is known of several sources.
type Sources struct {
	Of      map[string]string        `json:"of,omitempty"`      // the name of the one that each manifest came from last
	Used    map[string]time.Time     `json:"used,omitempty"`    // since when manifests come from a source, by its name
	Failing map[string]SourceFailure `json:"failing,omitempty"` // by name
}

// SourceFailure is why a source cannot be used.
type SourceFailure struct {
	Since   time.Time `json:"since"`
	NextTry time.Time `json:"next_try"`
	Count   int       `json:"count"`
	Reason  string    `json:"reason"`
	Error   string    `json:"error"`
}

var keySources = []byte("sources")

// Sources returns what is known of several sources; the zero value for nothing.
func (s *Store) Sources() (known Sources, err error) {
	err = s.readMeta(keySources, &known)
	return known, err
}

// SetSources records what is known of several sources.
func (s *Store) SetSources(known Sources) error {
	return s.update(func(tx *bbolt.Tx) error { return putJSON(tx.Bucket(bucketMeta), keySources, known) })
}
