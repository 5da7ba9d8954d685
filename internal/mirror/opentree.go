package mirror

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"syncd/internal/fsops"
	"syncd/internal/updater"
)

// OpenTree opens the tree of a view, and lists the paths, sizes and contents of its files,
// hash files included, sorted by path. The caller closes the directory.
func (m *Mirror) OpenTree(v View) (*fsops.Dir, []File, error) {
	dir, err := m.root.OpenDir(v.dir())
	if err != nil {
		return nil, nil, err
	}
	files := make([]File, 0, v.Count())
	for _, f := range v.Files {
		files = append(files, File{Path: f.Path, Size: f.Size, Object: f.Object})
		if v.HashFiles {
			text := updater.HashText(f.Object)
			files = append(files, File{Path: updater.HashName(f.Path), Size: int64(len(text)), Object: sha256.Sum256([]byte(text))})
		}
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return dir, files, nil
}
