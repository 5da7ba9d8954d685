package bundles

import (
	"bytes"
	"crypto/sha256"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bundle"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror/record"
	"syncd/internal/store"
)

// memory is a Store, and the Records of a host with an empty disk.
type memory struct{ now store.Carried }

func (m *memory) Carried() (store.Carried, error)  { return m.now, nil }
func (m *memory) SetCarried(c store.Carried) error { m.now = c; return nil }
func (*memory) Revision(string, string) (record.Record, error) {
	return record.Record{}, fs.ErrNotExist
}

func member(name string, text []byte) bundle.Member {
	return bundle.Member{Name: name, Size: int64(len(text)), SHA256: sha256.Sum256(text), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text)), nil
	}}
}

// made is a bundle of a generation with the manifests one and two, of which it has some.
func made(t *testing.T, publisher string, number int, release manifest.Release, has ...string) *bundle.Bundle {
	t.Helper()
	return of(t, bucket.Generation{Number: number, Publisher: publisher, Version: "test"}, release, has...)
}

// ordering is one that wants data destroyed.
func ordering(t *testing.T, number int, orders bucket.Orders) *bundle.Bundle {
	t.Helper()
	return of(t, bucket.Generation{Number: number, Publisher: "near", Version: "test", Destruction: orders}, "2026.09", "one", "two")
}

func of(t *testing.T, g bucket.Generation, release manifest.Release, has ...string) *bundle.Bundle {
	t.Helper()
	number, publisher := g.Number, g.Publisher
	var records []bundle.Member
	object := manifest.ObjectID(sha256.Sum256([]byte(release)))
	for _, name := range []string{"one", "two"} {
		f := record.File{Path: "a", Reference: manifest.Parts{Class: manifest.Data, Release: release, Name: "a"}.Reference(), Size: int64(len(release)), Object: object}
		r := record.Record{Manifest: name, Release: release, Listed: 1, Bytes: f.Size, Files: []record.File{f}, Revision: manifest.RevisionID([]manifest.Sum{{Object: object, Path: "a"}})}
		var text bytes.Buffer
		if err := bucket.WriteRecord(&text, r); err != nil {
			t.Fatal(err)
		}
		m := bucket.ManifestOf(r)
		m.RecordSHA256 = sha256.Sum256(text.Bytes())
		g.Manifests = append(g.Manifests, m)
		if slices.Contains(has, name) {
			records = append(records, member(m.Record(), text.Bytes()))
		}
	}
	current := bucket.Current{Generation: number, SHA256: sha256.Sum256(g.Text()), Publisher: publisher}
	members := slices.Concat([]bundle.Member{member(bucket.CurrentName, current.Text()), member(bucket.GenerationName(number), g.Text())}, records, []bundle.Member{member(bucket.ObjectName(object), []byte(release))})
	plan, err := bundle.NewPlan(members, bundle.Layout{Generation: number})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := plan.Write(t.Context(), func(_ int, write func(io.Writer) error) error { return write(&file) }); err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Open(t.Context(), []bundle.File{{Name: "b.tar", Size: int64(file.Len()), ReaderAt: bytes.NewReader(file.Bytes())}}, bundle.Whole)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// offered are the releases that a source offers, by the manifest.
func offered(t *testing.T, s *Source) string {
	t.Helper()
	g, err := s.Generation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, m := range g.Manifests {
		texts = append(texts, m.Name+" "+string(m.Release))
	}
	return strings.Join(texts, ", ")
}

func take(t *testing.T, m *memory, b *bundle.Bundle) string {
	t.Helper()
	s, err := Open(b, Config{Store: m, Records: m}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	shown := offered(t, s)
	if err := s.Taken(); err != nil {
		t.Fatal(err)
	}
	return shown
}

// A bundle of some manifests takes nothing from the others, and without a bundle everything
// stays as it is.
func TestWhatABundleLeavesOutStays(t *testing.T) {
	m := &memory{}
	for _, row := range []struct {
		bundle *bundle.Bundle
		want   string
	}{
		{made(t, "near", 7, "2026.09", "one"), "one 2026.09"},
		{made(t, "near", 7, "2026.09", "two"), "one 2026.09, two 2026.09"},
		{made(t, "near", 8, "2026.10", "two"), "one 2026.09, two 2026.10"},
		{nil, "one 2026.09, two 2026.10"},
		{made(t, "near", 9, "2026.11", "one", "two"), "one 2026.11, two 2026.11"},
	} {
		if got := take(t, m, row.bundle); got != row.want {
			t.Errorf("offered %s, want %s", got, row.want)
		}
	}
}

// What the publisher wants destroyed stays in force when the disk has left.
func TestTheOrdersOfABundleStay(t *testing.T) {
	m := &memory{}
	ordered := func(b *bundle.Bundle) int64 {
		t.Helper()
		take(t, m, b)
		s, err := Open(nil, Config{Store: m, Records: m}, func() {})
		if err != nil {
			t.Fatal(err)
		}
		g, err := s.Generation(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return g.Destruction["one"].Seconds
	}
	if got := ordered(ordering(t, 7, bucket.Orders{"one": {Seconds: 90}})); got != 90 {
		t.Errorf("destroy_after is %d without a bundle", got)
	}
	if got := ordered(ordering(t, 8, nil)); got != 0 {
		t.Errorf("destroy_after is %d after a bundle without one", got)
	}
}

// The time of a bundle counts once a sync took what it offers.
func TestABundleTellsWhenItWasIssued(t *testing.T) {
	b := made(t, "near", 7, "2026.09", "one")
	b.Current.PublishedAt = start
	s, err := Open(b, Config{Store: &memory{}, Records: &memory{}}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !s.Issued().IsZero() {
		t.Error("a bundle that nobody asked for tells the time")
	}
	offered(t, s)
	if !s.Issued().Equal(start) {
		t.Errorf("issued %s", s.Issued())
	}
}

func TestABundleMustFollowTheLastOne(t *testing.T) {
	m := &memory{}
	take(t, m, made(t, "near", 7, "2026.09", "one"))
	for reason, b := range map[refusal.Reason]*bundle.Bundle{
		refusal.UpstreamRollback: made(t, "near", 6, "2026.10", "one"), refusal.WrongOrigin: made(t, "stranger", 9, "2026.10", "one"),
	} {
		if _, err := Open(b, Config{Store: m, Records: m}, func() {}); refusal.ReasonOf(err) != reason || !strings.Contains(err.Error(), "b.tar") {
			t.Errorf("%s: %v", reason, err)
		}
		s, err := Open(b, Config{Store: m, Records: m, Force: true}, func() {})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
}

// A bundle that no sync was told of was not taken.
func TestABundleThatWasRefusedIsNotNoted(t *testing.T) {
	m := &memory{}
	s, err := Open(made(t, "near", 7, "2026.09", "one"), Config{Store: m, Records: m}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Taken(); err != nil || m.now.Generation != 0 {
		t.Errorf("%+v, %v", m.now, err)
	}
}

func TestWithoutABundleThereIsNothingToTake(t *testing.T) {
	s, err := Open(nil, Config{Store: &memory{}, Records: &memory{}}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Generation(t.Context()); err == nil || !strings.Contains(err.Error(), "no whole bundle") {
		t.Error(err)
	}
	if _, err := s.Download(t.Context(), manifest.File{}, nil, false); err == nil {
		t.Error("a content came from nowhere")
	}
}

func TestABundleBringsItsContents(t *testing.T) {
	m := &memory{}
	s, err := Open(made(t, "near", 7, "2026.09", "one"), Config{Store: m, Records: m}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	res, err := s.Download(t.Context(), manifest.File{Expected: manifest.ObjectID(sha256.Sum256([]byte("2026.09"))).Digest()}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); string(text) != "2026.09" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	began := time.Now()
	if _, err := s.Download(t.Context(), manifest.File{Expected: manifest.ObjectID{1}.Digest()}, nil, false); err == nil || time.Since(began) > time.Minute {
		t.Error(err)
	}
}
