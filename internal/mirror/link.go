package mirror

import (
	"bytes"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest/layout"
)

// link makes the files of t below the new directory temp. It returns the
// directories of the tree, the deepest first: their entries are not durable yet.
func (ts *Trees) link(t tree, temp string) (dirs []string, err error) {
	made := map[string]bool{filepath.Dir(temp): true}
	if err := ts.makeReadable(temp, made); err != nil {
		return nil, err
	}
	last := "." // most files lie in the directory of the one before
	for _, f := range t.files {
		if dir := path.Dir(f.Path); dir != last {
			if err := ts.makeReadable(filepath.Join(temp, dir), made); err != nil {
				return nil, err
			}
			last = dir
		}
	}
	delete(made, filepath.Dir(temp))
	dirs = slices.Sorted(maps.Keys(made)) // parents come before their children
	slices.Reverse(dirs)
	if err := ts.linkFiles(temp, t.files); err != nil || !t.hashFiles {
		return dirs, err
	}
	return dirs, ts.writeHashFiles(temp, t.files)
}

// writeHashFiles writes the digest of each file beside it, as the provider's updater
// does.
func (ts *Trees) writeHashFiles(base string, list []File) error {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = filepath.Join(base, layout.HashName(f.Path))
		if err := ts.grants.Create(ts.root, names[i], hashOf(f)); err != nil {
			return err
		}
	}
	return ts.disk.SyncFiles(ts.root, names)
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
func (ts *Trees) linkFiles(base string, list []File) error {
	objects, tree := openDirs{root: ts.objects.objects, limit: 1}, openDirs{root: ts.root, limit: maxOpenDirs}
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
			return ts.objects.orMissing(list[i].Object, err)
		}
		dir, newName := path.Split(list[i].Path)
		to, err := tree.open(filepath.Join(base, dir))
		if err != nil {
			return err
		}
		copied, err := fsops.Link(from, name, to, newName)
		if err != nil {
			return ts.objects.orMissing(list[i].Object, err)
		}
		if copied {
			copies = append(copies, filepath.Join(base, list[i].Path))
		}
	}
	for _, name := range copies {
		if err := ts.grants.Chgrp(ts.root, name); err != nil {
			return err
		}
	}
	return ts.disk.SyncFiles(ts.root, copies)
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
