package store

import (
	"encoding/binary"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"syncd/internal/manifest"
)

// bucketPatches has the sizes of patches that were not worth keeping, by their contents; files
// of earlier versions have none.
var bucketPatches = []byte("patches")

// Pair names a patch by the contents before and after it.
type Pair struct{ Old, New manifest.ObjectID }

// Patches is what a Store remembers of patches. Safe for concurrent use.
type Patches struct{ store *Store }

// PatchesOf returns what a Store remembers of patches.
func PatchesOf(s *Store) Patches { return Patches{s} }

// Useless returns the sizes of patches that were not worth keeping.
func (p Patches) Useless() (sizes map[Pair]int64, err error) {
	sizes = map[Pair]int64{}
	err = p.store.read(func(tx *bbolt.Tx) error {
		return forEach(tx, bucketPatches, func(k, v []byte) error {
			const id = len(manifest.ObjectID{})
			if len(k) != 2*id || len(v) != 8 {
				return fmt.Errorf("bucket %s, key %x: not the size of a patch", bucketPatches, k)
			}
			pair := Pair{manifest.ObjectID(k[:id]), manifest.ObjectID(k[id:])}
			sizes[pair] = int64(binary.BigEndian.Uint64(v)) //nolint:gosec // it was one
			return nil
		})
	})
	return sizes, err
}

// SetUseless saves sizes. A negative one removes what is remembered.
func (p Patches) SetUseless(sizes map[Pair]int64) error {
	return p.store.update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(bucketPatches)
		if err != nil {
			return err
		}
		for pair, size := range sizes {
			key := slices.Concat(pair.Old[:], pair.New[:])
			if size < 0 {
				err = bucket.Delete(key)
			} else {
				err = bucket.Put(key, binary.BigEndian.AppendUint64(nil, uint64(size)))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
