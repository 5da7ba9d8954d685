package bucket

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
	"syncd/internal/mirror/record"
)

// EntryOf is the entry of a revision of this host in a generation, without the sum of its
// record's text.
func EntryOf(r record.Record) Manifest {
	m := Manifest{
		Name: r.Manifest, Release: r.Release, Revision: r.Revision, Files: len(r.Files), MirroredAt: r.MirroredAt.UTC(),
		Held: r.Held != nil || r.Orders.Pin != "", Described: r.Described,
	}
	for _, f := range r.Files {
		m.Bytes += f.Size
	}
	if r.Described {
		m.tell(r)
	}
	return m
}

// tell adds what the provider's lists say, if others would read it.
func (m *Manifest) tell(r record.Record) {
	var aliases []string
	for _, alias := range r.Aliases {
		aliases = append(aliases, string(alias))
	}
	told := *m
	told.Aliases, told.Description = strings.Join(aliases, " "), r.Description
	if told.check() == nil {
		*m = told
	}
}

// RecordOf is the record of a revision of this host as others get it. It depends on the
// revision alone, but for what the provider said about the files.
func RecordOf(r record.Record) record.Record {
	return record.Record{
		Manifest: r.Manifest, Release: r.Release, Revision: r.Revision, Source: r.Source,
		Listed: max(r.Listed, len(r.Files)), Bytes: EntryOf(r).Bytes, Files: r.Files,
	}
}

// RecordText is the text of a record, which is never held in memory: WriteRecord writes it.
type RecordText struct {
	record.Record
	Size   int64
	Sum    manifest.ObjectID
	IsBare bool // without metadata, which would have made it too long
}

// TextOf is the text by which others get the record of a revision of this host. It refuses a
// record that they would refuse.
func TextOf(r record.Record) (RecordText, error) {
	r = RecordOf(r)
	if err := CheckRecord(r); err != nil {
		return RecordText{}, fmt.Errorf("publish %s: %w", r.Manifest, err)
	}
	return measured(r)
}

// measured takes size and sum of a record's text. A record that followers would refuse,
// because it is too long, has no metadata.
func measured(r record.Record) (RecordText, error) {
	measure := &measurer{sum: sha256.New()}
	err := WriteRecord(measure, r)
	hasMetadata := func(f record.File) bool { return f.Metadata != nil }
	if err == nil && measure.size > record.Limit(len(r.Files)) && slices.ContainsFunc(r.Files, hasMetadata) {
		text, err := measured(WithoutMetadata(r))
		text.IsBare = true
		return text, err
	}
	return RecordText{Record: r, Size: measure.size, Sum: manifest.ObjectID(measure.sum.Sum(nil))}, err
}

// WithoutMetadata is a record with the files' names, sizes and digests only.
func WithoutMetadata(r record.Record) record.Record {
	r.Files = slices.Clone(r.Files)
	for i := range r.Files {
		r.Files[i].Metadata = nil
	}
	return r
}

type measurer struct {
	size int64
	sum  hash.Hash
}

func (m *measurer) Write(p []byte) (int, error) {
	m.size += int64(len(p))
	return m.sum.Write(p)
}

// SameManifests is true when generations would show the same revisions.
func SameManifests(a, b []Manifest) bool {
	return slices.EqualFunc(a, b, func(x, y Manifest) bool {
		x.MirroredAt, y.MirroredAt = time.Time{}, time.Time{}
		x.Publisher, y.Publisher = "", ""
		return x == y
	})
}

// SameOrders is true when generations would order the same.
func SameOrders(a, b map[string]destruction.Order) bool {
	return maps.EqualFunc(a, b, destruction.Order.Equal)
}
