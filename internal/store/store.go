// Package store keeps what syncd must remember between syncs in one bbolt file:
// when each manifest was checked and what came of it, what a failed one still
// wants, until when the provider asked to wait, and the history. The disk is the
// truth about what is served; everything here can be lost without a download.
package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// schema is the version of the layout. A file with a newer one is set aside.
const schema = 1

// maxHistory bounds the history; the oldest entries go first.
const maxHistory = 1000

var (
	bucketMeta      = []byte("meta")      // schema, jitter
	bucketManifests = []byte("manifests") // name -> Manifest
	bucketPending   = []byte("pending")   // name -> []Pending
	bucketOrigins   = []byte("origins")   // origin -> time
	bucketHistory   = []byte("history")   // sequence number -> JSON

	keySchema = []byte("schema")
	keyJitter = []byte("jitter")
)

// Store is an open state file. Its methods are safe for concurrent use; those
// that change something have made it durable when they return nil.
type Store struct{ db *bbolt.DB }

// DamagedError says that a state file cannot be used as it is.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string { return fmt.Sprintf("%s is damaged: %v", e.Path, e.Err) }
func (e *DamagedError) Unwrap() error { return e.Err }

// Open opens or creates the state file at path. A file that is damaged or was
// written by a newer version is set aside, under the name in the returned note,
// and an empty one takes its place. timeout bounds the wait for another process
// that has it open.
func Open(path string, timeout time.Duration) (s *Store, note string, err error) {
	s, err = open(path, timeout, false)
	var damaged *DamagedError
	if !errors.As(err, &damaged) {
		return s, "", err
	}
	aside := fmt.Sprintf("%s.damaged-%s", path, time.Now().UTC().Format("20060102T150405.000000000"))
	if err := os.Rename(path, aside); err != nil {
		return nil, "", err
	}
	s, err = open(path, timeout, false)
	return s, fmt.Sprintf("%v; set aside as %s and rebuilt from disk", damaged, aside), err
}

// OpenReadOnly opens the state for reading beside nobody or another reader. A
// file that is missing is an fs.ErrNotExist, one that cannot be used a *DamagedError.
func OpenReadOnly(path string, timeout time.Duration) (*Store, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 { // bbolt would fill it
		return nil, &DamagedError{Path: path, Err: errors.New("it is empty")}
	}
	return open(path, timeout, true)
}

// open contains what bbolt does with a broken file: it panics, and reading a
// truncated file's mapping is a fault that would end the process.
func open(path string, timeout time.Duration, readOnly bool) (s *Store, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, &DamagedError{Path: path, Err: fmt.Errorf("%v", p)}
		}
	}()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: timeout, ReadOnly: readOnly, PreLoadFreelist: true})
	if err != nil {
		return nil, openError(path, err)
	}
	s = &Store{db: db}
	if err := s.prepare(); err != nil {
		db.Close()
		return nil, openError(path, err)
	}
	return s, nil
}

// openError tells damage from faults of the machine, which say nothing about the
// file: a good one must not be set aside because the disk is full.
func openError(path string, err error) error {
	var fault syscall.Errno
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("%s is locked: is another syncd running?", path)
	case errors.As(err, &fault):
		return fmt.Errorf("%s: %w", path, err)
	}
	return &DamagedError{Path: path, Err: err}
}

// prepare fills a new file and checks any other. It writes to no other: a change
// made on top of damage would spread it.
func (s *Store) prepare() error {
	isNew := false
	err := s.db.View(func(tx *bbolt.Tx) error {
		first, _ := tx.Cursor().First()
		isNew = first == nil
		return nil
	})
	if err == nil && isNew && !s.db.IsReadOnly() {
		err = s.create()
	}
	if err != nil {
		return err
	}
	return s.check()
}

func (s *Store) create() error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		for _, name := range buckets() {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketMeta).Put(keySchema, binary.BigEndian.AppendUint32(nil, schema))
	})
}

func buckets() [][]byte {
	return [][]byte{bucketMeta, bucketManifests, bucketPending, bucketOrigins, bucketHistory}
}

// check reads every page in use, in this goroutine and as a sync will read them,
// so that damage shows now and not in the middle of one.
func (s *Store) check() error {
	err := s.db.View(func(tx *bbolt.Tx) error {
		for _, name := range buckets() {
			if tx.Bucket(name) == nil {
				return fmt.Errorf("bucket %s is missing", name)
			}
		}
		version := tx.Bucket(bucketMeta).Get(keySchema)
		if len(version) != 4 {
			return errors.New("schema version is missing")
		}
		if v := binary.BigEndian.Uint32(version); v != schema {
			return fmt.Errorf("it has schema version %d, this syncd knows %d", v, schema)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := s.Manifests(); err != nil {
		return fmt.Errorf("bucket manifests: %w", err)
	}
	if _, err := s.Pending(); err != nil {
		return fmt.Errorf("bucket pending: %w", err)
	}
	if _, err := s.CoolDowns(); err != nil {
		return fmt.Errorf("bucket origins: %w", err)
	}
	entries, err := s.History(2 * maxHistory)
	if err != nil || slices.ContainsFunc(entries, func(e json.RawMessage) bool { return !json.Valid(e) }) {
		return errors.New("bucket history: an entry is not JSON")
	}
	return s.db.View(checkPages)
}

// checkPages proves the tree and the list of free pages. bbolt does that in a
// goroutine of its own, which ends the process if it meets a page that is not
// in the file, and never ends if one claims to be endless: both are ruled out before.
func checkPages(tx *bbolt.Tx) error {
	pages := int(tx.Size()) / tx.DB().Info().PageSize
	for id := 0; ; id++ {
		page, err := tx.Page(id)
		if err != nil {
			return err
		}
		if page == nil {
			break
		}
		if page.Type == "free" {
			continue
		}
		if page.OverflowCount >= pages-id {
			return fmt.Errorf("page %d has %d more, the file only %d", id, page.OverflowCount, pages)
		}
		id += page.OverflowCount
	}
	var first error
	for err := range tx.Check() {
		first = cmp.Or(first, err)
	}
	return first
}

// Close ends the use of the file.
func (s *Store) Close() error { return s.db.Close() }

// Jitter is this host's share of every jitter, between 0 and 1, drawn once: draw
// is called when the file has none.
func (s *Store) Jitter(draw func() float64) (share float64, err error) {
	err = s.db.Update(func(tx *bbolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		if json.Unmarshal(meta.Get(keyJitter), &share) == nil && share >= 0 && share < 1 {
			return nil
		}
		share = draw()
		return putJSON(meta, keyJitter, share)
	})
	return share, err
}

// CoolDowns returns until when each origin asked to wait.
func (s *Store) CoolDowns() (map[string]time.Time, error) {
	until := map[string]time.Time{}
	err := s.db.View(func(tx *bbolt.Tx) error {
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
	return s.db.Update(func(tx *bbolt.Tx) error {
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
