package catalog

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"syncd/internal/manifest"
)

// FileReleases returns the months of a file that lists show, the newest last. The release
// and the tag of ref do not matter.
func (s *Snapshot) FileReleases(ref manifest.Reference, sees Sees) []manifest.Release {
	months := map[manifest.Release]bool{}
	asked := ref.Parts()
	for e := range s.like(asked, &s.series) {
		if r := s.best(e, s.inLists(sees)); r != nil {
			if own := e.file.Reference.Parts(); isSameSeries(own, asked) && own.Release.IsMonth() {
				months[own.Release] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(months))
}

// inLists sees what lists show to a follower.
func (s *Snapshot) inLists(sees Sees) Sees {
	return func(r *Revision) bool {
		if !s.listed[r] || !sees.sees(r) {
			return false
		}
		return !r.Release.IsMonth() || s.manifests[strings.ToLower(r.Manifest)].shows(r, sees)
	}
}

// best returns the revision of an entry that goes first among those that sees sees.
func (s *Snapshot) best(e *entry, sees Sees) (first *Revision) {
	for _, r := range e.in.revisions {
		if sees.sees(r) && (first == nil || s.rank[r] < s.rank[first]) {
			first = r
		}
	}
	return first
}

// File finds a file. Its release may be latest, a quarter or a two-month period. A month
// is found also if no list shows it, because a follower may be in the middle of it.
func (s *Snapshot) File(ref manifest.Reference, sees Sees) (File, bool) {
	asked := ref.Parts()
	release, err := manifest.ParseRelease(string(asked.Release))
	if err != nil {
		release = asked.Release
	}
	asked.Release = release
	if f, found := s.exactly(asked, sees); found {
		return f, true
	}
	if err != nil || release.IsMonth() {
		return File{}, false
	}
	return s.resolve(asked, sees)
}

// exactly finds a file by its reference. Among several contents, the visible one that
// came into service last goes first. So does a name in the same spelling.
func (s *Snapshot) exactly(ref manifest.Parts, sees Sees) (found File, ok bool) {
	const otherSpelling, hidden = 1 << 31, 1 << 30
	least := 0
	for e := range s.like(ref, &s.exact) {
		r, rank := s.best(e, s.inLists(sees)), 0
		if r == nil {
			r, rank = s.best(e, nil), hidden
		}
		f := File{r, e.file}
		own := e.file.Reference.Parts()
		if !isSameSeries(own, ref) || !strings.EqualFold(string(own.Release), string(ref.Release)) || !strings.EqualFold(own.Tag, ref.Tag) {
			continue
		}
		rank += s.rank[r]
		if own.Name != ref.Name {
			rank += otherSpelling
		}
		if !ok || rank < least {
			found, least, ok = f, rank, true
		}
	}
	return found, ok
}

// Differs is true for a file that lists show with other bytes, too: to other rings.
func (s *Snapshot) Differs(f File) bool {
	own := f.file.Reference.Parts()
	for e := range s.like(own, &s.exact) {
		isSame := e.file.Object == f.file.Object || !strings.EqualFold(e.file.Reference.Parts().Tag, own.Tag) || !isSameSeries(e.file.Reference.Parts(), own)
		if !isSame && slices.ContainsFunc(e.in.revisions, func(r *Revision) bool { return s.listed[r] }) {
			return true
		}
	}
	return false
}

// resolve finds the file that latest or an alias means.
func (s *Snapshot) resolve(ref manifest.Parts, sees Sees) (found File, ok bool) {
	alias := ref.Release
	fits := func(r *Revision) bool { return alias == manifest.Latest || r.holds(alias) }
	var month manifest.Release
	for e := range s.like(ref, &s.series) {
		r := s.best(e, func(r *Revision) bool { return s.inLists(sees).sees(r) && fits(r) })
		if r == nil {
			continue
		}
		own := e.file.Reference.Parts()
		if isSameSeries(own, ref) && strings.EqualFold(own.Tag, ref.Tag) && own.Release.IsMonth() && own.Release > month && own.Release >= begin(alias) {
			month = own.Release
		}
	}
	if month == "" {
		return File{}, false
	}
	ref.Release = month
	return s.exactly(ref, sees)
}

// begin is the first month of a quarter or two-month period. A file that is older is not
// of the period, although a manifest of the period may list it.
func begin(alias manifest.Release) manifest.Release {
	var year, n int
	if _, err := fmt.Sscanf(string(alias), "%4d.Q%d", &year, &n); err == nil {
		return manifest.Release(fmt.Sprintf("%04d.%02d", year, 3*n-2))
	}
	if _, err := fmt.Sscanf(string(alias), "%4d.B%d", &year, &n); err == nil {
		return manifest.Release(fmt.Sprintf("%04d.%02d", year, 2*n))
	}
	return ""
}

// Object finds a file with a content among the revisions that fit.
func (s *Snapshot) Object(id manifest.ObjectID, fits func(*Revision) bool) (File, bool) {
	s.sorting.Do(s.sortObjects)
	at, _ := slices.BinarySearchFunc(s.objects, id, func(i int32, id manifest.ObjectID) int {
		return bytes.Compare(s.entries[i].file.Object[:], id[:])
	})
	for _, i := range s.objects[at:] {
		e := &s.entries[i]
		if e.file.Object != id {
			break
		}
		if r := s.best(e, fits); r != nil {
			return File{r, e.file}, true
		}
	}
	return File{}, false
}

// sortObjects makes the index of Object at the first question: most hosts have no followers
// that ask for contents.
func (s *Snapshot) sortObjects() {
	s.objects = make([]int32, len(s.entries))
	for i := range s.objects {
		s.objects[i] = int32(i) //nolint:gosec // at most maxFiles and what is served
	}
	slices.SortFunc(s.objects, func(a, b int32) int {
		return bytes.Compare(s.entries[a].file.Object[:], s.entries[b].file.Object[:])
	})
}

// Find returns a revision by its Key; nil if there is none.
func (s *Snapshot) Find(key string) *Revision { return s.byKey[key] }
