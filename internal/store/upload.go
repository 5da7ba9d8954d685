package store

import (
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"syncd/internal/manifest"
)

// Upload is what is known of publishing to object storage.
type Upload struct {
	Place        string    `json:"place"`      // knowledge of another place does not count
	Generation   int       `json:"generation"` // there, when this host looked last; 0 for none
	Shown        int       `json:"shown"`      // the generation of this host that it shows
	PublishedAt  time.Time `json:"published_at,omitzero"`
	Standby      bool      `json:"standby,omitempty"` // another publisher held the lease
	FailingSince time.Time `json:"failing_since,omitzero"`
	Error        string    `json:"error,omitempty"`

	CollectionFailingSince time.Time `json:"collection_failing_since,omitzero"` // of deleting what nothing names
	CollectionError        string    `json:"collection_error,omitempty"`

	Epoch      int64     `json:"epoch,omitempty"`     // of the generation
	Began      int64     `json:"began,omitempty"`     // of the generation
	Publisher  string    `json:"publisher,omitempty"` // that wrote it
	WrittenAt  time.Time `json:"written_at,omitzero"`
	Superseded bool      `json:"superseded,omitempty"` // it is another publisher's, and not what is served here
	Replaced   string    `json:"replaced,omitempty"`   // the publisher whose generation this host replaced last
	Kept       string    `json:"kept,omitempty"`       // manifests that are newer there, with commas

	Verified UploadCheck `json:"verified,omitzero"`

	SignedOrigin      string    `json:"signed_origin,omitempty"` // "" without signatures
	SignedBy          string    `json:"signed_by,omitempty"`     // names of keys, with commas
	SignedUntil       time.Time `json:"signed_until,omitzero"`
	SignaturesMissing int       `json:"signatures_missing,omitempty"`
	TrustVersion      int       `json:"trust_version,omitempty"`
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

// Publisher is which publisher of a bucket this host is.
type Publisher struct {
	ID      string              `json:"id"`                // random
	Home    string              `json:"home"`              // digest of the machine and folder that it belongs to
	Written []manifest.ObjectID `json:"written,omitempty"` // digests of the newest generations that it wrote

	Rings map[string][]manifest.ObjectID `json:"-"` // Written of the rings before the last one, each kept beside it
}

var keyPublisher = []byte("publisher")

// Uploads is what a Store keeps of publishing to object storage. Safe for concurrent use.
type Uploads struct{ store *Store }

// Uploads returns what is kept of publishing to object storage.
func (s *Store) Uploads() Uploads { return Uploads{s} }

// Publisher returns the publisher that this host was; the zero value for none.
func (u Uploads) Publisher() (p Publisher, err error) {
	err = u.store.readMeta(keyPublisher, &p)
	return p, err
}

// SetPublisher records which publisher this host is.
func (u Uploads) SetPublisher(p Publisher) error {
	return u.store.update(func(tx *bbolt.Tx) error { return putJSON(tx.Bucket(bucketMeta), keyPublisher, p) })
}

// To returns what is known of publishing to a place; the zero value before the first
// attempt.
func (u Uploads) To(place string) (p Upload, err error) {
	if err = u.store.readMeta(keyOf(keyUpload, place), &p); err != nil || p.Place == place {
		return p, err
	}
	if err = u.store.readMeta(keyUpload, &p); p.Place != place { // of a version with one place
		p = Upload{}
	}
	return p, err
}

// Set records what is known of publishing to its place.
func (u Uploads) Set(p Upload) error {
	return u.store.update(func(tx *bbolt.Tx) error { return putJSON(tx.Bucket(bucketMeta), keyOf(keyUpload, p.Place), p) })
}

// keyOf is the key of what is known of a place.
func keyOf(key []byte, place string) []byte { return append(append(slices.Clip(key), '/'), place...) }

// Written returns the digests of the newest generations that this host wrote to a place.
func (u Uploads) Written(place string) (sums []manifest.ObjectID, err error) {
	err = u.store.readMeta(keyOf(keyPublisher, place), &sums)
	return sums, err
}

// SetWritten records the digests of the newest generations that this host wrote to a place.
func (u Uploads) SetWritten(place string, sums []manifest.ObjectID) error {
	return u.store.update(func(tx *bbolt.Tx) error { return putJSON(tx.Bucket(bucketMeta), keyOf(keyPublisher, place), sums) })
}
