package scrub

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"syncd/internal/disk/durable"
	"syncd/internal/host/rate"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// disk is a data directory with objects, and what the Scrubber did with it.
type disk struct {
	*testing.T
	dir      string
	mirror   *mirror.Mirror
	rate     *rate.Budget
	saved    store.Scrub
	saves    int
	read     int64
	repaired []manifest.ObjectID
	refuse   error // of Repair
	found    int   // new damage
	missing  []manifest.ObjectID
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{T: t, dir: filepath.Join(t.TempDir(), "data"), rate: rate.NewBudget(rate.Timetable{})}
	m, err := mirror.Open(d.dir, &durable.Disk{})
	d.must(err)
	d.must(m.MakeState())
	d.must(m.Recover())
	t.Cleanup(func() { d.must(m.Close()) })
	d.mirror = m
	return d
}

func (d *disk) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func (d *disk) path(id manifest.ObjectID) string {
	return filepath.Join(d.dir, "objects", id.String()[:2], id.String())
}

// add makes an object of some bytes.
func (d *disk) add(content []byte) manifest.ObjectID {
	d.Helper()
	id := manifest.ObjectID(sha256.Sum256(content))
	d.must(os.MkdirAll(filepath.Dir(d.path(id)), 0o755))
	d.must(os.WriteFile(d.path(id), content, 0o644))
	return id
}

// damage changes the last byte of an object.
func (d *disk) damage(id manifest.ObjectID) {
	d.Helper()
	content, err := os.ReadFile(d.path(id))
	d.must(err)
	content[len(content)-1] ^= 1
	d.must(os.WriteFile(d.path(id), content, 0o644))
}

func (d *disk) open() *Scrubber {
	return New(Config{
		Objects: d.mirror.Objects, Missing: func() []manifest.ObjectID { return d.missing }, Rate: d.rate,
		Save: func(s store.Scrub) error { d.saved, d.saves = s, d.saves+1; return nil },
		Read: func(n int64) { d.read += n },
		Repair: func(_ context.Context, id manifest.ObjectID, damage error, isNew bool) (string, error) {
			if isNew {
				d.found++
			}
			if damage == nil {
				d.Error("repair without damage")
			}
			if d.refuse == nil {
				d.repaired = append(d.repaired, id)
			}
			return "data/file", d.refuse
		},
	}, d.saved)
}

// finish takes slices until the scrub ends, and returns how many.
func (d *disk) finish(s *Scrubber) int {
	d.Helper()
	for n := 1; ; n++ {
		ended, err := s.Slice(d.Context())
		d.must(err)
		if ended {
			return n
		}
	}
}

// random returns bytes that differ for each seed.
func random(seed, size int) []byte {
	return bytes.Repeat([]byte(fmt.Sprintf("%08d", seed)), size/8)
}

func TestAScrubHasMissingObjectsRepaired(t *testing.T) {
	d := newDisk(t)
	lost := manifest.ObjectID{1}
	d.add(random(1, 8))
	d.missing, d.refuse = []manifest.ObjectID{lost}, errors.New("no provider")
	s := d.open()
	d.must(s.Begin(t.Context()))
	d.finish(s)
	if p := d.saved; p.IsRunning() || p.Damaged != 1 || p.Repaired != 0 || len(p.Left) != 1 || p.Left[0].Object != lost {
		t.Errorf("%+v", p)
	}
	d.must(s.Retry(t.Context()))
	if p := d.saved; len(p.Left) != 1 {
		t.Errorf("an object that is still missing counts as repaired: %+v", p)
	}
	d.refuse = nil
	d.must(s.Retry(t.Context()))
	if p := d.saved; len(p.Left) != 0 || p.Repaired != 1 || !slices.Equal(d.repaired, d.missing) {
		t.Errorf("%+v, repaired %v", p, d.repaired)
	}
}

func TestAScrubReadsEveryObjectAndHasDamagedOnesRepaired(t *testing.T) {
	d := newDisk(t)
	var ids []manifest.ObjectID
	for i, size := range []int{0, 8, 4096, 300 << 10, 1 << 20} {
		ids = append(ids, d.add(random(i, size)))
	}
	d.damage(ids[1])
	d.damage(ids[4])
	d.must(os.Truncate(d.path(ids[3]), 4096))
	s := d.open()
	d.must(s.Begin(t.Context()))
	d.finish(s)
	want := []manifest.ObjectID{ids[1], ids[3], ids[4]}
	slices.SortFunc(want, func(a, b manifest.ObjectID) int { return bytes.Compare(a[:], b[:]) })
	if !slices.Equal(d.repaired, want) {
		t.Errorf("repaired %v, want %v", d.repaired, want)
	}
	size := int64(8 + 4096 + 4096 + 1<<20)
	p := d.saved
	if p.IsRunning() || p.Objects != 5 || p.TotalObjects != 5 || p.Bytes != size || p.TotalBytes != size || d.read != size || p.Damaged != 3 || p.Repaired != 3 || len(p.Left) != 0 {
		t.Errorf("progress %+v, read %d", p, d.read)
	}
}

func TestAScrubGoesOnWhereAnEarlierProcessStopped(t *testing.T) {
	d := newDisk(t)
	const size = 40 << 20
	d.damage(d.add(random(1, size)))
	d.add(random(2, size))
	s := d.open()
	d.must(s.Begin(t.Context()))
	slices := 0
	for ended := false; !ended; slices++ { // each slice in a process of its own
		var err error
		ended, err = s.Slice(t.Context())
		d.must(err)
		if p := s.Progress(); !ended && p.Bytes == 0 {
			t.Fatalf("no progress: %+v", p)
		}
		d.must(s.Close())
		s = d.open()
	}
	if d.read != 2*size || slices < 4 || d.saved.Bytes != 2*size || d.saved.Objects != 2 || len(d.repaired) != 1 {
		t.Errorf("%d slices read %d bytes, progress %+v", slices, d.read, d.saved)
	}
}

func TestAnObjectThatWasReplacedIsReadFromItsStart(t *testing.T) {
	d := newDisk(t)
	const size = 20 << 20
	content := random(1, size)
	id := d.add(content)
	s := d.open()
	d.must(s.Begin(t.Context()))
	_, err := s.Slice(t.Context())
	d.must(err)
	d.must(s.Close())
	d.must(os.WriteFile(d.path(id)+".new", content, 0o644))
	d.must(os.Rename(d.path(id)+".new", d.path(id)))
	before := d.read
	d.finish(d.open())
	if d.read-before != size || len(d.repaired) > 0 || d.saved.Bytes != size {
		t.Errorf("read %d, repaired %v, progress %+v", d.read-before, d.repaired, d.saved)
	}
}

func TestAnObjectThatVanishesIsNoDamage(t *testing.T) {
	d := newDisk(t)
	ids := []manifest.ObjectID{d.add(random(1, 8)), d.add(random(2, 8))}
	s := d.open()
	d.must(s.Begin(t.Context()))
	d.must(os.Remove(d.path(ids[0])))
	d.finish(s)
	if d.saved.Objects != 1 || d.saved.Damaged != 0 || d.saved.TotalObjects != 2 {
		t.Errorf("progress %+v", d.saved)
	}
}

func TestDamageThatIsLeftIsTriedAgain(t *testing.T) {
	d := newDisk(t)
	content := random(1, 4096)
	id := d.add(content)
	d.damage(id)
	d.refuse = errors.New("the provider is down")
	s := d.open()
	d.must(s.Begin(t.Context()))
	d.finish(s)
	if left := d.saved.Left; len(left) != 1 || left[0].Object != id || left[0].File != "data/file" || d.saved.Repaired != 0 {
		t.Errorf("progress %+v", d.saved)
	}
	s = d.open()
	d.must(s.Retry(t.Context()))
	if len(d.saved.Left) != 1 {
		t.Errorf("progress %+v", d.saved)
	}
	d.must(s.Begin(t.Context()))
	d.finish(s)
	if len(d.saved.Left) != 1 || d.found != 1 {
		t.Errorf("%d times new, progress %+v", d.found, d.saved)
	}
	d.refuse = nil
	d.must(s.Retry(t.Context()))
	if len(d.saved.Left) != 0 || d.saved.Repaired != 1 || len(d.repaired) != 1 {
		t.Errorf("progress %+v", d.saved)
	}
	d.add(content)
	d.must(s.Begin(t.Context()))
	d.finish(s)
	if d.saved.Damaged != 0 || d.saved.Objects != 1 {
		t.Errorf("the next scrub %+v", d.saved)
	}
}

func TestAScrubKeepsToItsRateAndASliceIsShort(t *testing.T) {
	d := newDisk(t)
	const size, perSecond = 4 << 20, 64 << 10
	d.add(random(1, size))
	synctest.Test(t, func(t *testing.T) {
		d.rate = rate.NewBudget(rate.Always(perSecond))
		s := d.open()
		began := time.Now()
		d.must(s.Begin(t.Context()))
		for ended := false; !ended; {
			slice := time.Now()
			var err error
			ended, err = s.Slice(t.Context())
			d.must(err)
			if took := time.Since(slice); took > 2*time.Second {
				t.Fatalf("a slice took %s", took)
			}
		}
		if took := time.Since(began).Round(time.Second); took != (size-perSecond)/perSecond*time.Second {
			t.Errorf("took %s", took)
		}
		if d.saves < 3 || d.saves > 6 { // every 30 seconds, at the beginning and at the end
			t.Errorf("saved %d times", d.saves)
		}
	})
}

func TestAnEndedContextEndsASlice(t *testing.T) {
	d := newDisk(t)
	d.add(random(1, 1<<20))
	synctest.Test(t, func(t *testing.T) {
		d.rate = rate.NewBudget(rate.Always(1))
		s := d.open()
		d.must(s.Begin(t.Context()))
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		if _, err := s.Slice(ctx); !errors.Is(err, stop) || d.saved.Part == nil || d.saved.Part.Bytes == 0 {
			t.Errorf("error %v, progress %+v", err, d.saved)
		}
		d.must(s.Close())
	})
}

// A clock that is set back during a scrub makes its damage older than its beginning.
func TestAClockThatIsSetBackLosesNoDamage(t *testing.T) {
	d := newDisk(t)
	id := d.add(random(1, 8))
	d.damage(id)
	d.refuse = errors.New("the provider is down")
	d.saved = store.Scrub{StartedAt: time.Now().Add(24 * time.Hour), TotalObjects: 1}
	s := d.open()
	d.finish(s)
	if left := s.Progress().Left; len(left) != 1 || left[0].Object != id {
		t.Errorf("left %+v", left)
	}
}
