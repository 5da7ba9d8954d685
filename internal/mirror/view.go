package mirror

import (
	"syncd/internal/disk/fsops"
)

// treeOf describes the tree of a view to its builder.
func treeOf(v View) tree {
	files := make([]File, len(v.Files))
	for i, f := range v.Files {
		files[i] = File{Path: f.Path, Size: f.Size, Object: f.Object}
	}
	shownBy := func(g Generation) bool { return g.Views[v.Name].Fingerprint == v.Fingerprint }
	return tree{name: v.Dir(), files: files, hashFiles: v.HashFiles, shownBy: shownBy}
}

// HasTree is true if the tree of a view is on disk.
func (m *Mirror) HasTree(v View) bool { return m.findTree(v.Dir()) == nil }

// OpenTree opens the tree of a view. The caller closes the directory.
func (m *Mirror) OpenTree(v View) (*fsops.Dir, error) { return m.root.OpenDir(v.Dir()) }

// prepareView makes the tree of a view complete on disk, shown by no generation yet.
func (m *Mirror) prepareView(v View) error {
	if err := v.Check(); err != nil {
		return err
	}
	if err := m.makeDir("views"); err != nil {
		return err
	}
	return m.buildTree(treeOf(v))
}
