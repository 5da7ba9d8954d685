package manifest

import (
	"path"

	"syncd/internal/refusal"
)

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
