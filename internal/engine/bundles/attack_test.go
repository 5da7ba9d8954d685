package bundles

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"syncd/internal/downstream/believer"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bundle"
	"syncd/internal/downstream/trust"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror/record"
	"syncd/internal/store"
)

var start = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// belief keeps what was believed.
type belief struct{ now store.Belief }

func (b *belief) Belief() (store.Belief, error)     { return b.now, nil }
func (b *belief) SetBelief(next store.Belief) error { b.now = next; return nil }

// origin is a publisher with its keys.
type origin struct {
	*testing.T
	name  string
	keys  []*trust.PrivateKey
	chain trust.Chain
}

func newOrigin(t *testing.T, name string, threshold int, keys ...string) *origin {
	t.Helper()
	o := &origin{T: t, name: name}
	for _, k := range keys {
		o.keys = append(o.keys, o.key(k))
	}
	text, err := trust.New(name, threshold, start.AddDate(5, 0, 0), publics(o.keys)...)
	if err != nil {
		t.Fatal(err)
	}
	o.chain = trust.Chain{text}
	return o
}

func (o *origin) key(name string) *trust.PrivateKey {
	o.Helper()
	secret, _, err := trust.GenerateKey(name)
	if err != nil {
		o.Fatal(err)
	}
	key, err := trust.ParsePrivateKey(secret)
	if err != nil {
		o.Fatal(err)
	}
	return key
}

func publics(keys []*trust.PrivateKey) (list []trust.Key) {
	for _, k := range keys {
		list = append(list, k.Public())
	}
	return list
}

// next makes the next version of the trust text, signed by some keys.
func (o *origin) next(change trust.Change, signers ...*trust.PrivateKey) trust.Text {
	o.Helper()
	next, err := o.chain.Next(change)
	if err == nil {
		next, err = o.chain.SignedBy(next, signers...)
	}
	if err != nil {
		o.Fatal(err)
	}
	return next
}

// rotate replaces all keys.
func (o *origin) rotate(name string) {
	o.Helper()
	key := o.key(name)
	next := o.next(trust.Change{Add: publics([]*trust.PrivateKey{key}), Remove: o.chain.Newest().Keys, Threshold: 1}, append(o.keys, key)...)
	chain, err := o.chain.Add(next)
	if err != nil {
		o.Fatal(err)
	}
	o.chain, o.keys = chain, []*trust.PrivateKey{key}
}

// offer is a bundle before it is written. An attacker changes it.
type offer struct {
	current    bucket.Current
	generation []byte
	trust      [][]byte
	record     []byte
	name       string // of the record
	content    []byte
	object     manifest.ObjectID
	issued     time.Time
}

// offers is a generation with one release, as the publisher signs it.
func (o *origin) offers(number int, release manifest.Release) *offer {
	o.Helper()
	f := &offer{content: []byte("content of " + release), issued: start}
	f.object = sha256.Sum256(f.content)
	r := record.Record{Manifest: "one", Release: release, Listed: 1, Bytes: int64(len(f.content)), Revision: manifest.RevisionID([]manifest.Sum{{Object: f.object, Path: "a"}})}
	r.Files = []record.File{{Path: "a", Reference: manifest.Parts{Class: manifest.Data, Release: release, Name: "a"}.Reference(), Size: r.Bytes, Object: f.object}}
	var text bytes.Buffer
	if err := bucket.WriteRecord(&text, r); err != nil {
		o.Fatal(err)
	}
	m := bucket.ManifestOf(r)
	f.record, f.name, m.RecordSHA256 = text.Bytes(), m.Record(), sha256.Sum256(text.Bytes())
	f.generation = bucket.Generation{Number: number, Publisher: "near", Version: "test", Manifests: []bucket.Manifest{m}}.Text()
	for _, version := range o.chain {
		f.trust = append(f.trust, version.Bytes())
	}
	f.current = bucket.Current{Generation: number, SHA256: sha256.Sum256(f.generation), Publisher: "near"}
	f.current.Trust = bucket.TrustText{Version: len(f.trust), SHA256: sha256.Sum256(f.trust[len(f.trust)-1])}
	return o.signs(f, o.keys...)
}

// signs makes the statement about what current.json of an offer names.
func (o *origin) signs(f *offer, keys ...*trust.PrivateKey) *offer {
	o.Helper()
	s := trust.Statement{Origin: o.name, Generation: f.current.Generation, SHA256: f.current.SHA256, Issued: f.issued, Expires: f.issued.Add(48 * time.Hour)}
	text, err := s.Sign(keys...)
	if err != nil {
		o.Fatal(err)
	}
	f.current.Statement = string(text)
	return f
}

// forge gives an offer another generation, which current.json names.
func (f *offer) forge(change func(text string) string) *offer {
	f.generation = []byte(change(string(f.generation)))
	f.current.SHA256 = sha256.Sum256(f.generation)
	return f
}

func (f *offer) write(t *testing.T) []bundle.File {
	t.Helper()
	members := []bundle.Member{member(bucket.CurrentName, f.current.Text()), member(bucket.GenerationName(f.current.Generation), f.generation)}
	for i, text := range f.trust {
		members = append(members, member(bucket.TrustName(i+1), text))
	}
	content := member(bucket.ObjectName(f.object), f.content)
	plan, err := bundle.NewPlan(append(members, member(f.name, f.record), content), bundle.Layout{Generation: f.current.Generation})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := plan.Write(t.Context(), func(_ int, write func(io.Writer) error) error { return write(&file) }); err != nil {
		t.Fatal(err)
	}
	return []bundle.File{{Name: "b.tar", Size: int64(file.Len()), ReaderAt: bytes.NewReader(file.Bytes())}}
}

// target is a host with a trust file.
type target struct {
	*testing.T
	memory *memory
	belief *belief
	now    time.Time
	file   trust.Chain
}

// imports reads a bundle as an import does, up to the record.
func (h *target) imports(files []bundle.File) error {
	h.Helper()
	believes, err := believer.New(h.file, h.belief, func() time.Time { return h.now })
	if err != nil {
		h.Fatal(err)
	}
	b, err := bundle.Open(h.Context(), files, bundle.Whole)
	if err != nil {
		return err
	}
	for _, f := range files {
		if disk, ok := f.ReaderAt.(*lying); ok {
			disk.Reader = disk.then
		}
	}
	s, err := Open(b, Config{Store: h.memory, Records: h.memory, Believer: believes}, func() {})
	if err != nil {
		return err
	}
	defer s.Close()
	g, err := s.Generation(h.Context())
	if err != nil {
		return errors.Join(err, s.Taken())
	}
	for _, m := range g.Manifests {
		if _, err := s.Record(h.Context(), m); err != nil {
			return err
		}
	}
	return s.Taken()
}

// lying is a disk that has other bytes once they were checked.
type lying struct {
	*bytes.Reader
	then *bytes.Reader
}

// The signature of one generation must not make another one believed: its orders destroy data,
// and the time of its statement counts as proven.
func TestADiskThatChangesMeanwhileGivesNoOrders(t *testing.T) {
	o := newOrigin(t, "mirror.example.net", 1, "a")
	signed := o.offers(8, "2026.10")
	forged := o.offers(8, "2026.10").forge(func(text string) string {
		return strings.Replace(text, "\n}", ",\n \"destruction\": {\"one\": {\"destroy_after\": 1, \"publisher\": \"near\"}}\n}", 1)
	})
	forged.issued = start.AddDate(1, 0, 0)
	o.signs(forged, o.key("a")) // a key of the same name, which nobody trusts
	signed.generation = append(signed.generation, bytes.Repeat([]byte{' '}, len(forged.generation)-len(signed.generation))...)
	signed.current.SHA256 = sha256.Sum256(signed.generation)
	o.signs(signed, o.keys...)
	wrong, genuine := forged.write(t), signed.write(t)
	if wrong[0].Size != genuine[0].Size {
		t.Fatalf("%d and %d bytes", wrong[0].Size, genuine[0].Size)
	}
	for name, row := range map[string]struct {
		first, then []bundle.File
		reason      refusal.Reason
	}{
		"forged, then signed": {wrong, genuine, refusal.Unsigned},
		"signed, then forged": {genuine, wrong, refusal.HashMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			h := &target{T: t, memory: &memory{}, belief: &belief{}, now: start, file: o.chain}
			disk := &lying{row.first[0].ReaderAt.(*bytes.Reader), row.then[0].ReaderAt.(*bytes.Reader)}
			err := h.imports([]bundle.File{{Name: "b.tar", Size: row.first[0].Size, ReaderAt: disk}})
			if refusal.ReasonOf(err) != row.reason {
				t.Errorf("reason %q, want %q: %v", refusal.ReasonOf(err), row.reason, err)
			}
			if len(h.memory.now.Orders) > 0 || h.memory.now.Generation > 0 {
				t.Errorf("kept: %+v", h.memory.now)
			}
		})
	}
}

// TestAttacksByABundle are the attacks of TUF by whoever has the disk on its way: each is
// refused, and what is believed stays.
func TestAttacksByABundle(t *testing.T) {
	type attack struct {
		name   string
		reason refusal.Reason
		files  func(t *testing.T, o *origin, h *target) []bundle.File
	}
	by := func(change func(o *origin, f *offer)) func(*testing.T, *origin, *target) []bundle.File {
		return func(t *testing.T, o *origin, _ *target) []bundle.File {
			f := o.offers(9, "2026.11")
			change(o, f)
			return f.write(t)
		}
	}
	rows := []attack{
		{"arbitrary content", refusal.HashMismatch, by(func(_ *origin, f *offer) { f.content = []byte("malware of 2026.11") })},
		{"arbitrary record", refusal.HashMismatch, by(func(_ *origin, f *offer) { f.record = bytes.Replace(f.record, []byte("2026.11"), []byte("2026.12"), 1) })},
		{"arbitrary generation", refusal.BadSignature, by(func(_ *origin, f *offer) {
			f.forge(func(text string) string { return strings.ReplaceAll(text, "near", "evil") })
		})},
		{"forged hold", refusal.BadSignature, by(func(_ *origin, f *offer) {
			f.forge(func(text string) string { return strings.Replace(text, `"files": 1`, `"files": 1, "held": true`, 1) })
		})},
		{"forged order to destroy", refusal.BadSignature, by(func(_ *origin, f *offer) {
			f.forge(func(text string) string {
				return strings.Replace(text, `"manifests"`, `"destruction": {"one": {"seconds": 1}}, "manifests"`, 1)
			})
		})},
		{"no statement", refusal.Unsigned, by(func(_ *origin, f *offer) { f.current.Statement = "" })},
		{"no signature", refusal.Unsigned, by(func(_ *origin, f *offer) {
			f.current.Statement = f.current.Statement[:strings.Index(f.current.Statement, "\n\n")+1]
		})},
		{"one of two keys", refusal.Unsigned, by(func(o *origin, f *offer) { o.signs(f, o.keys[0]) })},
		{"one key twice", refusal.Unsigned, by(func(o *origin, f *offer) {
			o.signs(f, o.keys[0])
			f.current.Statement += f.current.Statement[strings.Index(f.current.Statement, "\n\n")+2:]
		})},
		{"a key that nobody trusts", refusal.Unsigned, by(func(o *origin, f *offer) { o.signs(f, o.keys[0], o.key("mallory")) })},
		{"a key with a trusted name", refusal.Unsigned, by(func(o *origin, f *offer) { o.signs(f, o.keys[0], o.key("b")) })},
		{"a flipped signature", refusal.BadSignature, by(func(_ *origin, f *offer) {
			at := len(f.current.Statement) - 10
			next := byte('A')
			if f.current.Statement[at] == 'A' {
				next = 'B'
			}
			f.current.Statement = f.current.Statement[:at] + string(next) + f.current.Statement[at+1:]
		})},
		{"rollback", refusal.UpstreamRollback, func(t *testing.T, o *origin, _ *target) []bundle.File { return o.offers(7, "2026.09").write(t) }},
		{"another text with the number", refusal.UpstreamRollback, func(t *testing.T, o *origin, _ *target) []bundle.File { return o.offers(8, "2026.12").write(t) }},
		{"freeze", refusal.UpstreamFrozen, func(t *testing.T, o *origin, h *target) []bundle.File {
			h.now = start.Add(50 * time.Hour)
			return o.offers(9, "2026.11").write(t)
		}},
		{"replay for a new host", refusal.UpstreamFrozen, func(t *testing.T, o *origin, h *target) []bundle.File {
			h.belief.now, h.now = store.Belief{}, start.Add(50*time.Hour)
			return o.offers(8, "2026.10").write(t)
		}},
		{"another origin", refusal.WrongOrigin, func(t *testing.T, _ *origin, _ *target) []bundle.File {
			return newOrigin(t, "stranger.example.net", 2, "a", "b").offers(9, "2026.11").write(t)
		}},
		{"another root of the origin", refusal.Unsigned, func(t *testing.T, o *origin, _ *target) []bundle.File {
			return newOrigin(t, o.name, 2, "a", "b").offers(9, "2026.11").write(t)
		}},
		{"statement of another generation", refusal.BadSignature, by(func(o *origin, f *offer) { f.current.Statement = o.offers(10, "2026.12").current.Statement })},
		{"record of another generation", refusal.HashMismatch, by(func(o *origin, f *offer) { f.record = o.offers(8, "2026.10").record })},
		{"generation of another number", refusal.HashMismatch, by(func(_ *origin, f *offer) {
			f.generation = []byte(strings.Replace(string(f.generation), `"generation": 9`, `"generation": 10`, 1))
		})},
		{"endless generation", refusal.TooLarge, by(func(_ *origin, f *offer) { f.generation = append(f.generation, bytes.Repeat([]byte{' '}, 5<<20)...) })},
		{"endless record", refusal.TooLarge, by(func(_ *origin, f *offer) { f.record = append(f.record, bytes.Repeat([]byte{' '}, 5<<20)...) })},
		{"endless trust text", refusal.TooLarge, by(func(_ *origin, f *offer) { f.trust[0] = append(f.trust[0], bytes.Repeat([]byte{' '}, 2<<20)...) })},
		{"a version that its own keys signed", refusal.BadTrust, by(func(o *origin, f *offer) {
			mallory := o.key("mallory")
			next := o.next(trust.Change{Add: publics([]*trust.PrivateKey{mallory}), Threshold: 1}, mallory)
			f.trust = append(f.trust, next.Bytes())
			f.current.Trust = bucket.TrustText{Version: 2, SHA256: sha256.Sum256(next.Bytes())}
			o.signs(f, mallory)
		})},
		{"a version that one of two keys signed", refusal.BadTrust, by(func(o *origin, f *offer) {
			next := o.next(trust.Change{Threshold: 1}, o.keys[0])
			f.trust = append(f.trust, next.Bytes())
			f.current.Trust = bucket.TrustText{Version: 2, SHA256: sha256.Sum256(next.Bytes())}
			o.signs(f, o.keys[0])
		})},
		{"a version that is not there", refusal.BadTrust, by(func(_ *origin, f *offer) { f.current.Trust.Version = 2 })},
		{"other bytes of a version", refusal.BadTrust, by(func(_ *origin, f *offer) { f.current.Trust.SHA256[0] ^= 1 })},
		{"a trust text that ended", refusal.BadTrust, func(t *testing.T, o *origin, h *target) []bundle.File {
			h.now = start.AddDate(6, 0, 0)
			f := o.offers(9, "2026.11")
			f.issued = h.now
			return o.signs(f, o.keys...).write(t)
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			o := newOrigin(t, "mirror.example.net", 2, "a", "b")
			h := &target{T: t, memory: &memory{}, belief: &belief{}, now: start, file: o.chain}
			if err := h.imports(o.offers(8, "2026.10").write(t)); err != nil {
				t.Fatal(err)
			}
			files := row.files(t, o, h)
			carried, believed := h.memory.now, h.belief.now
			err := h.imports(files)
			if refusal.ReasonOf(err) != row.reason {
				t.Errorf("reason %q, want %q: %v", refusal.ReasonOf(err), row.reason, err)
			}
			if h.memory.now.Generation != carried.Generation || !slices.Equal(h.memory.now.IDs, carried.IDs) || h.belief.now.Generation != believed.Generation || len(h.belief.now.Rings) != len(believed.Rings) {
				t.Errorf("what is believed changed from %+v to %+v", believed, h.belief.now)
			}
		})
	}
}

// Keys were replaced twice since the last bundle: the texts in the bundle lead to the new ones.
func TestABundleLeadsToNewKeys(t *testing.T) {
	o := newOrigin(t, "mirror.example.net", 2, "a", "b")
	h := &target{T: t, memory: &memory{}, belief: &belief{}, now: start, file: o.chain}
	o.rotate("c")
	o.rotate("d")
	if err := h.imports(o.offers(8, "2026.10").write(t)); err != nil {
		t.Error(err)
	}
	if h.belief.now.Generation != 8 || !slices.Equal(h.belief.now.Signers, []string{"d"}) {
		t.Errorf("%+v", h.belief.now)
	}
}
