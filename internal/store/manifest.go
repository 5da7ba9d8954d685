package store

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"go.etcd.io/bbolt"

	"syncd/internal/manifest"
)

// Manifest is what is remembered of one manifest.
type Manifest struct {
	CheckedAt    time.Time `json:"checked_at,omitzero"`     // last check that came to an end, changed or not
	FullAt       time.Time `json:"full_at,omitzero"`        // last check that also asked the Manifest and its hashes; zero while one is owed after a failure
	SyncedAt     time.Time `json:"synced_at,omitzero"`      // last time it was found or brought up to date
	Config       string    `json:"config,omitempty"`        // fingerprint of its configuration at the last check that knew the release
	ETag         string    `json:"etag,omitempty"`          // of ManifestReleases
	LastModified string    `json:"last_modified,omitempty"` // of ManifestReleases
	Served       string    `json:"served,omitempty"`        // the revision in service after the last full check; another one on disk asks for a check
	Newest       string    `json:"newest,omitempty"`        // the newest release that ManifestReleases listed
	Links        string    `json:"links,omitempty"`         // fingerprint of the Manifest's list at FullAt
	Matches      string    `json:"matches,omitempty"`       // a fingerprint found to be the served revision, whose record was written in another algorithm
	Failure      *Failure  `json:"failure,omitempty"`       // of the last sync; nil after a success
}

// Failure is why a manifest is not up to date.
type Failure struct {
	Release string    `json:"release,omitempty"` // that could not be mirrored; "" when it was not even known
	Result  string    `json:"result"`            // failed or refused
	Reason  string    `json:"reason,omitempty"`
	Error   string    `json:"error"`
	Count   int       `json:"count"`             // in a row for this release
	NextTry time.Time `json:"next_try,omitzero"` // by the schedule; on demand at once
}

// Wanted is one content that an unfinished sync of a manifest wants.
type Wanted struct {
	Expected manifest.Digest   `json:"digest"`
	Object   manifest.ObjectID `json:"sha256,omitzero"` // once it is fetched and proven
	Size     int64             `json:"size,omitempty"`
}

// Changes are committed together. Nil maps and values change nothing; an empty
// list in Wanted, or empty Proofs, remove the manifest's entry.
type Changes struct {
	Manifests map[string]Manifest
	Wanted    map[string][]Wanted
	Proofs    map[string]*Proofs
	History   any // one entry to append, marshalled to JSON
}

// Commit makes all of the changes in one transaction, or none.
func (s *Store) Commit(c Changes) error {
	return s.update(func(tx *bbolt.Tx) error {
		for name, m := range c.Manifests {
			if err := putJSON(tx.Bucket(bucketManifests), []byte(name), m); err != nil {
				return err
			}
		}
		for name, wanted := range c.Wanted {
			if err := putWanted(tx.Bucket(bucketWanted), name, wanted); err != nil {
				return err
			}
		}
		for name, proofs := range c.Proofs {
			if err := putProofs(tx, name, proofs); err != nil {
				return err
			}
		}
		if c.History == nil {
			return nil
		}
		return appendHistory(tx.Bucket(bucketHistory), c.History)
	})
}

func putWanted(bucket *bbolt.Bucket, name string, wanted []Wanted) error {
	if len(wanted) == 0 {
		return bucket.Delete([]byte(name))
	}
	return putJSON(bucket, []byte(name), wanted)
}

func appendHistory(bucket *bbolt.Bucket, entry any) error {
	sequence, err := bucket.NextSequence()
	if err != nil {
		return err
	}
	if sequence > maxHistory {
		if err := bucket.Delete(sequenceKey(sequence - maxHistory)); err != nil {
			return err
		}
	}
	return putJSON(bucket, sequenceKey(sequence), entry)
}

func sequenceKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// Manifests returns what is remembered of every manifest, by name.
func (s *Store) Manifests() (map[string]Manifest, error) {
	return readAll[Manifest](s, bucketManifests)
}

// Wanted returns the contents that unfinished syncs want, by manifest.
func (s *Store) Wanted() (map[string][]Wanted, error) {
	return readAll[[]Wanted](s, bucketWanted)
}

func readAll[T any](s *Store, name []byte) (map[string]T, error) {
	all := map[string]T{}
	err := s.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(name).ForEach(func(k, v []byte) error {
			var value T
			if err := json.Unmarshal(v, &value); err != nil {
				return err
			}
			all[string(k)] = value
			return nil
		})
	})
	return all, err
}

// History returns the newest entries, at most limit, newest first.
func (s *Store) History(limit int) ([]json.RawMessage, error) {
	var entries []json.RawMessage
	err := s.view(func(tx *bbolt.Tx) error {
		cursor := tx.Bucket(bucketHistory).Cursor()
		for k, v := cursor.Last(); k != nil && len(entries) < limit; k, v = cursor.Prev() {
			entries = append(entries, append(json.RawMessage(nil), v...))
		}
		return nil
	})
	return entries, err
}
