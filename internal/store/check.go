package store

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"
)

// check reads every page in use as a sync will read it. Damage must show now rather
// than in the middle of a sync. checkTree must have passed.
func (s *Store) check() error {
	if err := s.read(checkLayout); err != nil {
		return err
	}
	_, err1 := s.Manifests()
	_, err2 := s.Planned()
	_, err3 := s.CoolDowns()
	_, err4 := s.Notified()
	_, err5 := s.Deliveries()
	err6 := s.Fleet(func(string, json.RawMessage) error { return nil })
	if err := cmp.Or(err1, err2, err3, err4, err5, err6); err != nil {
		return err
	}
	entries, err := s.History(2 * maxHistory)
	if err != nil || slices.ContainsFunc(entries, func(e json.RawMessage) bool { return !json.Valid(e) }) {
		return fmt.Errorf("bucket %s: an entry is not JSON", bucketHistory)
	}
	return s.read(checkKeysAndFreeList)
}

// checkLayout checks the version first: a newer one may have other buckets.
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
		return fmt.Errorf("schema version %d does not exist", v)
	}
	for _, name := range requiredBuckets() {
		if tx.Bucket(name) == nil {
			return fmt.Errorf("bucket %s is missing", name)
		}
	}
	return nil
}

// checkKeysAndFreeList runs bbolt's own check, of the order of the keys and of the
// list of free pages. That check runs in a goroutine of its own, where a fault ends
// the process and an overflow count without end never returns. checkTree has
// excluded both for the pages in use, checkOverflow excludes them for the others.
func checkKeysAndFreeList(tx *bbolt.Tx) error {
	if err := checkOverflow(tx); err != nil {
		return err
	}
	var first error
	for err := range tx.Check() {
		first = cmp.Or(first, err)
	}
	return first
}

// checkOverflow checks the pages that continue another one: they must lie in the
// file and must not be free. bbolt's check looks only at the first page of each run.
func checkOverflow(tx *bbolt.Tx) error {
	pages := int(tx.Size()) / tx.DB().Info().PageSize
	for id := 0; ; id++ {
		page, err := tx.Page(id)
		if page == nil || err != nil {
			return err
		}
		if page.Type == "free" {
			continue
		}
		if page.OverflowCount >= pages-id {
			return fmt.Errorf("page %d continues for %d pages, the file has only %d", id, page.OverflowCount, pages)
		}
		for range page.OverflowCount {
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
}
