package manifest

import (
	"iter"
	"slices"
	"strings"

	"syncd/internal/manifest/refusal"
)

// MaxText limits the text of a list's paths and folders, in bytes.
const MaxText = 12 << 20

// Memory that a list and the Files made from it take besides their text, in bytes.
const (
	SizePerFile   = 256
	sizePerFolder = 512
)

// List holds the files of a manifest in little memory: each path once, and each folder
// once. The zero value is empty.
type List struct {
	entries []entry
	size    int
}

type entry struct {
	folder *folder
	path   string // within the manifest; it ends with the file's name
	slash  bool   // the link has one before its query
}

// folder is what references have in common.
type folder struct {
	parts Parts   // of the references, without a name
	dir   string  // of the paths; ends with a slash, unless it is empty
	same  *folder // stands for all spellings of the folder
}

func (e entry) reference() Reference {
	parts := e.folder.parts
	parts.Name = e.path[len(e.folder.dir):]
	return parts.Reference()
}

// ListBuilder makes a List. Identical files become one. It keeps no memory of the
// references that it gets. The zero value is ready.
type ListBuilder struct {
	list    List
	text    int // bytes of paths and folders
	folders map[Parts]*folder
	seen    map[entry]struct{} // with folder.same and without slash
}

// Add adds a file.
func (b *ListBuilder) Add(ref Reference) error { return b.add(ref, false) }

// AddLink adds the file of a link that ParseLink read.
func (b *ListBuilder) AddLink(ref Reference, link string) error {
	link, _, _ = strings.Cut(link, "#")
	link, _, _ = strings.Cut(link, "?")
	return b.add(ref, strings.HasSuffix(link, "/"))
}

func (b *ListBuilder) add(ref Reference, slash bool) error {
	if ref == "" {
		return refusal.New(refusal.BadShape, "a file without a reference")
	}
	if b.seen == nil {
		b.folders, b.seen = map[Parts]*folder{}, map[entry]struct{}{}
	}
	parts := ref.Parts()
	e := entry{path: parts.Name, slash: slash}
	parts.Name = ""
	e.folder = b.folder(parts)
	if e.folder.dir == "" {
		e.path = strings.Clone(e.path)
	} else {
		e.path = e.folder.dir + e.path
	}
	id := entry{folder: e.folder.same, path: e.path}
	if _, seen := b.seen[id]; !seen {
		b.seen[id] = struct{}{}
		b.list.entries = append(b.list.entries, e)
		b.grow(SizePerFile+len(parts.Release)+len(parts.Tag), len(e.path)) // a reference has its own text
	}
	if b.text > MaxText {
		return refusal.New(refusal.TooLarge, "list is larger than %d bytes of paths", MaxText)
	}
	return nil
}

// folder returns the folder of a reference without a name.
func (b *ListBuilder) folder(parts Parts) *folder {
	if known, found := b.folders[parts]; found {
		return known
	}
	for _, segment := range []*string{(*string)(&parts.Class), &parts.OS, &parts.Compiler, &parts.Language, &parts.Architecture, (*string)(&parts.Release), &parts.Tag} {
		*segment = strings.Clone(*segment)
	}
	f := &folder{parts: parts, dir: parts.path()}
	if f.dir != "" {
		f.dir += "/"
	}
	b.folders[parts] = f
	b.grow(sizePerFolder, sizePerFolder+2*len(f.dir)+len(parts.Release)+len(parts.Tag))
	f.same = f
	if id := parts.identity(); id != parts {
		f.same = b.folder(id)
	}
	return f
}

func (b *ListBuilder) grow(size, text int) {
	b.text += text
	b.list.size += size + 2*text // Fingerprint and CheckPaths copy the text for a moment
}

// Size is about how much memory the list takes so far, in bytes.
func (b *ListBuilder) Size() int { return b.list.size }

// List returns the files in the order in which they were added.
func (b *ListBuilder) List() *List {
	list := b.list // a pointer into b would keep all of b
	return &list
}

// Len returns the number of files.
func (l *List) Len() int { return len(l.entries) }

// Size is about how much memory the list and its Files take, in bytes.
func (l *List) Size() int { return l.size }

// All returns the references of the files.
func (l *List) All() iter.Seq[Reference] {
	return func(yield func(Reference) bool) {
		for _, e := range l.entries {
			if !yield(e.reference()) {
				return
			}
		}
	}
}

// Files returns the files by path, without digests.
func (l *List) Files() []File {
	files := make([]File, len(l.entries))
	for i, e := range l.entries {
		f := File{Reference: e.reference(), Path: e.path, Slash: e.slash, Position: int32(i + 1)}
		if text := string(f.Reference); strings.HasSuffix(text, f.Path) { // its text is not kept twice
			f.Path = text[len(text)-len(f.Path):]
		}
		files[i] = f
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files
}

// Fingerprint identifies the list.
func (l *List) Fingerprint() string {
	lines := make([]string, len(l.entries))
	for i, e := range l.entries {
		lines[i] = "  " + e.reference().String() // the form of Fingerprint for files without a digest
	}
	return hashTexts(lines)
}

// ReferencesID identifies a set of references, in any order.
func ReferencesID(refs []Reference) string {
	lines := make([]string, len(refs))
	for i, ref := range refs {
		lines[i] = ref.String()
	}
	return hashTexts(lines)[:12]
}

// CheckPaths applies CheckTree to the paths of the files. It names both of two files with
// the same path.
func (l *List) CheckPaths() error {
	paths := make([]string, len(l.entries))
	for i, e := range l.entries {
		paths[i] = e.path
	}
	err := CheckTree(paths)
	if err == nil {
		return nil
	}
	first := make(map[string]entry, len(l.entries))
	for _, e := range l.entries {
		if other, taken := first[e.path]; taken {
			return refusal.New(refusal.PathClash, "%q and %q have the same path %q: exclude the path, and mirror each as an entry with `files`", other.reference(), e.reference(), e.path)
		}
		first[e.path] = e
	}
	return err
}
