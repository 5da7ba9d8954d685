package store

import (
	"bytes"
	"encoding/binary"
	"slices"

	"go.etcd.io/bbolt"

	"syncd/internal/manifest"
)

// Proof is how an object's file looked when its content was proven. While it
// still looks so, nobody reads it again.
type Proof struct {
	Size    int64
	ModTime int64 // Unix nanoseconds
	Inode   uint64
}

// Proofs are those of many objects. The zero value has none.
type Proofs struct{ entries []proofEntry } // sorted by object once they are kept

type proofEntry struct {
	object manifest.ObjectID
	Proof
}

// An entry on disk is the object's ID and three numbers.
const (
	idSize    = len(manifest.ObjectID{})
	entrySize = idSize + 3*8
)

// NewProofs returns an empty set with room for n.
func NewProofs(n int) *Proofs { return &Proofs{entries: make([]proofEntry, 0, n)} }

// Add notes an object's proof. Of finds it after Sort.
func (p *Proofs) Add(object manifest.ObjectID, proof Proof) {
	p.entries = append(p.entries, proofEntry{object, proof})
}

// Sort makes what was added ready for Of and Commit.
func (p *Proofs) Sort() {
	slices.SortFunc(p.entries, byObject)
}

// Of returns an object's proof.
func (p *Proofs) Of(object manifest.ObjectID) (Proof, bool) {
	i, found := slices.BinarySearchFunc(p.entries, proofEntry{object: object}, byObject)
	if !found {
		return Proof{}, false
	}
	return p.entries[i].Proof, true
}

func byObject(a, b proofEntry) int { return bytes.Compare(a.object[:], b.object[:]) }

func (p *Proofs) encode() []byte {
	data := make([]byte, 0, len(p.entries)*entrySize)
	for _, e := range p.entries {
		data = append(data, e.object[:]...)
		data = binary.BigEndian.AppendUint64(data, uint64(e.Size))
		data = binary.BigEndian.AppendUint64(data, uint64(e.ModTime))
		data = binary.BigEndian.AppendUint64(data, e.Inode)
	}
	return data
}

// decodeProofs takes what it can read: a proof that is lost costs a read.
func decodeProofs(data []byte) *Proofs {
	p := NewProofs(len(data) / entrySize)
	for ; len(data) >= entrySize; data = data[entrySize:] {
		e := proofEntry{Proof: Proof{
			Size:    int64(binary.BigEndian.Uint64(data[idSize:])),
			ModTime: int64(binary.BigEndian.Uint64(data[idSize+8:])),
			Inode:   binary.BigEndian.Uint64(data[idSize+16:]),
		}}
		copy(e.object[:], data)
		p.entries = append(p.entries, e)
	}
	if !slices.IsSortedFunc(p.entries, byObject) {
		return &Proofs{}
	}
	return p
}

// Proofs returns what is known of the objects of every manifest, by its name.
func (s *Store) Proofs() (map[string]*Proofs, error) {
	all := map[string]*Proofs{}
	err := s.view(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(bucketProofs)
		if bucket == nil { // no sync of this version has written yet
			return nil
		}
		return bucket.ForEach(func(name, v []byte) error {
			all[string(name)] = decodeProofs(v)
			return nil
		})
	})
	return all, err
}

// putProofs writes nothing when nothing has changed. The bucket is made when it is
// needed: a file of an earlier version has none.
func putProofs(tx *bbolt.Tx, name string, proofs *Proofs) error {
	bucket, err := tx.CreateBucketIfNotExists(bucketProofs)
	if err != nil {
		return err
	}
	data := proofs.encode()
	switch {
	case len(data) == 0:
		return bucket.Delete([]byte(name))
	case bytes.Equal(bucket.Get([]byte(name)), data):
		return nil
	}
	return bucket.Put([]byte(name), data)
}
