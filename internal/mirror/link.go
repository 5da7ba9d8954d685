package mirror

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
	"syncd/internal/manifest/layout"
)

// linkTree makes the files of t below the new directory temp. It returns the
// directories of the tree, the deepest first: their entries are not durable yet.
func (m *Mirror) linkTree(t tree, temp string) (dirs []string, err error) {
	made := map[string]bool{filepath.Dir(temp): true}
	if err := m.makeReadable(temp, made); err != nil {
		return nil, err
	}
	last := "." // most files lie in the directory of the one before
	for _, f := range t.files {
		if dir := path.Dir(f.Path); dir != last {
			if err := m.makeReadable(filepath.Join(temp, dir), made); err != nil {
				return nil, err
			}
			last = dir
		}
	}
	delete(made, filepath.Dir(temp))
	dirs = slices.Sorted(maps.Keys(made)) // parents come before their children
	slices.Reverse(dirs)
	if err := m.linkFiles(temp, t.files); err != nil || !t.hashFiles {
		return dirs, err
	}
	return dirs, m.writeHashFiles(temp, t.files)
}

// writeHashFiles writes the digest of each file beside it, as the provider's updater
// does.
func (m *Mirror) writeHashFiles(base string, list []File) error {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = filepath.Join(base, layout.HashName(f.Path))
		if err := m.createReadable(names[i], hashOf(f)); err != nil {
			return err
		}
	}
	return m.disk.SyncFiles(m.root, names)
}

// hashOf writes the text of a file's hash file.
func hashOf(f File) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, layout.HashText(f.Object))
		return err
	}
}

// linkFiles links files in the order of their objects, so that each object
// directory is opened once, however many files there are.
func (m *Mirror) linkFiles(base string, list []File) error {
	objects, tree := openDirs{root: m.objects, limit: 1}, openDirs{root: m.root, limit: maxOpenDirs}
	defer objects.close()
	defer tree.close()
	order := make([]int32, len(list))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return bytes.Compare(list[a].Object[:], list[b].Object[:]) })
	var copies []string
	for _, i := range order {
		name := list[i].Object.String()
		from, err := objects.open(objectDir(name))
		if err != nil {
			return err
		}
		dir, newName := path.Split(list[i].Path)
		to, err := tree.open(filepath.Join(base, dir))
		if err != nil {
			return err
		}
		copied, err := fsops.Link(from, name, to, newName)
		if err != nil {
			return err
		}
		if copied {
			copies = append(copies, filepath.Join(base, list[i].Path))
		}
	}
	for _, name := range copies {
		if err := m.chgrp(m.root, name); err != nil {
			return err
		}
	}
	return m.disk.SyncFiles(m.root, copies)
}

// CopiesBytes is true if the file system has no hard links, so that a tree takes the
// bytes of its files once more. It is found out once.
func (m *Mirror) CopiesBytes() bool {
	m.probing.Do(func() {
		name := fsops.TempName("state/link")
		defer m.root.Discard(name)
		if err := m.root.CreateFile(name, 0o400, func(io.Writer) error { return nil }); err != nil {
			return // the next step tells why
		}
		dir, err := m.root.Open("state")
		if err != nil {
			return
		}
		defer dir.Close()
		other := fsops.TempName("link")
		defer m.root.Discard(filepath.Join("state", other))
		m.copiesBytes, _ = fsops.Link(dir, filepath.Base(name), dir, other)
	})
	return m.copiesBytes
}

// makeReadable makes a directory and its parents with the readers' permissions,
// whatever the umask. made holds the directories that exist.
func (m *Mirror) makeReadable(dir string, made map[string]bool) error {
	if made[dir] {
		return nil
	}
	if info, err := m.root.Lstat(dir); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%s is no directory: move it away", m.root.Path(dir))
		}
		made[dir] = true
		return nil
	}
	if err := m.makeReadable(filepath.Dir(dir), made); err != nil {
		return err
	}
	made[dir] = true
	return m.ensureReadable(m.root, dir)
}

// linkObject links one object at a path within the data directory, for Relink.
func (m *Mirror) linkObject(id manifest.ObjectID, path string) error {
	if _, there := m.ObjectInfo(id); !there { // a symlink would be linked, too
		return &fs.PathError{Op: "link", Path: m.root.Path(objectName(id)), Err: fs.ErrNotExist}
	}
	dir, name := filepath.Split(objectName(id))
	from, err := m.root.Open(dir)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := m.root.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer to.Close()
	copied, err := fsops.Link(from, name, to, filepath.Base(path))
	if err != nil || !copied {
		return err
	}
	if err := m.chgrp(m.root, path); err != nil {
		return err
	}
	return m.disk.SyncFiles(m.root, []string{path})
}

// maxOpenDirs is how many directories of a tree are kept open at once.
const maxOpenDirs = 64

// openDirs keeps directories within a root open, at most limit at once.
type openDirs struct {
	root  *fsops.Dir
	limit int
	byDir map[string]*os.File
}

// open returns an open directory. It closes all others first if limit are open.
func (d *openDirs) open(dir string) (*os.File, error) {
	if file, isOpen := d.byDir[dir]; isOpen {
		return file, nil
	}
	if len(d.byDir) >= d.limit {
		d.close()
	}
	file, err := d.root.Open(dir)
	if err != nil {
		return nil, err
	}
	if d.byDir == nil {
		d.byDir = make(map[string]*os.File, d.limit)
	}
	d.byDir[dir] = file
	return file, nil
}

func (d *openDirs) close() {
	for _, file := range d.byDir {
		file.Close()
	}
	clear(d.byDir)
}
