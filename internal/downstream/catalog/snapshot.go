package catalog

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// The errors of look-ups.
var (
	ErrNoManifest = errors.New("no such manifest")
	ErrNoRelease  = errors.New("no such release")
)

// Sees decides whether a follower may see a revision in lists; nil sees all.
type Sees func(*Revision) bool

func (s Sees) sees(r *Revision) bool { return s == nil || s(r) }

// Snapshot is what may be served at one time. It does not change.
type Snapshot struct {
	index
	manifests map[string]*shelf // by name in lower case; also those that are no manifest of the provider
	names     []string          // of the provider's manifests, sorted
	byKey     map[string]*Revision
	served    map[*Revision]bool
	rank      map[*Revision]int // a lower one goes first
	listed    map[*Revision]bool
	shared    map[*Revision][]*mirror.File // those with other bytes in another manifest

	sorting sync.Once
	objects []int32 // the entries by their contents; see sortObjects
}

// shelf holds the revisions of one manifest.
type shelf struct {
	served *Revision
	months []*Revision // those that lists may show, the newest month last, and of a month the newest bytes
	all    []*Revision // the served one first
}

// snapshot ends the building.
func (b *builder) snapshot() *Snapshot {
	s := &Snapshot{
		index: b.index, manifests: map[string]*shelf{}, byKey: map[string]*Revision{},
		served: map[*Revision]bool{}, rank: map[*Revision]int{}, listed: map[*Revision]bool{},
		shared: map[*Revision][]*mirror.File{},
	}
	served, earlier := b.all[:b.nServed], b.all[b.nServed:]
	for _, group := range [][]*Revision{served, earlier} {
		slices.SortFunc(group, func(a, b *Revision) int {
			return cmp.Or(b.PublishedAt.Compare(a.PublishedAt), strings.Compare(a.Key(), b.Key()))
		})
	}
	for i, r := range b.all {
		s.byKey[r.Key()], s.rank[r] = r, i
		name := strings.ToLower(r.Manifest)
		if i < b.nServed {
			s.served[r], s.manifests[name] = true, &shelf{served: r}
			if !r.isChosen {
				s.names = append(s.names, r.Manifest)
			}
		}
		s.manifests[name].all = append(s.manifests[name].all, r)
	}
	slices.Sort(s.names)
	for _, shelf := range s.manifests {
		shelf.arrange(s.listed)
	}
	s.findShared()
	return s
}

// arrange finds the revisions that lists show, without those that a rollback left. A
// follower sees the newest bytes of a month that its ring sees, which may be earlier ones.
func (f *shelf) arrange(listed map[*Revision]bool) {
	listed[f.served] = true
	oldest := map[manifest.Release]*Revision{}
	for _, r := range f.all {
		newer := oldest[r.Release]
		if r != f.served && r.isLeft {
			continue
		}
		if !r.Release.IsMonth() || r.Release.Newer(f.served.Release) || newer != nil && r.LiveAt.After(newer.LiveAt) {
			continue
		}
		oldest[r.Release], listed[r] = r, true
		f.months = append(f.months, r)
	}
	slices.Reverse(f.months)
	slices.SortStableFunc(f.months, func(a, b *Revision) int { return cmp.Compare(a.Release, b.Release) })
}

// shows is true for the revision that lists show to a follower for its release.
func (f *shelf) shows(r *Revision, sees Sees) bool {
	return f.newest(sees, func(other *Revision) bool { return other.Release == r.Release }) == r
}

// newest returns the newest month that a follower sees and that fits.
func (f *shelf) newest(sees Sees, fits func(*Revision) bool) *Revision {
	for _, r := range slices.Backward(f.months) {
		if sees.sees(r) && fits(r) {
			return r
		}
	}
	return nil
}

func anyOf(*Revision) bool { return true }

// latest is what the release `latest` means. A manifest that is mirrored by an alias has
// no month.
func (f *shelf) latest(sees Sees) *Revision {
	if !f.served.Release.IsMonth() && sees.sees(f.served) {
		return f.served
	}
	return f.newest(sees, anyOf)
}

// find resolves a release.
func (f *shelf) find(release string, sees Sees) *Revision {
	asked, err := manifest.ParseRelease(release)
	switch {
	case err != nil:
		return nil
	case asked == manifest.Latest:
		return f.latest(sees)
	case f.served.Release == asked && sees.sees(f.served): // also one that is no month
		return f.served
	case asked.IsMonth():
		return f.newest(sees, func(r *Revision) bool { return r.Release == asked })
	}
	return f.newest(sees, func(r *Revision) bool { return r.holds(asked) })
}

// IsServed is true for a revision that `current` shows.
func (s *Snapshot) IsServed(r *Revision) bool { return s.served[r] }

// Revisions returns all revisions of an entry, also those that no list shows. The served
// one comes first.
func (s *Snapshot) Revisions(name string) []*Revision {
	if f := s.manifests[strings.ToLower(name)]; f != nil {
		return slices.Clone(f.all)
	}
	return nil
}

// Names returns the names of all that is served, single files included.
func (s *Snapshot) Names() (names []string) {
	for _, f := range s.manifests {
		names = append(names, f.served.Manifest)
	}
	return names
}

// Manifests returns the names of the provider's manifests that a follower sees, sorted.
func (s *Snapshot) Manifests(sees Sees) []string {
	return slices.DeleteFunc(slices.Clone(s.names), func(name string) bool {
		return s.manifests[strings.ToLower(name)].latest(sees) == nil
	})
}

// Releases returns the months of a manifest, the newest last; none for an unknown one.
func (s *Snapshot) Releases(name string, sees Sees) (months []manifest.Release) {
	for _, r := range s.Shown(name, sees) {
		months = append(months, r.Release)
	}
	return months
}

// Shown returns what a follower sees of each month of a manifest, the newest last.
func (s *Snapshot) Shown(name string, sees Sees) (shown []*Revision) {
	f := s.shelfOf(name)
	if f == nil {
		return nil
	}
	for _, r := range f.months {
		if last := len(shown) - 1; !sees.sees(r) {
			continue
		} else if last >= 0 && shown[last].Release == r.Release {
			shown[last] = r
		} else {
			shown = append(shown, r)
		}
	}
	return shown
}

// Listed returns the revisions of an entry that lists may show, of each release the newest
// bytes first.
func (s *Snapshot) Listed(name string) (revisions []*Revision) {
	return slices.DeleteFunc(s.Revisions(name), func(r *Revision) bool { return !s.listed[r] })
}

// shelfOf finds a manifest of the provider.
func (s *Snapshot) shelfOf(name string) *shelf {
	if f := s.manifests[strings.ToLower(name)]; f != nil && !f.served.isChosen {
		return f
	}
	return nil
}

// AllReleases returns the months of all manifests, the newest last.
func (s *Snapshot) AllReleases(sees Sees) []manifest.Release {
	months := map[manifest.Release]bool{}
	for _, name := range s.names {
		for _, month := range s.Releases(name, sees) {
			months[month] = true
		}
	}
	return slices.Sorted(maps.Keys(months))
}

// Manifest finds a manifest's release, which may be latest, a quarter or a two-month
// period. The error is ErrNoManifest or ErrNoRelease.
func (s *Snapshot) Manifest(name, release string, sees Sees) (*Revision, error) {
	f := s.shelfOf(name)
	if f == nil || f.latest(sees) == nil {
		return nil, ErrNoManifest
	}
	if r := f.find(release, sees); r != nil {
		return r, nil
	}
	return nil, ErrNoRelease
}

// List returns each manifest at a release, or at its newest one before that. The error is
// ErrNoRelease.
func (s *Snapshot) List(release string, sees Sees) (revisions []*Revision, err error) {
	limit, found := s.limit(release, sees)
	if !found {
		return nil, ErrNoRelease
	}
	for _, name := range s.names {
		f := s.manifests[strings.ToLower(name)]
		r := f.newest(sees, func(r *Revision) bool { return r.Release <= limit })
		if r == nil && !f.served.Release.IsMonth() {
			r = f.find(release, sees)
		}
		if r != nil {
			revisions = append(revisions, r)
		}
	}
	return revisions, nil
}

// limit is the month that a release of ManifestList means.
func (s *Snapshot) limit(release string, sees Sees) (limit manifest.Release, found bool) {
	asked, err := manifest.ParseRelease(release)
	if err != nil {
		return "", false
	}
	if months := s.AllReleases(sees); asked == manifest.Latest && len(months) > 0 {
		return months[len(months)-1], true
	}
	for _, name := range s.names {
		if r := s.manifests[strings.ToLower(name)].find(release, sees); r != nil {
			found = true
			if r.Release.IsMonth() {
				limit = max(limit, r.Release)
			}
		}
	}
	return limit, found
}
