package store

import (
	"bytes"
	"encoding/binary"
	"sort"

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

// Proofs holds the proofs of many objects, as they are on disk: 250,000 take 13 MiB. The zero
// value is empty.
type Proofs struct{ data []byte } // entries, sorted by object after Sort

// An entry is the object's ID and three numbers.
const (
	idSize    = len(manifest.ObjectID{})
	entrySize = idSize + 3*8
)

// NewProofs returns an empty set with capacity for n proofs.
func NewProofs(n int) *Proofs { return &Proofs{make([]byte, 0, n*entrySize)} }

// Add adds an object's proof. Call Sort after the last Add and before Of.
func (p *Proofs) Add(object manifest.ObjectID, proof Proof) {
	p.data = append(p.data, object[:]...)
	p.data = binary.BigEndian.AppendUint64(p.data, uint64(proof.Size))
	p.data = binary.BigEndian.AppendUint64(p.data, uint64(proof.ModTime))
	p.data = binary.BigEndian.AppendUint64(p.data, proof.Inode)
}

// Sort must be called between the last Add and the first Of or Commit.
func (p *Proofs) Sort() {
	if !sort.IsSorted(p) {
		sort.Sort(p)
	}
}

// Of returns an object's proof, and false if there is none.
func (p *Proofs) Of(object manifest.ObjectID) (Proof, bool) {
	i, found := sort.Find(p.Len(), func(i int) int { return bytes.Compare(object[:], p.entry(i)[:idSize]) })
	if !found {
		return Proof{}, false
	}
	numbers := p.entry(i)[idSize:]
	return Proof{
		Size:    int64(binary.BigEndian.Uint64(numbers)),
		ModTime: int64(binary.BigEndian.Uint64(numbers[8:])),
		Inode:   binary.BigEndian.Uint64(numbers[16:]),
	}, true
}

func (p *Proofs) entry(i int) []byte { return p.data[i*entrySize:][:entrySize] }

// Len, Less and Swap are for Sort.
func (p *Proofs) Len() int { return len(p.data) / entrySize }

// Less compares the objects of two entries.
func (p *Proofs) Less(i, j int) bool {
	return bytes.Compare(p.entry(i)[:idSize], p.entry(j)[:idSize]) < 0
}

// Swap swaps two entries.
func (p *Proofs) Swap(i, j int) {
	before := [entrySize]byte(p.entry(i))
	copy(p.entry(i), p.entry(j))
	copy(p.entry(j), before[:])
}

// decodeProofs returns an empty set for damaged data: a lost proof costs one read of
// the object.
func decodeProofs(data []byte) *Proofs {
	p := &Proofs{bytes.Clone(data[:len(data)-len(data)%entrySize])}
	if !sort.IsSorted(p) {
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
	data := proofs.data
	switch {
	case len(data) == 0:
		return bucket.Delete([]byte(name))
	case bytes.Equal(bucket.Get([]byte(name)), data):
		return nil
	}
	return bucket.Put([]byte(name), data)
}
