package mirror

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest/layout"
)

// OpenTree opens the tree of a view. The caller closes the directory.
func (m *Mirror) OpenTree(v View) (*fsops.Dir, error) { return m.root.OpenDir(v.dir()) }

// TreeFiles lists the paths, sizes and contents of the files of the view's tree, hash files
// included, sorted by path.
func (v View) TreeFiles() []File {
	files := make([]File, 0, v.Count())
	for _, f := range v.Files {
		files = append(files, File{Path: f.Path, Size: f.Size, Object: f.Object})
		if v.HashFiles {
			text := layout.HashText(f.Object)
			files = append(files, File{Path: layout.HashName(f.Path), Size: int64(len(text)), Object: sha256.Sum256([]byte(text))})
		}
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return files
}
