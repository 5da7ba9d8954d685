package publisher

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/report"
)

// made are the patches of a host, whose bytes nobody looks at here.
type made struct {
	dir  string
	list []bucket.Patch
}

func (m *made) make(t *testing.T, before, after manifest.ObjectID, text string) bucket.Patch {
	t.Helper()
	p := bucket.Patch{Old: before, New: after, Size: int64(len(text))}
	must(t, os.WriteFile(filepath.Join(m.dir, filepath.Base(p.Name())), []byte(text), 0o600))
	m.list = append(m.list, p)
	return p
}

func (m *made) List(r mirror.Record) (of []bucket.Patch) {
	for _, p := range m.list {
		for _, f := range r.Files {
			if f.Object == p.New {
				of = append(of, p)
			}
		}
	}
	return of
}

func (m *made) Open(before, after manifest.ObjectID) (*os.File, int64, error) {
	for _, p := range m.list {
		if p.Old == before && p.New == after {
			f, err := os.Open(filepath.Join(m.dir, filepath.Base(p.Name())))
			return f, p.Size, err
		}
	}
	return nil, 0, fs.ErrNotExist
}

func patchesIn(t *testing.T, s *buckettest.Server, r mirror.Record) []bucket.Patch {
	t.Helper()
	name := bucket.PatchListName(bucket.EntryOf(r))
	l, err := bucket.ParsePatchList(name, file(t, s, name))
	must(t, err)
	return l.Patches
}

func TestPatchesFollowTheirGeneration(t *testing.T) { onEachServer(t, patchesFollowTheirGeneration) }

func patchesFollowTheirGeneration(t *testing.T, server *buckettest.Server) {
	h, m := newHost(t), &made{dir: t.TempDir()}
	p := newPublisher(t, server.Endpoint, h, func(c *Config) { c.Patches = m })
	h.serve("addr", "2026.10", map[string]string{"a": "one"})
	r := h.serve("addr", "2026.11", map[string]string{"a": "two", "b": "three"})
	mustPublish(t, p, Request{})
	if isInBucket(t, server, bucket.PatchListName(bucket.EntryOf(r))) {
		t.Error("there is a list of no patches")
	}
	number := look(t, server).current.Generation
	patch := m.make(t, sum("one"), sum("two"), "a patch")
	large := m.make(t, bucket.Empty, sum("three"), string(bytes.Repeat([]byte("large"), 9<<20))) // in parts
	mustPublish(t, p, Request{})
	if got := patchesIn(t, server, r); len(got) != 2 || string(file(t, server, patch.Name())) != "a patch" || len(file(t, server, large.Name())) != 45<<20 {
		t.Errorf("%v", got)
	}
	if now := look(t, server).current.Generation; now != number {
		t.Errorf("generation %d became %d for patches", number, now)
	}
	m.list = m.list[:1]
	mustPublish(t, p, Request{})
	if got := patchesIn(t, server, r); len(got) != 1 || got[0] != patch {
		t.Errorf("%v", got)
	}
}

func TestAFailureOfPatchesFailsNoPublication(t *testing.T) {
	server := start(t)
	h, m := newHost(t), &made{dir: t.TempDir()}
	p := newPublisher(t, server.Endpoint, h, func(c *Config) { c.Patches = m })
	r := h.serve("addr", "2026.11", map[string]string{"a": "two"})
	patch := m.make(t, sum("one"), sum("two"), "a patch")
	path := filepath.Join(m.dir, filepath.Base(patch.Name()))
	must(t, os.Rename(path, path+".away"))
	if done := mustPublish(t, p, Request{}); done.Result != report.Uploaded || done.Error != "" {
		t.Errorf("%+v", done)
	}
	must(t, os.Rename(path+".away", path))
	mustPublish(t, p, Request{})
	if got := patchesIn(t, server, r); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestPatchesGoWithTheirContents(t *testing.T) {
	server := start(t)
	h, m, o := newHost(t), &made{dir: t.TempDir()}, orders{"addr": {Seconds: 90 * 86400}}
	p := newPublisher(t, server.Endpoint, h, func(c *Config) { c.Patches, c.Order = m, o.of })
	gone := h.serve("addr", "2026.09", map[string]string{"a": "nine"})
	m.make(t, bucket.Empty, sum("nine"), "zstd of nine")
	mustPublish(t, p, Request{})
	h.serve("addr", "2026.10", map[string]string{"a": "ten"})
	destroyed := m.make(t, sum("nine"), sum("ten"), "nine to ten")
	kept := m.make(t, bucket.Empty, sum("ten"), "zstd of ten")
	mustPublish(t, p, Request{})
	if !isInBucket(t, server, destroyed.Name()) {
		t.Fatal("the patch is not there")
	}
	m.list = m.list[2:]
	o.destroy(gone)
	mustPublish(t, p, Request{})
	for name, want := range map[string]bool{
		destroyed.Name(): false, kept.Name(): true, bucket.PatchName(bucket.Empty, sum("nine")): false, bucket.PatchListName(bucket.EntryOf(gone)): false,
	} {
		if isInBucket(t, server, name) != want {
			t.Errorf("%s is there: %v", name, !want)
		}
	}
	h.serve("addr", "2026.11", map[string]string{"a": "eleven"})
	mustPublish(t, p, Request{})
	age(t, server, 100*time.Hour)
	mustPublish(t, p, Request{Collect: true})
	if isInBucket(t, server, kept.Name()) {
		t.Error("a patch outlived its content")
	}
}

func TestVerificationFindsAndRepairsPatches(t *testing.T) {
	server := start(t)
	h, m := newHost(t), &made{dir: t.TempDir()}
	p := newPublisher(t, server.Endpoint, h, func(c *Config) { c.Patches = m })
	r := h.serve("addr", "2026.11", map[string]string{"a": "two", "b": "three"})
	one := m.make(t, sum("one"), sum("two"), "a patch")
	other := m.make(t, bucket.Empty, sum("three"), "another patch")
	list := bucket.PatchListName(bucket.EntryOf(r))
	mustPublish(t, p, Request{})
	if c := mustVerify(t, p, Verify{}); len(c.Damage) != 0 {
		t.Fatalf("%+v", c)
	}
	for name, spoil := range map[string]func(){
		"a missing patch":         func() { lose(t, server, one.Name()) },
		"a patch of another size": func() { server.Put("mirror/"+one.Name(), []byte("a")) },
		"two patches":             func() { lose(t, server, one.Name()); lose(t, server, other.Name()) },
		"a damaged list":          func() { server.Put("mirror/"+list, []byte("{")) },
	} {
		spoil()
		if c := mustVerify(t, p, Verify{}); c.Left() != 1 || c.Damage[0].Name != list || c.Damage[0].Manifest != "addr" {
			t.Errorf("%s: found %+v", name, c)
		}
		if c := mustVerify(t, p, Verify{Repair: true}); c.Repaired != 1 || c.Left() != 0 {
			t.Errorf("%s: repaired %+v", name, c)
		}
		if c := mustVerify(t, p, Verify{}); len(c.Damage) != 0 || len(patchesIn(t, server, r)) != 2 {
			t.Errorf("%s: left %+v", name, c)
		}
	}
	// A publisher that does not have the patch takes it from the list.
	lose(t, server, one.Name())
	p = newPublisher(t, server.Endpoint, h, nil)
	if c := mustVerify(t, p, Verify{Repair: true}); c.Left() != 0 {
		t.Errorf("%+v", c)
	}
	if got := patchesIn(t, server, r); len(got) != 1 || got[0] != other {
		t.Errorf("%v", got)
	}
}
