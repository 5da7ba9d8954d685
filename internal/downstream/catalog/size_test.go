package catalog_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"syncd/internal/downstream/catalog"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// large is a mirror in memory whose releases have very many files. Only a real mirror
// would need a disk for them.
type large struct {
	current mirror.Record
	earlier []mirror.Record
}

func (l *large) Current() mirror.Generation {
	return mirror.Generation{Number: 1, Records: map[string]mirror.Record{"m": l.current}}
}

func (l *large) RevisionIDs(string) (ids []string) {
	for _, r := range l.earlier {
		ids = append(ids, r.ID())
	}
	return ids
}

func (l *large) Revision(_, id string) (mirror.Record, error) {
	for i, r := range l.earlier {
		if r.ID() == id {
			l.earlier[i].Files = nil // as after reading it from the disk
			return r, nil
		}
	}
	return mirror.Record{}, os.ErrNotExist
}

func (l *large) Open(manifest.ObjectID) (*os.File, error) { return nil, os.ErrNotExist }

func (l *large) Asked() (map[string]time.Time, error)        { return nil, nil }
func (l *large) SetAsked(string, time.Time, time.Time) error { return nil }
func (l *large) live(string) map[string]time.Time {
	live := map[string]time.Time{}
	for _, id := range l.RevisionIDs("m") {
		live[id] = time.Unix(1, 0)
	}
	return live
}

const veryMany = 50_000 // memory grows in proportion

// recordOfMany makes a release in which each file is new.
func recordOfMany(release manifest.Release) mirror.Record {
	r := mirror.Record{Manifest: "m", Release: release, Revision: "0123456789ab", Described: true}
	r.Files = make([]mirror.File, veryMany)
	members := []manifest.Member{{Name: "BuildDate", Value: "2026-10"}}
	for i := range r.Files {
		var id manifest.ObjectID
		binary.BigEndian.PutUint64(id[:], uint64(i))
		copy(id[8:], release)
		r.Files[i] = mirror.File{
			Path: fmt.Sprintf("linux/gcc48/64bit/file-%06d.dat", i), Reference: manifest.Reference(fmt.Sprintf("Library/LINUX/GCC48/64BIT/%s/file-%06d.dat", release, i)),
			Size: int64(i), Object: id, Expected: id.Digest(), Position: int32(i + 1),
			Metadata: &manifest.Metadata{MD5: manifest.Digest{Algorithm: manifest.MD5}, SHA1: manifest.Digest{Algorithm: manifest.SHA1}, Members: members},
		}
	}
	return r
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func newLarge(t testing.TB, l *large) *catalog.Catalog {
	return catalog.New(catalog.Config{
		Mirror: l, Records: l, Objects: l, Store: l, Live: l.live, Left: func(string) map[string]bool { return nil }, IsStaged: func(string, string) bool { return false },
		Warn: func(message string, err error) { t.Errorf("%s: %v", message, err) },
	}, time.Hour)
}

func TestACatalogOfVeryManyFilesTakesLittleMemory(t *testing.T) {
	l := &large{current: recordOfMany("2026.10")}
	before := heap()
	c := newLarge(t, l)
	c.Rebuild()
	perFile := (heap() - before) / veryMany
	t.Logf("%d bytes for each file that is served", perFile)
	if perFile > 100 {
		t.Errorf("%d bytes for each served file, want at most 100", perFile)
	}
	before = heap()
	l.earlier = []mirror.Record{recordOfMany("2026.09")}
	c.Rebuild()
	perFile = (heap() - before) / veryMany
	t.Logf("%d bytes for each file of an earlier release", perFile)
	if perFile > 500 {
		t.Errorf("%d bytes for each file of an earlier release, want at most 500", perFile)
	}
	runtime.KeepAlive(c)
	runtime.KeepAlive(l)
}

func BenchmarkRebuild(b *testing.B) {
	l := &large{current: recordOfMany("2026.10")}
	c := newLarge(b, l)
	for b.Loop() {
		c.Rebuild()
	}
}

func BenchmarkFile(b *testing.B) {
	c := newLarge(b, &large{current: recordOfMany("2026.10")})
	c.Rebuild()
	ref, _ := manifest.ParseReference("library/linux/gcc48/64bit/2026.10/file-123456.dat")
	b.ReportAllocs()
	for b.Loop() {
		f, found := c.Snapshot().File(ref, nil)
		if !found || !c.Asked(context.Background(), f.Revision, "db01") || len(f.Metadata()) != 7 {
			b.Fatal("not found")
		}
	}
}
