package catalog

import (
	"slices"
	"strings"

	"syncd/internal/mirror"
)

// findShared finds the files of which revisions of several manifests have different bytes. A
// path names a file and no manifest, so followers get one of them, whatever they ask for.
func (s *Snapshot) findShared() {
	if len(s.manifests) < 2 {
		return
	}
	for _, e := range s.entries {
		for _, r := range e.in.revisions {
			if s.listed[r] && s.isElsewhere(e.file, r.Manifest) {
				s.shared[r] = append(s.shared[r], e.file)
			}
		}
	}
}

// isElsewhere is true for a file that lists of another manifest have with other bytes.
func (s *Snapshot) isElsewhere(f *mirror.File, manifestName string) bool {
	own := f.Reference.Parts()
	for e := range s.like(own, &s.exact) {
		other := e.file.Reference.Parts()
		if e.file.Object == f.Object || !isSameSeries(own, other) || !strings.EqualFold(own.Tag, other.Tag) {
			continue
		}
		if slices.ContainsFunc(e.in.revisions, func(r *Revision) bool { return s.listed[r] && r.Manifest != manifestName }) {
			return true
		}
	}
	return false
}

// Mixed returns a file that a follower would get with the bytes of another manifest. With it,
// the follower would make a revision that was live nowhere.
func (s *Snapshot) Mixed(r *Revision, sees Sees) (instead File, found bool) {
	for _, f := range s.shared[r] {
		if got, ok := s.exactly(f.Reference.Parts(), sees); ok && got.Object() != f.Object {
			return got, true
		}
	}
	return File{}, false
}

// warnOfMixed warns of what is served and followers cannot take, once.
func (c *Catalog) warnOfMixed(before, now *Snapshot) {
	for r := range now.shared {
		instead, mixed := now.Mixed(r, nil)
		if !mixed || !now.served[r] {
			continue
		}
		if known := before.byKey[r.Key()]; known != nil {
			if _, was := before.Mixed(known, nil); was {
				continue
			}
		}
		c.cfg.Warn("followers cannot take revision "+r.ID+" of "+r.Manifest+": "+instead.Reference().String()+" has other bytes in "+
			instead.Revision.Manifest+"; they can when both have the same (manifests of a group go live together)", nil)
	}
}
