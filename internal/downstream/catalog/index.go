package catalog

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// index finds files by their references, without case. Entries with the same hash form a
// chain, so that an entry takes little more memory than its two numbers.
type index struct {
	entries []entry
	exact   map[uint64]int32 // first entry of the chain, by the hash of the reference
	series  map[uint64]int32 // the same, by the hash of the reference without release and tag
}

// entry is a file and the revisions that have it.
type entry struct {
	file                  *file
	in                    *set
	nextExact, nextSeries int32 // -1 at the end of a chain
}

// set is a set of revisions. Equal sets are one, because thousands of files have the same.
type set struct {
	revisions []*Revision
	larger    map[*Revision]*set // with one more
}

func (s *set) with(r *Revision) *set {
	next := s.larger[r]
	if next == nil {
		next = &set{revisions: append(slices.Clone(s.revisions), r), larger: map[*Revision]*set{}}
		s.larger[r] = next
	}
	return next
}

// builder makes a snapshot.
type builder struct {
	index
	none    *set
	all     []*Revision // the served ones come first
	nServed int
}

func newBuilder() *builder {
	return &builder{index: index{exact: map[uint64]int32{}, series: map[uint64]int32{}}, none: &set{larger: map[*Revision]*set{}}}
}

// add adds a revision. Served ones are added before the others.
func (b *builder) add(r *Revision, isServed bool) {
	b.all = append(b.all, r)
	if isServed {
		b.nServed++
	}
	for _, f := range r.files {
		if e := b.find(f); e != nil {
			e.in = e.in.with(r)
			continue
		}
		e := entry{file: f, in: b.none.with(r), nextExact: -1, nextSeries: -1}
		at := int32(len(b.entries)) //nolint:gosec // at most maxFiles and what is served
		if first, found := b.exact[f.exact]; found {
			e.nextExact = first
		}
		if first, found := b.series[f.series]; found {
			e.nextSeries = first
		}
		b.entries = append(b.entries, e)
		b.exact[f.exact], b.series[f.series] = at, at
	}
}

// find returns the entry of the same file.
func (b *builder) find(f *file) *entry {
	for i, e := range b.chain(b.exact, f.exact, nextExact) {
		if e.file == f || sameFile(e.file, f) {
			return &b.entries[i]
		}
	}
	return nil
}

func sameFile(a, b *file) bool {
	return a.ref == b.ref && a.object == b.object && a.size == b.size && a.meta == b.meta && a.slash == b.slash
}

func nextExact(e *entry) int32  { return e.nextExact }
func nextSeries(e *entry) int32 { return e.nextSeries }

// chain returns the entries of a chain.
func (x *index) chain(heads map[uint64]int32, hash uint64, next func(*entry) int32) func(func(int32, *entry) bool) {
	return func(yield func(int32, *entry) bool) {
		at, found := heads[hash]
		for found && at >= 0 {
			e := &x.entries[at]
			if !yield(at, e) {
				return
			}
			at = next(e)
		}
	}
}

// filesOf makes the files of a record. They share memory with files of other revisions.
func (b *builder) filesOf(record mirror.Record) []*file {
	files := make([]*file, 0, len(record.Files))
	positions := make(map[*file]int32, len(record.Files))
	for _, f := range record.Files {
		if f.Reference == "" {
			continue // no request can name it
		}
		made := &file{ref: f.Reference, size: f.Size, object: f.Object, expected: f.Expected, slash: f.Slash, meta: f.Metadata, exact: exactHash(f.Reference.Parts()), series: seriesHash(f.Reference.Parts())}
		if known := b.find(made); known != nil {
			made = known.file
		}
		files, positions[made] = append(files, made), f.Position
	}
	slices.SortStableFunc(files, func(a, b *file) int { return cmp.Compare(positions[a], positions[b]) })
	return files
}

// seed keeps followers from choosing names with equal hashes.
var seed = maphash.MakeSeed()

func exactHash(ref manifest.Parts) uint64 {
	return hash(ref, string(ref.Release), ref.Tag)
}

func seriesHash(ref manifest.Parts) uint64 { return hash(ref, "", "") }

func hash(ref manifest.Parts, release, tag string) uint64 {
	var room [256]byte
	key := room[:0]
	for _, segment := range [...]string{string(ref.Class), ref.OS, ref.Compiler, ref.Language, ref.Architecture, release, ref.Name, tag} {
		for i := range len(segment) {
			key = append(key, lower(segment[i]))
		}
		key = append(key, 0)
	}
	return maphash.Bytes(seed, key)
}

// lower changes ASCII letters only, as manifest.Reference.Path does.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// isSameSeries is true for references that differ in release, tag and case only.
func isSameSeries(a, b manifest.Parts) bool {
	return a.Class == b.Class && strings.EqualFold(a.Name, b.Name) && strings.EqualFold(a.OS, b.OS) && strings.EqualFold(a.Compiler, b.Compiler) &&
		strings.EqualFold(a.Language, b.Language) && strings.EqualFold(a.Architecture, b.Architecture)
}
