package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
)

// schema is the version of the layout. Open sets a file with a newer one aside.
const schema = 1

// Limits of the history. An entry can hold an error text of the provider for each
// manifest, and all entries are read at once to show them.
const (
	maxHistory      = 1000    // entries
	maxHistoryBytes = 4 << 20 // of all entries, encoded
)

var (
	bucketMeta      = []byte("meta")      // schema, jitter, created, dated
	bucketManifests = []byte("manifests") // name -> Manifest
	bucketPlanned   = []byte("pending")   // name -> []Planned
	bucketOrigins   = []byte("origins")   // origin -> end of its cool-down
	bucketHistory   = []byte("history")   // sequence number -> JSON
	bucketProofs    = []byte("proofs")    // name -> Proofs; files of earlier versions have none
	bucketNotified  = []byte("told")      // name -> Notified; files of earlier versions have none
	bucketOutbox    = []byte("outbox")    // hook, zero byte, number -> Delivery that waits; files of earlier versions have none
	bucketGivenUp   = []byte("given_up")  // as bucketOutbox, of deliveries that were given up
	bucketFleet     = []byte("fleet")     // see package fleet; files of earlier versions have none

	keySchema  = []byte("schema")
	keyJitter  = []byte("jitter")
	keyCreated = []byte("created")
	keyDated   = []byte("dated")
)

// Store is an open state file. Its methods are safe for concurrent use. A change is
// durable when its method returns nil.
type Store struct {
	db    *bbolt.DB
	stuck atomic.Bool // bbolt panicked while it held its locks: another transaction would block forever

	writing  sync.Mutex // held while a change is made; guards the field below
	writeErr error      // of the first change that the disk refused; no change is made after it
}

// Close closes the file.
func (s *Store) Close() error {
	if s.stuck.Load() {
		return nil // Close would block too; the kernel closes the file when the process ends
	}
	return s.db.Close()
}

// Created returns when the file was created: it has no facts from before. A file of
// an earlier version has the zero time.
func (s *Store) Created() (at time.Time, err error) {
	err = s.read(func(tx *bbolt.Tx) error {
		if at.UnmarshalText(tx.Bucket(bucketMeta).Get(keyCreated)) != nil {
			at = time.Time{}
		}
		return nil
	})
	return at, err
}

// Jitter returns this host's share of every jitter, from 0 to below 1. If the file has
// none, Jitter calls draw and keeps the result. The share can be used even if there
// is an error: then it was not kept, and the next start draws another.
func (s *Store) Jitter(draw func() float64) (share float64, err error) {
	drawn := false
	err = s.read(func(tx *bbolt.Tx) error {
		drawn = json.Unmarshal(tx.Bucket(bucketMeta).Get(keyJitter), &share) == nil && share >= 0 && share < 1
		return nil
	})
	if drawn {
		return share, nil
	}
	share = draw()
	return share, errors.Join(err, s.update(func(tx *bbolt.Tx) error {
		return putJSON(tx.Bucket(bucketMeta), keyJitter, share)
	}))
}

// Dated is what is known of the time beside this machine's clock, see expiry.Present.
type Dated struct {
	Header time.Time `json:"header"`  // a Date header of the provider or the upstream
	SeenAt time.Time `json:"seen_at"` // by this machine's clock

	Issued   time.Time `json:"issued,omitzero"` // of the newest bundle
	Steady   time.Time `json:"steady,omitzero"`
	LookedAt time.Time `json:"looked_at,omitzero"`
}

// Dated returns what was saved last, the zero value for nothing.
func (s *Store) Dated() (d Dated, err error) {
	err = s.read(func(tx *bbolt.Tx) error {
		if json.Unmarshal(tx.Bucket(bucketMeta).Get(keyDated), &d) != nil {
			d = Dated{} // it was never saved, or is damaged
		}
		return nil
	})
	return d, err
}

// SetDated saves what is known of the time.
func (s *Store) SetDated(d Dated) error {
	return s.update(func(tx *bbolt.Tx) error { return putJSON(tx.Bucket(bucketMeta), keyDated, d) })
}

// CoolDowns returns the end of each origin's cool-down.
func (s *Store) CoolDowns() (map[string]time.Time, error) { return timesOf(s, bucketOrigins) }

// SetCoolDown records the end of an origin's cool-down. It removes those that have ended.
func (s *Store) SetCoolDown(origin string, until time.Time) error {
	return setTime(s, bucketOrigins, origin, until, time.Now())
}

// timesOf reads a bucket of times. It passes over damaged ones: losing one costs a request.
func timesOf(s *Store, name []byte) (map[string]time.Time, error) {
	all := map[string]time.Time{}
	err := s.read(func(tx *bbolt.Tx) error {
		return forEach(tx, name, func(key, v []byte) error {
			var at time.Time
			if at.UnmarshalText(v) == nil {
				all[string(key)] = at
			}
			return nil
		})
	})
	return all, err
}

// setTime writes into a bucket of times. It removes those before horizon.
func setTime(s *Store, name []byte, key string, at, horizon time.Time) error {
	return s.update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(name)
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

// dropOlder removes the times before horizon from a bucket that holds nothing else.
func dropOlder(bucket *bbolt.Bucket, horizon time.Time) error {
	var old [][]byte
	err := bucket.ForEach(func(key, v []byte) error {
		var t time.Time
		if t.UnmarshalText(v) != nil || t.Before(horizon) {
			old = append(old, bytes.Clone(key))
		}
		return nil
	})
	for _, key := range old {
		err = errors.Join(err, bucket.Delete(key))
	}
	return err
}

// forEach calls f for each entry of a bucket. Files of earlier versions lack some buckets.
func forEach(tx *bbolt.Tx, name []byte, f func(key, v []byte) error) error {
	bucket := tx.Bucket(name)
	if bucket == nil {
		return nil
	}
	return bucket.ForEach(f)
}

// allIn decodes a bucket of JSON.
func allIn[T any](tx *bbolt.Tx, name []byte) (map[string]T, error) {
	all := map[string]T{}
	return all, forEach(tx, name, func(key, v []byte) error {
		var value T
		if err := json.Unmarshal(v, &value); err != nil {
			return fmt.Errorf("bucket %s, key %q: %w", name, key, err)
		}
		all[string(key)] = value
		return nil
	})
}

func readAll[T any](s *Store, name []byte) (all map[string]T, err error) {
	err = s.read(func(tx *bbolt.Tx) error {
		all, err = allIn[T](tx, name)
		return err
	})
	return all, err
}

func putJSON(bucket *bbolt.Bucket, key []byte, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return bucket.Put(key, data)
}
