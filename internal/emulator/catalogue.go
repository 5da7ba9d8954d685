package emulator

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

// The classes of files on the wire.
const (
	ClassData      = "Data"
	ClassLibrary   = "Library"
	ClassInterface = "Interface"
	ClassProduct   = "Product"
)

// File is a file of the catalogue: the segments of its reference and what it
// holds. Library uses OS, Compiler and Architecture; Interface uses OS,
// Language and Architecture; Data ("" means Data) and Product none of them.
type File struct {
	Class        string
	OS           string
	Compiler     string
	Language     string
	Architecture string
	Release      string // "" takes the release of the manifest
	Name         string
	// Content is served and hashed. Without one the file is what another
	// release published under the same reference, or listed but not there.
	Content Content
}

// segments returns the reference without release and name, beginning with the
// class.
func (f File) segments() []string {
	switch f.Class {
	case ClassLibrary:
		return []string{f.Class, f.OS, f.Compiler, f.Architecture}
	case ClassInterface:
		return []string{f.Class, f.OS, f.Language, f.Architecture}
	}
	return []string{f.Class}
}

// series is the key that all releases of a file share, whatever its case.
func (f File) series() string {
	return strings.ToLower(strings.Join(append(f.segments(), f.Name), "\x00"))
}

// item is a file as a shelf holds it, spelled as it was published.
type item struct {
	File
	modified time.Time
	digests  *digests
}

// releaseList is what a manifest holds in one release.
type releaseList struct {
	release string
	items   []*item
	links   []string // when raw: the list, as it is
	raw     bool
}

// shelf is a source of manifests and files. Names are matched without case and
// returned as they were published; order does not matter but for items. Safe
// for concurrent use.
type shelf interface {
	manifests() []string
	releases(manifest string) []string
	list(manifest, release string) (releaseList, bool)
	fileReleases(f File) []string
	file(f File) (*item, bool)
}

// catalogue looks things up on several shelves; the first that has them wins.
type catalogue []shelf

// manifests returns all names, sorted.
func (c catalogue) manifests() []string {
	var all []string
	for _, s := range c {
		all = append(all, s.manifests()...)
	}
	return distinct(all, strings.Compare)
}

// releases returns the releases of a manifest, the newest last.
func (c catalogue) releases(manifest string) []string {
	var all []string
	for _, s := range c {
		all = append(all, s.releases(manifest)...)
	}
	return distinct(all, compareReleases)
}

// allReleases returns the releases of any manifest, the newest last.
func (c catalogue) allReleases() []string {
	var all []string
	for _, s := range c {
		for _, m := range s.manifests() {
			all = append(all, s.releases(m)...)
		}
	}
	return distinct(all, compareReleases)
}

// fileReleases returns the releases that a file was published in, the newest
// last.
func (c catalogue) fileReleases(f File) []string {
	var all []string
	for _, s := range c {
		all = append(all, s.fileReleases(f)...)
	}
	return distinct(all, compareReleases)
}

func (c catalogue) list(manifest, release string) (releaseList, bool) {
	for _, s := range c {
		if l, ok := s.list(manifest, release); ok {
			return l, true
		}
	}
	return releaseList{}, false
}

// file finds a file; its release may be an alias.
func (c catalogue) file(f File) (*item, bool) {
	if it, ok := c.exact(f); ok {
		return it, true
	}
	release, ok := resolveRelease(c.fileReleases(f), f.Release)
	if !ok {
		return nil, false
	}
	f.Release = release
	return c.exact(f)
}

func (c catalogue) exact(f File) (*item, bool) {
	for _, s := range c {
		if it, ok := s.file(f); ok {
			return it, true
		}
	}
	return nil, false
}

func distinct(names []string, compare func(a, b string) int) []string {
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(compare(a, b), strings.Compare(a, b))
	})
	return slices.CompactFunc(names, strings.EqualFold)
}

// SetManifest creates what a manifest holds in a release, or replaces it:
// calling it again with other contents republishes the release. Where several
// releases list the same reference with different contents, the last call wins.
func (e *Emulator) SetManifest(manifest, release string, files ...File) {
	e.memory.set(manifest, release, files)
}

// SetLinks makes links the list of a manifest's release, served as they are;
// the files that SetManifest published there stay.
func (e *Emulator) SetLinks(manifest, release string, links ...string) {
	e.memory.setLinks(manifest, release, links)
}

// RemoveRelease takes a release from a manifest, and with its last release the
// manifest. Its files stay where another release lists them with a content.
// What is not there, or comes from Config.Root, is left alone.
func (e *Emulator) RemoveRelease(manifest, release string) {
	e.memory.remove(manifest, release)
}

// memory is the shelf that the Go API fills.
type memory struct {
	mu    sync.RWMutex
	names map[string]*shelfManifest     // by lower-case name
	index map[string]map[string][]*item // by series, then lower-case release
	start time.Time
	calls int
}

type shelfManifest struct {
	name     string
	releases map[string]*shelfRelease // by lower-case name
}

type shelfRelease struct {
	releaseList
	call int // which call published its files: the last wins
}

// newMemory dates what it publishes from a day before now, so that a client
// takes the times for settled.
func newMemory(now time.Time) *memory {
	return &memory{names: make(map[string]*shelfManifest), start: now.Add(-24 * time.Hour).Truncate(time.Second)}
}

func (m *memory) set(manifest, release string, files []File) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.releaseLocked(manifest, release)
	r.call = m.calls
	r.releaseList = releaseList{release: release, items: make([]*item, len(files))}
	for i, f := range files {
		r.items[i] = m.itemLocked(f, release)
	}
	m.indexLocked()
}

func (m *memory) setLinks(manifest, release string, links []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.releaseLocked(manifest, release)
	r.release, r.links, r.raw = release, slices.Clone(links), true
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
func (m *memory) releaseLocked(manifest, release string) *shelfRelease {
	m.calls++
	found := m.names[strings.ToLower(manifest)]
	if found == nil {
		found = &shelfManifest{name: manifest, releases: make(map[string]*shelfRelease)}
		m.names[strings.ToLower(manifest)] = found
	}
	r := found.releases[strings.ToLower(release)]
	if r == nil {
		r = new(shelfRelease)
		found.releases[strings.ToLower(release)] = r
	}
	return r
}

// itemLocked makes a file an item. Each call has a time of its own, a second
// after the one before, so that Last-Modified always tells contents apart; a
// content that stays keeps its time and digests.
func (m *memory) itemLocked(f File, release string) *item {
	f.Class = cmp.Or(canonicalClass(f.Class), f.Class, ClassData)
	f.Release = cmp.Or(f.Release, release)
	if old, ok := m.fileLocked(f); ok && sameContent(old.Content, f.Content) {
		return &item{File: f, modified: old.modified, digests: old.digests}
	}
	modified := m.start.Add(time.Duration(m.calls) * time.Second)
	return &item{File: f, modified: modified, digests: new(digests)}
}

// indexLocked builds the index anew: simple, and right whatever was replaced.
func (m *memory) indexLocked() {
	var all []*shelfRelease
	for _, manifest := range m.names {
		for _, r := range manifest.releases {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *shelfRelease) int { return b.call - a.call })
	m.index = make(map[string]map[string][]*item)
	for _, r := range all {
		for _, it := range r.items {
			m.addLocked(it)
		}
	}
}

// addLocked indexes an item unless a newer call already did. Names that differ
// only in case stand side by side.
func (m *memory) addLocked(it *item) {
	if it.Content == nil {
		return
	}
	series, release := it.series(), strings.ToLower(it.Release)
	if m.index[series] == nil {
		m.index[series] = make(map[string][]*item)
	}
	for _, other := range m.index[series][release] {
		if other.Name == it.Name {
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
		names = append(names, manifest.name)
	}
	return names
}

func (m *memory) releases(manifest string) []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var names []string
	if found := m.names[strings.ToLower(manifest)]; found != nil {
		for _, r := range found.releases {
			names = append(names, r.release)
		}
	}
	return names
}

func (m *memory) list(manifest, release string) (releaseList, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	found := m.names[strings.ToLower(manifest)]
	if found == nil {
		return releaseList{}, false
	}
	r := found.releases[strings.ToLower(release)]
	if r == nil {
		return releaseList{}, false
	}
	return r.releaseList, true // its slices are replaced, never changed
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

func (m *memory) file(f File) (*item, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.fileLocked(f)
}

func (m *memory) fileLocked(f File) (*item, bool) {
	items := m.index[f.series()][strings.ToLower(f.Release)]
	if len(items) == 0 {
		return nil, false
	}
	for _, it := range items {
		if it.Name == f.Name {
			return it, true
		}
	}
	return items[0], true
}
