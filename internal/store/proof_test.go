package store

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"syncd/internal/manifest"
)

func object(i int) manifest.ObjectID { return sha256.Sum256(fmt.Append(nil, i)) }

func someProofs(n int) *Proofs {
	p := NewProofs(n)
	for i := range n {
		p.Add(object(i), Proof{Size: int64(i), ModTime: -int64(i), Inode: 1<<63 + uint64(i)})
	}
	p.Sort()
	return p
}

func TestProofsSurviveReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s, _, err := openAt(t, path, time.Second)
	must(t, err)
	must(t, s.Commit(Changes{Proofs: map[string]*Proofs{"data": someProofs(1000), "bins": someProofs(3)}}))
	must(t, s.Commit(Changes{Proofs: map[string]*Proofs{"bins": {}}}))
	must(t, s.Close())
	s, note, err := openAt(t, path, time.Second)
	if err != nil || note != "" {
		t.Fatal(note, err)
	}
	defer s.Close()
	all, err := s.Proofs()
	if err != nil || len(all) != 1 {
		t.Fatalf("%d manifests: %v", len(all), err)
	}
	for i := range 1000 {
		want := Proof{Size: int64(i), ModTime: -int64(i), Inode: 1<<63 + uint64(i)}
		if got, known := all["data"].Of(object(i)); !known || got != want {
			t.Fatalf("object %d: %+v %v, want %+v", i, got, known, want)
		}
	}
	for _, other := range []manifest.ObjectID{{}, object(1000)} {
		if _, known := all["data"].Of(other); known {
			t.Errorf("%s is known", other)
		}
	}
}

func TestDamagedProofsDecodeToAnEmptySet(t *testing.T) {
	good := someProofs(3).data
	for name, data := range map[string][]byte{
		"nothing":   nil,
		"a part":    good[:entrySize-1],
		"unordered": append(append([]byte{}, good[entrySize:]...), good[:entrySize]...),
	} {
		if got := decodeProofs(data); got.Len() != 0 {
			t.Errorf("%s: %d proofs", name, got.Len())
		}
	}
}

func TestFileOfAnEarlierVersionHasNoProofsAndAcceptsThem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s, _, err := openAt(t, path, time.Second)
	must(t, err)
	defer s.Close()
	if err := s.read(func(tx *bbolt.Tx) error {
		if tx.Bucket(bucketProofs) != nil {
			t.Error("a new file has a bucket for proofs")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Proofs(); err != nil || len(all) != 0 {
		t.Errorf("%d manifests: %v", len(all), err)
	}
	if err := s.Commit(Changes{Proofs: map[string]*Proofs{"data": someProofs(1)}}); err != nil {
		t.Error(err)
	}
}
