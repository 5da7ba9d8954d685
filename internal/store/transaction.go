package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"syncd/internal/disk/fsops"
)

// errStuck is returned for every transaction after stuck is set.
var errStuck = errors.New("the state file was damaged while syncd had it open: restart syncd")

// read runs a transaction that reads the state.
func (s *Store) read(read func(*bbolt.Tx) error) error {
	return s.contain(read, s.db.View)
}

// update runs a transaction that changes the state, and makes the change durable.
// After the first change that the disk refuses, other than for lack of space, update
// tries no more. After a failed fsync the page cache, which bbolt reads, may differ
// from the disk. A later change could then report success for a torn file.
func (s *Store) update(change func(*bbolt.Tx) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.writeErr != nil {
		return notWritten(s.writeErr)
	}
	var changeErr error
	err := s.contain(func(tx *bbolt.Tx) error {
		changeErr = change(tx)
		return changeErr
	}, func(transaction func(*bbolt.Tx) error) error {
		return fsops.Step("commit", s.db.Path(), func() error { return s.db.Update(transaction) })
	})
	switch {
	case err == nil, changeErr != nil, errors.Is(err, berrors.ErrDatabaseReadOnly), errors.Is(err, berrors.ErrDatabaseNotOpen):
		return err
	case isWriteOnFullDisk(err):
		return fmt.Errorf("state not written: %w: make room on that file system", err)
	}
	s.writeErr = err
	return notWritten(err)
}

func notWritten(err error) error {
	return fmt.Errorf("state not written: restart syncd: %w", err)
}

// isWriteOnFullDisk is true for a write that a full disk refused. Such a write left
// nothing in doubt, and the next one may find space. bbolt returns the error of an
// fsync without a path, so that it is never taken for one of a write.
func isWriteOnFullDisk(err error) bool {
	var write *fs.PathError
	return errors.As(err, &write) && fsops.IsFull(write.Err)
}

// contain turns a panic or fault of bbolt into an error: the file may be damaged or
// truncated while it is open.
func (s *Store) contain(work func(*bbolt.Tx) error, run func(func(*bbolt.Tx) error) error) (err error) {
	if s.stuck.Load() {
		return errStuck
	}
	var tx *bbolt.Tx
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			if tx == nil || tx.DB() != nil { // bbolt did not roll it back
				s.stuck.Store(true)
			}
			err = fmt.Errorf("bbolt: %v", p)
		}
	}()
	return run(func(begun *bbolt.Tx) error {
		tx = begun
		return work(begun)
	})
}

// readMeta reads the value of a key, if there is one.
func (s *Store) readMeta(key []byte, value any) error {
	return s.read(func(tx *bbolt.Tx) error {
		data := tx.Bucket(bucketMeta).Get(key)
		if data == nil {
			return nil
		}
		if err := json.Unmarshal(data, value); err != nil {
			return fmt.Errorf("bucket %s, key %s: %w", bucketMeta, key, err)
		}
		return nil
	})
}
