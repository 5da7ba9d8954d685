package manifest

import (
	"fmt"
	"path"

	"syncd/internal/refusal"
)

// ParseLinks reads every link of a manifest. Identical links become one reference.
// One unreadable link refuses the whole list, which would otherwise publish half a
// release.
func ParseLinks(links []string) ([]Reference, error) {
	seen := make(map[Reference]bool, len(links))
	refs := make([]Reference, 0, len(links))
	for i, link := range links {
		ref, err := ParseLink(link)
		if err != nil {
			return nil, &refusal.Error{Reason: refusal.ReasonOf(err), Err: &linkError{entry: i + 1, err: err}}
		}
		if id := ref.identity(); !seen[id] {
			seen[id] = true
			refs = append(refs, ref)
		}
	}
	return refs, nil
}

// linkError names the refused entry of a list by its number, because the link itself
// may hold the Customer ID.
type linkError struct {
	entry int
	err   error
}

func (e *linkError) Error() string { return fmt.Sprintf("entry %d: %v", e.entry, e.err) }
func (e *linkError) Unwrap() error { return e.err }

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
