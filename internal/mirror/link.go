package mirror

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"

	"syncd/internal/fsops"
	"syncd/internal/manifest"
)

// linkTree links every file of r below the directory temp. os.Root keeps all paths
// within the data directory.
func (m *Mirror) linkTree(r Record, temp string) error {
	root, err := os.OpenRoot(m.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	base, err := filepath.Rel(m.dir, temp)
	if err != nil {
		return err
	}
	made := map[string]bool{}
	if err := makeReadable(root, base, made); err != nil {
		return err
	}
	for _, f := range r.Files {
		if err := makeReadable(root, filepath.Dir(filepath.Join(base, f.Path)), made); err != nil {
			return err
		}
	}
	return m.linkFiles(root, base, r.Files)
}

// linkFiles links files in the order of their objects, so that each object
// directory is opened once, however many files there are.
func (m *Mirror) linkFiles(root *os.Root, base string, list []File) error {
	objects, tree := openDirs{root: root, limit: 1}, openDirs{root: root, limit: maxOpenDirs}
	defer objects.close()
	defer tree.close()
	order := make([]int32, len(list))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return bytes.Compare(list[a].Object[:], list[b].Object[:]) })
	var copies []string
	for _, i := range order {
		dir, name := filepath.Split(objectName(list[i].Object))
		from, err := objects.open(dir)
		if err != nil {
			return err
		}
		path := filepath.Join(base, list[i].Path)
		to, err := tree.open(filepath.Dir(path))
		if err != nil {
			return err
		}
		copied, err := fsops.Link(from, name, to, filepath.Base(path))
		if err != nil {
			return err
		}
		if copied {
			copies = append(copies, m.path(path))
		}
	}
	return m.disk.SyncFiles(copies)
}

// makeReadable makes a directory and its parents with the readers' permissions,
// whatever the umask. made holds the directories that exist.
func makeReadable(root *os.Root, dir string, made map[string]bool) error {
	if made[dir] {
		return nil
	}
	if _, err := root.Stat(dir); err == nil {
		made[dir] = true
		return nil
	}
	if err := makeReadable(root, filepath.Dir(dir), made); err != nil {
		return err
	}
	if err := root.Mkdir(dir, 0o755); err != nil {
		return err
	}
	made[dir] = true
	return root.Chmod(dir, 0o755)
}

// linkObject links one object at a path within the data directory, for Relink.
func (m *Mirror) linkObject(root *os.Root, id manifest.ObjectID, path string) error {
	dir, name := filepath.Split(objectName(id))
	from, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := root.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer to.Close()
	copied, err := fsops.Link(from, name, to, filepath.Base(path))
	if err != nil || !copied {
		return err
	}
	return m.disk.SyncFiles([]string{m.path(path)})
}
