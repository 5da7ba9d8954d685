package catalog

import (
	"cmp"
	"hash/maphash"
	"iter"
	"slices"
	"strings"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// index finds files by their references, without case. A map of Go would take three times the
// memory of a table, and the files have what the hashes are made of.
type index struct {
	entries []entry
	exact   table // by the whole reference
	series  table // by the reference without release and tag
}

// entry is a file and the revisions that have it.
type entry struct {
	file                  *mirror.File
	in                    *set
	nextExact, nextSeries int32 // the number of the next entry of the chain, from 1 on; 0 at its end
}

// table has chains of entries.
type table struct {
	heads []int32 // the first entry of each chain, as in entry; their number is a power of two
	hash  func(manifest.Parts) uint64
	next  func(*entry) *int32
}

func newIndex() index {
	const chains = 16
	return index{
		exact:  table{make([]int32, chains), exactHash, func(e *entry) *int32 { return &e.nextExact }},
		series: table{make([]int32, chains), seriesHash, func(e *entry) *int32 { return &e.nextSeries }},
	}
}

// put adds an entry. There are as many chains as entries, or up to twice as many.
func (x *index) put(e entry) {
	x.entries = append(x.entries, e)
	for _, t := range []*table{&x.exact, &x.series} {
		from := len(x.entries) - 1
		if from == len(t.heads) {
			t.heads, from = make([]int32, 2*len(t.heads)), 0
		}
		for i := from; i < len(x.entries); i++ {
			e := &x.entries[i]
			head := t.head(t.hash(e.file.Reference.Parts()))
			*t.next(e), *head = *head, int32(i+1) //nolint:gosec // at most maxFiles and what is served
		}
	}
}

func (t *table) head(hash uint64) *int32 { return &t.heads[hash&uint64(len(t.heads)-1)] }

// like returns the entries whose references have the same hash as ref in a table.
func (x *index) like(ref manifest.Parts, t *table) iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		hash := t.hash(ref)
		for at := *t.head(hash); at > 0; {
			e := &x.entries[at-1]
			if t.hash(e.file.Reference.Parts()) == hash && !yield(e) {
				return
			}
			at = *t.next(e)
		}
	}
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
	return &builder{index: newIndex(), none: &set{larger: map[*Revision]*set{}}}
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
		} else {
			b.put(entry{file: f, in: b.none.with(r)})
		}
	}
}

// find returns the entry of the same file.
func (b *builder) find(f *mirror.File) *entry {
	for e := range b.like(f.Reference.Parts(), &b.exact) {
		if e.file == f || sameFile(e.file, f) {
			return e
		}
	}
	return nil
}

func sameFile(a, b *mirror.File) bool {
	return a.Reference == b.Reference && a.Object == b.Object && a.Size == b.Size && a.Slash == b.Slash && sameMetadata(a.Metadata, b.Metadata)
}

func sameMetadata(a, b *manifest.Metadata) bool {
	return a == b || a != nil && b != nil && a.MD5 == b.MD5 && a.SHA1 == b.SHA1 && slices.Equal(a.Members, b.Members)
}

// filesOf returns the files of a record that requests can name, in the provider's order. They
// are in the memory of the record.
func filesOf(record mirror.Record) []*mirror.File {
	files := make([]*mirror.File, 0, len(record.Files))
	for i := range record.Files {
		if record.Files[i].Reference != "" {
			files = append(files, &record.Files[i])
		}
	}
	slices.SortStableFunc(files, func(a, b *mirror.File) int { return cmp.Compare(a.Position, b.Position) })
	return files
}

// earlier returns a revision that is no longer served. It shares the files of the served ones, and
// has copies of the others: one file would keep the whole record of its revision in memory.
func (b *builder) earlier(r *Revision) *Revision {
	next := r
	for i, f := range r.files {
		own := b.shared(f)
		if own == f {
			continue
		}
		if next == r {
			next = r.clone()
			next.of, next.files = nil, slices.Clone(r.files)
		}
		next.files[i] = own
	}
	return next
}

// shared returns the same file of a revision that was added before, and otherwise a copy that
// belongs to no record. A copy has no path, because no request names it.
func (b *builder) shared(f *mirror.File) *mirror.File {
	if e := b.find(f); e != nil {
		return e.file
	}
	if f.Path == "" {
		return f
	}
	own := *f
	own.Path = ""
	return &own
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
