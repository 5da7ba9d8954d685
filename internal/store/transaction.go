package store

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"syncd/internal/fsops"
)

// view runs a transaction that reads the state.
func (s *Store) view(read func(*bbolt.Tx) error) error {
	return s.contain(read, s.db.View)
}

// update runs a transaction that changes the state. The first change that the
// disk refuses is the last that is tried: after a failed fsync the page cache,
// which bbolt reads, may have what the disk has not, and a change made on top of
// that can report success for a file that is torn.
func (s *Store) update(change func(*bbolt.Tx) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.unwritten != nil {
		return notWritten(s.unwritten)
	}
	unwanted := false
	err := s.contain(func(begun *bbolt.Tx) error {
		err := change(begun)
		unwanted = err != nil
		return err
	}, func(transaction func(*bbolt.Tx) error) error {
		return fsops.Step("commit", s.db.Path(), func() error { return s.db.Update(transaction) })
	})
	switch {
	case err == nil, unwanted, errors.Is(err, berrors.ErrDatabaseReadOnly), errors.Is(err, berrors.ErrDatabaseNotOpen):
		return err
	case foundNoRoom(err):
		return fmt.Errorf("state not written: %w", err)
	}
	s.unwritten = err
	return notWritten(err)
}

func notWritten(err error) error {
	return fmt.Errorf("state not written: restart syncd: %w", err)
}

// foundNoRoom is true for a write that a full disk refused: it left nothing in
// doubt, and the next may find room. An fsync's error has no path, and is never that.
func foundNoRoom(err error) bool {
	var write *fs.PathError
	return errors.As(err, &write) && fsops.IsFull(write.Err)
}

// contain turns what bbolt does with a file that was damaged or truncated under
// it, a panic or a fault, into an error.
func (s *Store) contain(work func(*bbolt.Tx) error, run func(func(*bbolt.Tx) error) error) (err error) {
	if s.stuck.Load() {
		return errStuck
	}
	var tx *bbolt.Tx
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			if tx == nil || tx.DB() != nil { // it was not rolled back, and so holds its locks
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

// errStuck is what remains of a state file after bbolt panicked.
var errStuck = errors.New("the state file was damaged beside the running syncd: restart syncd")
