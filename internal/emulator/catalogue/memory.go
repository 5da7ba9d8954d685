package catalogue

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

// memory is the source that SetManifest fills.
type memory struct {
	mu    sync.RWMutex
	names map[string]*memoryManifest    // by lower-case name
	index map[string]map[string][]*Item // by series, then lower-case release
	start time.Time
	calls int
}

type memoryManifest struct {
	name     string
	releases map[string]*memoryRelease // by lower-case name
}

type memoryRelease struct {
	list List
	call int // the number of the call that published the files; the last wins
}

// unlisted is the manifest of files that no manifest lists. No request finds it.
const unlisted = ""

// newMemory publishes with times from a day before now on. A client may distrust a
// Last-Modified that is only seconds old.
func newMemory(now time.Time) *memory {
	return &memory{names: make(map[string]*memoryManifest), start: now.Add(-24 * time.Hour).Truncate(time.Second)}
}

func (m *memory) set(manifest, release string, files []File) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.releaseLocked(manifest, release)
	r.call = m.calls
	r.list = List{Release: release, Items: make([]*Item, len(files))}
	for i, f := range files {
		r.list.Items[i] = m.itemLocked(f, release)
	}
	m.indexLocked()
}

func (m *memory) setLinks(manifest, release string, links []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.releaseLocked(manifest, release)
	r.list.Release, r.list.Links, r.list.IsRaw = release, slices.Clone(links), true
}

func (m *memory) remove(manifest, release string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.names[strings.ToLower(manifest)]
	if found == nil {
		return
	}
	delete(found.releases, strings.ToLower(release))
	if len(found.releases) == 0 {
		delete(m.names, strings.ToLower(manifest))
	}
	m.indexLocked()
}

// releaseLocked finds or creates a release, for a new call.
func (m *memory) releaseLocked(manifest, release string) *memoryRelease {
	m.calls++
	found := m.names[strings.ToLower(manifest)]
	if found == nil {
		found = &memoryManifest{name: manifest, releases: make(map[string]*memoryRelease)}
		m.names[strings.ToLower(manifest)] = found
	}
	r := found.releases[strings.ToLower(release)]
	if r == nil {
		r = new(memoryRelease)
		found.releases[strings.ToLower(release)] = r
	}
	return r
}

// itemLocked makes an item of a file. Each call has its own time, one second after
// the previous call's, so that Last-Modified changes with the content. A content
// that stays keeps its time and digests.
func (m *memory) itemLocked(f File, release string) *Item {
	f.Class = cmp.Or(ParseClass(f.Class), f.Class, ClassData)
	f.Release = cmp.Or(f.Release, release)
	if old, ok := m.fileLocked(f); ok && sameContent(old.Content, f.Content) {
		return &Item{File: f, modified: old.modified, digests: old.digests}
	}
	modified := m.start.Add(time.Duration(m.calls) * time.Second)
	return &Item{File: f, modified: modified, digests: new(digests)}
}

// indexLocked rebuilds the whole index.
func (m *memory) indexLocked() {
	var all []*memoryRelease
	for _, manifest := range m.names {
		for _, r := range manifest.releases {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *memoryRelease) int { return b.call - a.call })
	m.index = make(map[string]map[string][]*Item)
	for _, r := range all {
		for _, it := range r.list.Items {
			m.addLocked(it)
		}
	}
}

// addLocked indexes an item unless a newer call published the same name and tag. Names
// that differ only in case are different items.
func (m *memory) addLocked(it *Item) {
	if it.Content == nil {
		return
	}
	series, release := it.series(), strings.ToLower(it.Release)
	if m.index[series] == nil {
		m.index[series] = make(map[string][]*Item)
	}
	for _, other := range m.index[series][release] {
		if other.Name == it.Name && other.Tag == it.Tag {
			return
		}
	}
	m.index[series][release] = append(m.index[series][release], it)
}

func (m *memory) manifests() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var names []string
	for _, manifest := range m.names {
		if manifest.name != unlisted {
			names = append(names, manifest.name)
		}
	}
	return names
}

func (m *memory) releases(manifest string) []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var names []string
	if found := m.names[strings.ToLower(manifest)]; found != nil && manifest != unlisted {
		for _, r := range found.releases {
			names = append(names, r.list.Release)
		}
	}
	return names
}

func (m *memory) list(manifest, release string) (List, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	found := m.names[strings.ToLower(manifest)]
	if found == nil || manifest == unlisted {
		return List{}, false
	}
	r := found.releases[strings.ToLower(release)]
	if r == nil {
		return List{}, false
	}
	return r.list, true // its slices are replaced, never changed
}

func (m *memory) fileReleases(f File) []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var names []string
	for _, items := range m.index[f.series()] {
		names = append(names, items[0].Release)
	}
	return names
}

func (m *memory) file(f File) (*Item, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.fileLocked(f)
}

// fileLocked prefers the name in the same spelling. A tag is compared without case.
func (m *memory) fileLocked(f File) (*Item, bool) {
	var found *Item
	for _, it := range m.index[f.series()][strings.ToLower(f.Release)] {
		if !strings.EqualFold(it.Tag, f.Tag) {
			continue
		}
		if it.Name == f.Name {
			return it, true
		}
		if found == nil {
			found = it
		}
	}
	return found, found != nil
}
