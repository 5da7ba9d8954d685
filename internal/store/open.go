package store

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"syncd/internal/durable"
	"syncd/internal/fsops"
)

// maxAside bounds how many files that were set aside stay.
const maxAside = 3

// DamagedError says that a state file cannot be used as it is.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	var newer *newerError
	if errors.As(e.Err, &newer) {
		return fmt.Sprintf("%s %v", e.Path, newer)
	}
	return fmt.Sprintf("%s is damaged: %v", e.Path, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// newerError says that a newer syncd wrote the file.
type newerError struct{ version uint32 }

func (e *newerError) Error() string {
	return fmt.Sprintf("is of a newer syncd: it has schema version %d, this syncd knows %d", e.version, schema)
}

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
	aside, err := setAside(path, damaged)
	if err != nil {
		return nil, "", err
	}
	s, err = open(path, timeout, false)
	return s, fmt.Sprintf("%v; set aside as %s and rebuilt from disk", damaged, aside), err
}

// setAside renames the file, named for why and when, and removes the oldest of
// those that were set aside before: damage that comes again must not fill a disk.
func setAside(path string, damaged *DamagedError) (aside string, err error) {
	why := "damaged"
	var newer *newerError
	if errors.As(damaged, &newer) {
		why = "newer"
	}
	prefix := path + "." + why + "-"
	aside = prefix + time.Now().UTC().Format("20060102T150405.000000000")
	if err := fsops.Rename(path, aside); err != nil {
		return "", err
	}
	entries, _ := os.ReadDir(filepath.Dir(path)) // sorted, and so by time; without them there is nothing to remove
	entries = slices.DeleteFunc(entries, func(entry os.DirEntry) bool {
		return !strings.HasPrefix(entry.Name(), filepath.Base(prefix))
	})
	for _, old := range entries[:max(0, len(entries)-maxAside)] {
		_ = fsops.Remove(filepath.Join(filepath.Dir(path), old.Name()))
	}
	return aside, nil
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
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: timeout, ReadOnly: readOnly, PreLoadFreelist: true, NoSync: durable.NoFsync, NoGrowSync: durable.NoFsync})
	if err != nil {
		return nil, openError(path, err)
	}
	s = &Store{db: db}
	err = s.prepare()
	if err == nil && !readOnly { // a power cut must not take a name that this or an earlier process made
		err = (&durable.Disk{}).SyncDir(filepath.Dir(path))
	}
	if err != nil {
		s.Close()
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
	err := s.view(func(tx *bbolt.Tx) error {
		if err := checkTree(tx); err != nil {
			return err
		}
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
	return s.update(func(tx *bbolt.Tx) error {
		for _, name := range buckets() {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		meta := tx.Bucket(bucketMeta)
		created, err := time.Now().UTC().MarshalText()
		if err != nil {
			return err
		}
		return errors.Join(meta.Put(keySchema, binary.BigEndian.AppendUint32(nil, schema)), meta.Put(keyCreated, created))
	})
}

func buckets() [][]byte {
	return [][]byte{bucketMeta, bucketManifests, bucketWanted, bucketOrigins, bucketHistory}
}

// check reads every page in use, in this goroutine and as a sync will read them,
// so that damage shows now and not in the middle of one.
func (s *Store) check() error {
	if err := s.view(checkLayout); err != nil {
		return err
	}
	if _, err := s.Manifests(); err != nil {
		return fmt.Errorf("bucket manifests: %w", err)
	}
	if _, err := s.Wanted(); err != nil {
		return fmt.Errorf("bucket pending: %w", err)
	}
	if _, err := s.CoolDowns(); err != nil {
		return fmt.Errorf("bucket origins: %w", err)
	}
	entries, err := s.History(2 * maxHistory)
	if err != nil || slices.ContainsFunc(entries, func(e json.RawMessage) bool { return !json.Valid(e) }) {
		return errors.New("bucket history: an entry is not JSON")
	}
	return s.view(checkPages)
}

// checkLayout looks at the version first: a newer one may have other buckets.
func checkLayout(tx *bbolt.Tx) error {
	meta := tx.Bucket(bucketMeta)
	if meta == nil {
		return errors.New("bucket meta is missing")
	}
	version := meta.Get(keySchema)
	if len(version) != 4 {
		return errors.New("schema version is missing")
	}
	switch v := binary.BigEndian.Uint32(version); {
	case v > schema:
		return &newerError{version: v}
	case v < schema:
		return fmt.Errorf("there is no schema version %d", v)
	}
	for _, name := range buckets() {
		if tx.Bucket(name) == nil {
			return fmt.Errorf("bucket %s is missing", name)
		}
	}
	return nil
}

// checkPages proves the order of the keys and the list of free pages. bbolt does
// that in a goroutine of its own, which ends the process if it meets what is not
// in the file, and never ends if a page claims to be endless: checkTree has ruled
// that out for the pages in use, and the loop here for the others.
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
		for range page.OverflowCount { // bbolt looks at the first only, and would give the others away twice
			id++
			more, err := tx.Page(id)
			if err != nil {
				return err
			}
			if more.Type == "free" {
				return fmt.Errorf("page %d is in use and free", id)
			}
		}
	}
	var first error
	for err := range tx.Check() {
		first = cmp.Or(first, err)
	}
	return first
}
