// Package store keeps what syncd must remember between syncs in one bbolt file:
// when each manifest was checked and what came of it, what a failed one still
// wants, until when the provider asked to wait, and the history. The disk is the
// truth about what is served; everything here can be lost without a download.
package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
)

// schema is the version of the layout. A file with a newer one is set aside.
const schema = 1

// maxHistory bounds the history; the oldest entries go first.
const maxHistory = 1000

var (
	bucketMeta      = []byte("meta")      // schema, jitter, created
	bucketManifests = []byte("manifests") // name -> Manifest
	bucketWanted    = []byte("pending")   // name -> []Wanted
	bucketOrigins   = []byte("origins")   // origin -> time
	bucketHistory   = []byte("history")   // sequence number -> JSON
	bucketProofs    = []byte("proofs")    // name -> Proofs; made by the first that are kept

	keySchema  = []byte("schema")
	keyJitter  = []byte("jitter")
	keyCreated = []byte("created")
)

// Store is an open state file. Its methods are safe for concurrent use; those
// that change something have made it durable when they return nil.
type Store struct {
	db    *bbolt.DB
	stuck atomic.Bool // bbolt panicked with its locks held: another transaction would wait for ever

	writing   sync.Mutex // guards what follows, and is held while a change is made
	unwritten error      // what the disk did to a change; none is made after it
}

// Close ends the use of the file.
func (s *Store) Close() error {
	if s.stuck.Load() {
		return nil // the process's end closes it
	}
	return s.db.Close()
}

// Created is when the file was made: before that nothing is remembered. The zero
// time for a file of an earlier version.
func (s *Store) Created() (at time.Time, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		if at.UnmarshalText(tx.Bucket(bucketMeta).Get(keyCreated)) != nil {
			at = time.Time{}
		}
		return nil
	})
	return at, err
}

// Jitter is this host's share of every jitter, between 0 and 1, drawn once: draw
// is called when the file has none. A share that comes with an error can be used,
// and is another one next time.
func (s *Store) Jitter(draw func() float64) (share float64, err error) {
	drawn := false
	err = s.view(func(tx *bbolt.Tx) error {
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

// CoolDowns returns until when each origin asked to wait.
func (s *Store) CoolDowns() (map[string]time.Time, error) {
	until := map[string]time.Time{}
	err := s.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketOrigins).ForEach(func(origin, v []byte) error {
			var t time.Time
			if t.UnmarshalText(v) == nil { // a lost cool-down costs one request
				until[string(origin)] = t
			}
			return nil
		})
	})
	return until, err
}

// SetCoolDown records until when an origin asked to wait.
func (s *Store) SetCoolDown(origin string, until time.Time) error {
	return s.update(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(bucketOrigins)
		if err := dropExpired(bucket); err != nil {
			return err
		}
		text, err := until.UTC().MarshalText()
		if err != nil {
			return err
		}
		return bucket.Put([]byte(origin), text)
	})
}

// dropExpired keeps the bucket as small as what is still waited for.
func dropExpired(bucket *bbolt.Bucket) error {
	var expired [][]byte
	err := bucket.ForEach(func(origin, v []byte) error {
		var t time.Time
		if t.UnmarshalText(v) != nil || t.Before(time.Now()) {
			expired = append(expired, bytes.Clone(origin))
		}
		return nil
	})
	for _, origin := range expired {
		err = errors.Join(err, bucket.Delete(origin))
	}
	return err
}

func putJSON(bucket *bbolt.Bucket, key []byte, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return bucket.Put(key, data)
}
