package manifest

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"syncd/internal/manifest/refusal"
)

// CheckTree refuses relative paths that cannot lie in one tree: two that are the same,
// two that differ only in case, or one inside another.
func CheckTree(paths []string) error {
	if c := FindClash(paths); c != nil {
		return &refusal.Error{Reason: refusal.PathClash, Err: c}
	}
	return nil
}

// Clash says why two paths of a list cannot lie in one tree.
type Clash struct {
	First, Second int // their indexes
	Problem       string
}

func (c *Clash) Error() string { return c.Problem }

// FindClash returns the first two paths that cannot lie in one tree, or nil.
func FindClash(paths []string) *Clash {
	order := orderOf(len(paths), func(x, y int32) int {
		return cmp.Or(compareFolded(paths[x], paths[y]), cmp.Compare(x, y))
	})
	first, second := -1, len(paths)
	for i := 1; i < len(order); i++ {
		a, b := int(order[i-1]), int(order[i])
		if b < second && compareFolded(paths[a], paths[b]) == 0 {
			first, second = a, b
		}
	}
	if first >= 0 {
		return clash(first, second, paths[first], paths[second])
	}
	fileAt := func(path string) (file int32, found bool) {
		i, found := slices.BinarySearchFunc(order, path, func(file int32, path string) int { return compareFolded(paths[file], path) })
		if !found {
			return 0, false
		}
		return order[i], true
	}
	dirs := make(map[string]seenDir)
	for i, p := range paths {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			key := foldCase(dir)
			if file, taken := fileAt(dir); taken {
				return &Clash{int(file), i, fmt.Sprintf("%q lies inside the path of the file %q", p, paths[file])}
			}
			other, seen := dirs[key]
			if seen && other.name != dir {
				return clash(other.file, i, other.name, dir)
			}
			if seen {
				break // and so are its parents
			}
			dirs[key] = seenDir{dir, i}
		}
	}
	return nil
}

// seenDir is a directory and the index of a file in it.
type seenDir struct {
	name string
	file int
}

func clash(first, second int, a, b string) *Clash {
	if a == b {
		return &Clash{first, second, fmt.Sprintf("two different files at %q", a)}
	}
	return &Clash{first, second, fmt.Sprintf("%q and %q differ only in case", min(a, b), max(a, b))}
}
