package store

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"syncd/internal/changes"
	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
	"syncd/internal/manifest/forecast"
)

// Manifest is the state of one manifest.
type Manifest struct {
	CheckedAt    time.Time `json:"checked_at,omitzero"`     // last check that finished, whether anything changed or not
	FullAt       time.Time `json:"full_at,omitzero"`        // last full check, which also asks for the list of files and their hashes; zero if one is due after a failure
	SyncedAt     time.Time `json:"synced_at,omitzero"`      // last time it was up to date after a sync
	Config       string    `json:"config,omitempty"`        // fingerprint of its configuration at the last check that learned the release
	ETag         string    `json:"etag,omitempty"`          // of ManifestReleases
	LastModified string    `json:"last_modified,omitempty"` // of ManifestReleases
	Served       string    `json:"served,omitempty"`        // revision served after the last full check; if the disk serves another, a full check is due
	Newest       string    `json:"newest,omitempty"`        // newest release that ManifestReleases listed
	Links        string    `json:"links,omitempty"`         // fingerprint of the list of files at FullAt
	Matches      string    `json:"matches,omitempty"`       // fingerprint of a list in another hash algorithm than the record, and ID of the revision that it turned out to be
	Failure      *Failure  `json:"failure,omitempty"`       // of the last sync; nil after a success
	Unlisted     bool      `json:"unlisted,omitempty"`      // the service answered ManifestReleases with 404
	Delisted     string    `json:"delisted,omitempty"`      // the wanted release, if the service has it no more and this host does

	Past *forecast.Past `json:"past,omitempty"` // nil if the history was not searched for it yet

	Files map[string]FileReleases `json:"files,omitempty"` // of an entry with single files, by reference as configured
	Polls int                     `json:"polls,omitempty"` // of single files: each poll asks about the next one

	Generation int       `json:"generation,omitempty"`  // of a bucket, the last one that was followed
	Epoch      int64     `json:"epoch,omitempty"`       // of that generation
	Count      string    `json:"count,omitempty"`       // of that generation
	Began      int64     `json:"began,omitempty"`       // of the bucket
	FollowedAt time.Time `json:"followed_at,omitzero"`  // when the generation was published; zero if the source is none
	EpochTaken int64     `json:"epoch_taken,omitempty"` // the last one of which something was served

	Ring        string    `json:"ring,omitempty"`         // whose generation it is, "" for that of all
	Offered     string    `json:"offered,omitempty"`      // the revision that it names
	OfferedAt   time.Time `json:"offered_at,omitzero"`    // when its publisher had that whole
	OfferedHeld bool      `json:"offered_held,omitempty"` // its publisher's operator went back to it
	KeptOut     string    `json:"kept_out,omitempty"`     // the served revision, if the ring sees it no more: it was stopped, say

	Compared []changes.Compared `json:"compared,omitempty"` // how the last revisions differ from those that they replace

	Destruction *destruction.Told `json:"destruction,omitempty"` // what the upstream wants destroyed; nil for nothing
}

// Told is what the upstream at one of the sources wants destroyed, nil for nothing. A bundle that was
// imported beside it counts until the source answers: it may be one that no wire reaches.
func (m Manifest) Told(sources ...string) *destruction.Told {
	told := m.Destruction
	isImported := told != nil && told.Source == destruction.Disk && strings.HasPrefix(m.Config, destruction.Disk+" ")
	if told == nil || !slices.Contains(sources, told.Source) && !isImported { // this host follows another one now
		return nil
	}
	return told
}

// FileReleases is the newest release of a single file.
type FileReleases struct {
	Newest       string `json:"newest"`                  // listed
	Release      string `json:"release"`                 // to mirror; an older one if the newest does not have the variant
	ETag         string `json:"etag,omitempty"`          // of Releases
	LastModified string `json:"last_modified,omitempty"` // of Releases
}

// Failure says why a manifest is not up to date.
type Failure struct {
	Release string    `json:"release,omitempty"` // the release that could not be mirrored; "" if it is not known
	Result  string    `json:"result"`            // failed or refused
	Reason  string    `json:"reason,omitempty"`
	Error   string    `json:"error"`
	Count   int       `json:"count"`             // failures in a row for this release
	NextTry time.Time `json:"next_try,omitzero"` // earliest scheduled attempt; a sync on demand does not wait for it

	Local      bool      `json:"local,omitempty"`     // of this host's disk or gate, so that no other source helps
	Unanswered time.Time `json:"unanswered,omitzero"` // since when the provider does not answer; zero if it did
}

// Planned is a content that an unfinished sync of a manifest still wants.
type Planned struct {
	Expected manifest.Digest   `json:"digest"`
	Object   manifest.ObjectID `json:"sha256,omitzero"` // zero until it is fetched and proven
	Size     int64             `json:"size,omitempty"`
	Release  manifest.Release  `json:"release,omitempty"` // that the sync wants; "" if an earlier syncd wrote this
	Adopted  bool              `json:"adopted,omitempty"` // it came from a folder, and not from the source
}

// Changes are committed together. Nil maps change nothing. Nothing in Planned, or empty
// Proofs, removes the manifest's entry.
type Changes struct {
	Forgotten []string // manifests of which nothing is kept, before the other changes
	Manifests map[string]Manifest
	Planned   map[string]iter.Seq[Planned] // gone through twice
	Proofs    map[string]*Proofs
	History   any // one entry to append, encoded as JSON; nil for none

	Outbox func(*Outbox) error // adds what hooks must be told; runs last; nil for nothing
}

// Commit makes all changes in one transaction, or none of them.
func (s *Store) Commit(c Changes) error {
	planned := make(map[string][]byte, len(c.Planned))
	for name, list := range c.Planned {
		planned[name] = encodePlanned(list)
	}
	return s.update(func(tx *bbolt.Tx) error {
		for _, name := range c.Forgotten {
			if err := forget(tx, name); err != nil {
				return err
			}
		}
		for name, m := range c.Manifests {
			if err := putJSON(tx.Bucket(bucketManifests), []byte(name), m); err != nil {
				return err
			}
		}
		for name, text := range planned {
			if err := putPlanned(tx.Bucket(bucketPlanned), name, text); err != nil {
				return err
			}
		}
		for name, proofs := range c.Proofs {
			if err := putProofs(tx, name, proofs); err != nil {
				return err
			}
		}
		if c.History != nil {
			if err := appendHistory(tx.Bucket(bucketHistory), c.History); err != nil {
				return err
			}
		}
		if c.Outbox == nil {
			return nil
		}
		return c.Outbox(&Outbox{tx})
	})
}

func forget(tx *bbolt.Tx, name string) error {
	if err := tx.Bucket(bucketManifests).Delete([]byte(name)); err != nil {
		return err
	}
	if err := putPlanned(tx.Bucket(bucketPlanned), name, nil); err != nil {
		return err
	}
	return putProofs(tx, name, &Proofs{})
}

func putPlanned(bucket *bbolt.Bucket, name string, text []byte) error {
	if len(text) == 0 {
		return bucket.Delete([]byte(name))
	}
	return bucket.Put([]byte(name), text)
}

// encodePlanned returns the text of json.Marshal for a list, nothing for an empty one. The
// list and a buffer that grows would take as much memory again.
func encodePlanned(list iter.Seq[Planned]) (text []byte) {
	if list == nil {
		return nil
	}
	size := 0
	for w := range list {
		text = w.appendTo(text[:0])
		size += len(text) + 1
	}
	if size == 0 {
		return nil
	}
	text = append(make([]byte, 0, size+1), '[')
	for w := range list {
		text = append(w.appendTo(text), ',')
	}
	text[len(text)-1] = ']'
	return text
}

func (w *Planned) appendTo(text []byte) []byte {
	text = append(w.Expected.AppendTo(append(text, `{"digest":"`...)), '"')
	if !w.Object.IsZero() {
		text = append(hex.AppendEncode(append(text, `,"sha256":"`...), w.Object[:]), '"')
	}
	if w.Size != 0 {
		text = strconv.AppendInt(append(text, `,"size":`...), w.Size, 10)
	}
	if w.Release != "" {
		release, _ := json.Marshal(w.Release) // never fails for a string
		text = append(append(text, `,"release":`...), release...)
	}
	if w.Adopted {
		text = append(text, `,"adopted":true`...)
	}
	return append(text, '}')
}

func appendHistory(bucket *bbolt.Bucket, entry any) error {
	sequence, err := bucket.NextSequence()
	if err != nil {
		return err
	}
	if err := putJSON(bucket, sequenceKey(sequence), entry); err != nil {
		return err
	}
	return trimHistory(bucket)
}

// trimHistory removes the oldest entries above the limits. It keeps the newest.
func trimHistory(bucket *bbolt.Bucket) error {
	var stale [][]byte
	count, size := 0, 0
	cursor := bucket.Cursor()
	for k, v := cursor.Last(); k != nil; k, v = cursor.Prev() {
		count, size = count+1, size+len(v)
		if count > maxHistory || count > 1 && size > maxHistoryBytes {
			stale = append(stale, bytes.Clone(k)) // a change of the bucket may move k
		}
	}
	for _, key := range stale {
		if err := bucket.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

func sequenceKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func numberOf(key []byte) uint64 { return binary.BigEndian.Uint64(key) }

// Manifests returns the state of every manifest, by name.
func (s *Store) Manifests() (map[string]Manifest, error) {
	return readAll[Manifest](s, bucketManifests)
}

// Planned returns the contents that unfinished syncs want, by manifest.
func (s *Store) Planned() (map[string][]Planned, error) {
	return readAll[[]Planned](s, bucketPlanned)
}

// History returns up to limit entries, the newest first.
func (s *Store) History(limit int) ([]json.RawMessage, error) {
	var entries []json.RawMessage
	err := s.read(func(tx *bbolt.Tx) error {
		cursor := tx.Bucket(bucketHistory).Cursor()
		for k, v := cursor.Last(); k != nil && len(entries) < limit; k, v = cursor.Prev() {
			entries = append(entries, append(json.RawMessage(nil), v...))
		}
		return nil
	})
	return entries, err
}
