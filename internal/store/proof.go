package store

import (
	"bytes"
	"encoding/binary"
	"slices"

	"go.etcd.io/bbolt"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
)

// Proof is the metadata that an object's file had when its content was proven. While
// the file still has it, the content need not be read again.
type Proof struct {
	Size    int64
	ModTime int64 // Unix nanoseconds
	Inode   uint64
}

// ProofOf returns the proof for content that was read from this file.
func ProofOf(info fsops.Info) Proof {
	return Proof{Size: info.Size(), ModTime: info.ModTime(), Inode: info.Inode()}
}

// Proofs holds the proofs of many objects. The zero value is empty.
type Proofs struct{ entries []proofEntry } // sorted by object after Sort

type proofEntry struct {
	object manifest.ObjectID
	Proof
}

// An entry on disk is the object's ID and three numbers.
const (
	idSize    = len(manifest.ObjectID{})
	entrySize = idSize + 3*8
)

// NewProofs returns an empty set with capacity for n proofs.
func NewProofs(n int) *Proofs { return &Proofs{entries: make([]proofEntry, 0, n)} }

// Add adds an object's proof. Call Sort after the last Add and before Of.
func (p *Proofs) Add(object manifest.ObjectID, proof Proof) {
	p.entries = append(p.entries, proofEntry{object, proof})
}

// Sort must be called between the last Add and the first Of or Commit.
func (p *Proofs) Sort() {
	slices.SortFunc(p.entries, byObject)
}

// Of returns an object's proof, and false if there is none.
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

// decodeProofs returns an empty set for damaged data: a lost proof costs one read of
// the object.
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

// Proofs returns the proofs of every manifest's objects, by manifest.
func (s *Store) Proofs() (map[string]*Proofs, error) {
	all := map[string]*Proofs{}
	err := s.read(func(tx *bbolt.Tx) error {
		return forEach(tx, bucketProofs, func(name, v []byte) error {
			all[string(name)] = decodeProofs(v)
			return nil
		})
	})
	return all, err
}

// putProofs writes nothing if nothing has changed. It creates the bucket if needed: a
// file of an earlier version has none.
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
