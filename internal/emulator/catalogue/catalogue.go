package catalogue

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Catalogue looks manifests and files up in its sources. The first source that has
// a name wins.
type Catalogue struct {
	memory  *memory
	sources []source
	digests digestCache
	sample  sample
}

// source is one source of manifests and files. It is safe for concurrent use. It
// may return names in any order; a list keeps the order of its items.
type source interface {
	manifests() []string
	releases(manifest string) []string
	list(manifest, release string) (List, bool)
	fileReleases(f File) []string
	file(f File) (*Item, bool)
}

// New returns a catalogue without manifests. With a root, it also holds the
// manifests and products of that directory: <root>/<manifest>/<release>/files.
func New(root string) *Catalogue {
	c := &Catalogue{memory: newMemory(time.Now())}
	c.sources = []source{c.memory}
	if root != "" {
		c.sources = append(c.sources, directory{root})
	}
	return c
}

// SetManifest creates or replaces a release of a manifest. A second call with
// other contents republishes the release. When several releases list the same
// reference with different contents, the last call wins.
func (c *Catalogue) SetManifest(manifest, release string, files ...File) {
	c.memory.set(manifest, release, files)
}

// SetFiles publishes files that no manifest lists, such as products. A second call for a
// release replaces its files.
func (c *Catalogue) SetFiles(release string, files ...File) {
	c.memory.set(unlisted, release, files)
}

// SetLinks makes links the list of a manifest's release, served as they are. The
// files that SetManifest published there stay.
func (c *Catalogue) SetLinks(manifest, release string, links ...string) {
	c.memory.setLinks(manifest, release, links)
}

// RemoveRelease removes a release of a manifest, and with its last release the
// manifest. A file stays while another release lists it with a content. A release
// that does not exist, or comes from the root, is left alone.
func (c *Catalogue) RemoveRelease(manifest, release string) {
	c.memory.remove(manifest, release)
}

// Manifests returns all names, sorted.
func (c *Catalogue) Manifests() []string {
	var all []string
	for _, s := range c.sources {
		all = append(all, s.manifests()...)
	}
	return distinct(all, strings.Compare)
}

// Releases returns the releases of a manifest, the newest last.
func (c *Catalogue) Releases(manifest string) []string {
	var all []string
	for _, s := range c.sources {
		all = append(all, s.releases(manifest)...)
	}
	return distinct(all, CompareReleases)
}

// AllReleases returns the releases of all manifests, the newest last.
func (c *Catalogue) AllReleases() []string {
	var all []string
	for _, s := range c.sources {
		for _, m := range s.manifests() {
			all = append(all, s.releases(m)...)
		}
	}
	return distinct(all, CompareReleases)
}

// FileReleases returns the releases that published a file in any variant, the newest last.
func (c *Catalogue) FileReleases(f File) []string {
	var all []string
	for _, s := range c.sources {
		all = append(all, s.fileReleases(f)...)
	}
	return distinct(all, CompareReleases)
}

// List returns what a manifest holds in a release, false for an unknown one.
func (c *Catalogue) List(manifest, release string) (List, bool) {
	for _, s := range c.sources {
		if l, ok := s.list(manifest, release); ok {
			return l, true
		}
	}
	return List{}, false
}

// File returns a file, false for an unknown one. Its release may be an alias such
// as latest.
func (c *Catalogue) File(f File) (*Item, bool) {
	if it, ok := c.Exact(f); ok {
		return it, true
	}
	variant := func(release string) File {
		other := f
		other.Release = release
		return other
	}
	releases := slices.DeleteFunc(c.FileReleases(f), func(release string) bool {
		_, ok := c.Exact(variant(release))
		return !ok
	})
	release, ok := ResolveRelease(releases, f.Release)
	if !ok {
		return nil, false
	}
	return c.Exact(variant(release))
}

// Exact is File without aliases.
func (c *Catalogue) Exact(f File) (*Item, bool) {
	for _, s := range c.sources {
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
