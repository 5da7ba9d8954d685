package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// inBranch returns the bytes of a state file and the offset of a branch page that is
// in use.
func inBranch(t *testing.T) (data []byte, at int) {
	t.Helper()
	path := newPath(t)
	s := mustOpen(t, path)
	fill(t, s)
	size, root := s.db.Info().PageSize, 0
	err := s.read(func(tx *bbolt.Tx) error {
		root = int(tx.Bucket(bucketManifests).RootPage())
		return nil
	})
	s.Close()
	data, readErr := os.ReadFile(path)
	if err != nil || readErr != nil {
		t.Fatal(err, readErr)
	}
	at = root * size
	if binary.NativeEndian.Uint16(data[at+8:]) != branchType {
		t.Fatal("the bucket has one page only")
	}
	return data, at
}

func TestFileWithADamagedTreeIsSetAside(t *testing.T) {
	good, at := inBranch(t)
	first := at + headerSize // the first element: offset and length of its key, its page
	child := int(binary.NativeEndian.Uint64(good[first+8:])) * os.Getpagesize()
	leaf := child + headerSize
	rows := []struct {
		name   string
		offset int
		value  uint32
		says   string
	}{
		{"a key that ends beyond the file", first + 4, 1 << 30, "ends outside of it"},
		{"a key that begins beyond the file", first, 1 << 31, "ends outside of it"},
		{"a key that is not the child's first", first, binary.NativeEndian.Uint32(good[first:]) + 1, "is not that page's first"},
		{"a page that is its own child", first + 8, uint32(at / os.Getpagesize()), "is used twice"},
		{"a child beyond the file", first + 8, 1 << 20, "is none of the file's"},
		{"a child that is a meta page", first + 8, 1, "is none of the file's"},
		{"a child that two point to", first + 8, binary.NativeEndian.Uint32(good[first+elementSize+8:]), "is not that page's first"},
		{"a value that ends beyond the file", leaf + 12, 1 << 30, "end outside of it"},
		{"a value that is no bucket", leaf, bucketFlag, "page"},
		{"a page with another number", child, 77, "says that it is page 77"},
		{"a page that continues without end", child + 12, 1<<32 - 1, "the file has only"},
		{"more elements than fit", child + 8, leafType | 0xffff<<16, "has no room for 65535 elements"},
		{"a page of no type", child + 8, 0, "its type is 0x0"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			data := slices.Clone(good)
			binary.NativeEndian.PutUint32(data[row.offset:], row.value)
			path := newPath(t)
			must(t, os.WriteFile(path, data, 0o600))
			s, note, err := openAt(t, path, time.Minute)
			must(t, err)
			defer s.Close()
			if !strings.Contains(note, row.says) || len(aside(t, path)) != 1 {
				t.Errorf("note %q", note)
			}
			fill(t, s)
		})
	}
}

func TestStateFileThatIsALinkIsRefused(t *testing.T) {
	target, path := newPath(t), newPath(t)
	mustOpen(t, target).Close()
	must(t, os.Symlink(target, path))
	_, _, err := openAt(t, path, time.Minute)
	_, readErr := openReadOnlyAt(t, path, time.Minute)
	for _, err := range []error{err, readErr} {
		if err == nil || !strings.Contains(err.Error(), "not a regular file, move it away") {
			t.Errorf("%v", err)
		}
	}
	if left := aside(t, path); len(left) != 0 {
		t.Errorf("set aside: %q", left)
	}
}

func TestFreeListThatClaimsMoreEntriesThanFitIsSetAside(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		path := newPath(t)
		s := mustOpen(t, path)
		fill(t, s)
		s.Close()
		data, err := os.ReadFile(path)
		must(t, err)
		pages := len(data) / os.Getpagesize()
		tree := &tree{file: bytes.NewReader(data), pageSize: os.Getpagesize(), pages: uint64(pages), seen: map[uint64]bool{}}
		id, err := tree.freeList()
		must(t, err)
		list := data[int(id)*os.Getpagesize():]
		binary.NativeEndian.PutUint16(list[10:], manyFree)
		binary.NativeEndian.PutUint64(list[headerSize:], 1<<29) // 4 GiB
		must(t, os.WriteFile(path, data, 0o600))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var says string
		if readOnly {
			_, err := openReadOnlyAt(t, path, atOnce)
			says = fmt.Sprint(err)
		} else {
			s, note, err := openAt(t, path, time.Minute)
			must(t, err)
			defer s.Close()
			says = note
		}
		runtime.ReadMemStats(&after)
		if !strings.Contains(says, "no room for 536870912 entries") {
			t.Errorf("read only %v: %s", readOnly, says)
		}
		if cost := after.TotalAlloc - before.TotalAlloc; cost > 64<<20 {
			t.Errorf("read only %v: %d bytes were allocated", readOnly, cost)
		}
	}
}

// TestHealthyTreeIsNeverCalledDamaged changes a state in ways that make bbolt split and
// join pages.
func TestHealthyTreeIsNeverCalledDamaged(t *testing.T) {
	path := newPath(t)
	s := mustOpen(t, path)
	s.db.NoSync = true
	file, err := os.Open(path)
	must(t, err)
	defer file.Close()
	random := rand.New(rand.NewPCG(2026, 11))
	for i := range times(400, 20_000) {
		c := Changes{Manifests: map[string]Manifest{}, Planned: map[string]iter.Seq[Planned]{}}
		for range random.IntN(20) {
			name := fmt.Sprintf("manifest_%03d", random.IntN(300))
			c.Manifests[name] = Manifest{ETag: strings.Repeat("e", random.IntN(3000))}
			c.Planned[name] = slices.Values(slices.Repeat([]Planned{{Expected: someMD5}}, max(0, random.IntN(400)-200)))
		}
		if i%50 > 25 { // in this phase manifests disappear
			for n := range 300 {
				if random.IntN(3) > 0 {
					c.Planned[fmt.Sprintf("manifest_%03d", n)] = nil
				}
			}
		}
		must(t, s.Commit(c))
		if err := s.read(func(tx *bbolt.Tx) error { return checkTree(tx, file) }); err != nil {
			t.Fatalf("after %d changes: %v", i+1, err)
		}
	}
	if err := s.check(); err != nil {
		t.Error(err)
	}
}

// TestBboltCheckOverlooksDamage shows why checkTree is needed in addition to bbolt's own
// check. When this test fails, bbolt may have learned to find such damage.
func TestBboltCheckOverlooksDamage(t *testing.T) {
	good, at := inBranch(t)
	first := at + headerSize
	leaf := int(binary.NativeEndian.Uint64(good[first+8:]))*os.Getpagesize() + headerSize
	for name, damage := range map[string]struct {
		offset int
		value  uint32
	}{
		"a key that is not the child's first":         {first, binary.NativeEndian.Uint32(good[first:]) + 1},
		"a value that ends beyond the file's mapping": {leaf + 12, 1 << 30},
	} {
		data := slices.Clone(good)
		binary.NativeEndian.PutUint32(data[damage.offset:], damage.value)
		path := newPath(t)
		must(t, os.WriteFile(path, data, 0o600))
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true})
		must(t, err)
		err = db.View(func(tx *bbolt.Tx) error {
			for err := range tx.Check() {
				t.Errorf("%s: bbolt finds it: %v", name, err)
			}
			return checkTree(tx, bytes.NewReader(data))
		})
		if err == nil {
			t.Errorf("%s: checkTree does not find it", name)
		}
		db.Close()
	}
}
