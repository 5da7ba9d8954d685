package manifest

import (
	"crypto/sha256"
	"path"
	"strings"

	"syncd/internal/refusal"
)

// maxNames limits the text of a list's references, in bytes. Texts of other segments
// than the name are shared.
const maxNames = 16 << 20

// mapEntry is about what an entry of List.segments costs besides its text, in bytes.
const mapEntry = 64

// List collects the references of a manifest without keeping the links they come from.
// Identical files become one reference. The zero value is empty.
type List struct {
	refs     []Reference
	seen     map[[sha256.Size]byte]struct{} // hashes of identities take a quarter of their memory
	segments map[string]string
	text     int // bytes kept in refs and segments
}

// Add adds a reference. The list keeps none of its memory.
func (l *List) Add(ref Reference) error {
	if l.seen == nil {
		l.seen, l.segments = map[[sha256.Size]byte]struct{}{}, map[string]string{}
	}
	id := sha256.Sum256([]byte(ref.identity().String()))
	if _, seen := l.seen[id]; seen {
		return nil
	}
	l.seen[id] = struct{}{}
	for _, segment := range []*string{&ref.OS, &ref.Compiler, &ref.Language, &ref.Architecture, (*string)(&ref.Release)} {
		*segment = l.shared(*segment)
	}
	ref.Name = strings.Clone(ref.Name)
	if l.text += len(ref.Name); l.text > maxNames {
		return refusal.New(refusal.TooLarge, "list is larger than %d bytes of names", maxNames)
	}
	l.refs = append(l.refs, ref)
	return nil
}

// shared returns an equal text that all references share.
func (l *List) shared(segment string) string {
	if known, found := l.segments[segment]; found || segment == "" {
		return known
	}
	own := strings.Clone(segment)
	l.segments[own] = own
	l.text += len(own) + mapEntry
	return own
}

// References returns what was added, in that order.
func (l *List) References() []Reference { return l.refs }

// CheckPaths applies CheckTree to the paths of references.
func CheckPaths(refs []Reference) error {
	paths := make([]string, len(refs))
	for i, ref := range refs {
		paths[i] = ref.Path()
	}
	return CheckTree(paths)
}

// CheckTree refuses relative paths that cannot lie in one tree: two that are the same,
// two that differ only in case, or one inside another.
func CheckTree(paths []string) error {
	files := make(map[string]string, len(paths))
	for _, p := range paths {
		key := foldCase(p)
		if other, taken := files[key]; taken {
			return clash(p, other)
		}
		files[key] = p
	}
	dirs := make(map[string]string)
	for _, p := range files {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			key := foldCase(dir)
			if file, taken := files[key]; taken {
				return refusal.New(refusal.PathClash, "%q lies inside the path of the file %q", p, file)
			}
			if other, seen := dirs[key]; seen && other != dir {
				return clash(dir, other)
			}
			dirs[key] = dir
		}
	}
	return nil
}

func clash(a, b string) error {
	if a == b {
		return refusal.New(refusal.PathClash, "two different files at %q", a)
	}
	return refusal.New(refusal.PathClash, "%q and %q differ only in case", min(a, b), max(a, b))
}
