package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest/layout"
	"syncd/internal/verify"
)

// Trees are the directories of links to objects that readers see: revisions and views.
type Trees struct {
	*folder
	objects     *Objects
	generations *Generations
}

// tree is an immutable tree of links to objects: a revision or a view.
type tree struct {
	name      string // within the data directory
	files     []File // their paths, objects and sizes
	hashFiles bool   // <file>.hash lies beside each file
	shownBy   func(Generation) bool
}

func treeOfRevision(r Record) tree {
	shownBy := func(g Generation) bool { return g.Records[r.Manifest].ID() == r.ID() }
	return tree{name: r.Dir(), files: r.Files, shownBy: shownBy}
}

// treeOfView describes the tree of a view to its builder.
func treeOfView(v View) tree {
	files := make([]File, len(v.Files))
	for i, f := range v.Files {
		files[i] = File{Path: f.Path, Size: f.Size, Object: f.Object}
	}
	shownBy := func(g Generation) bool { return g.Views[v.Name].Fingerprint == v.Fingerprint }
	return tree{name: v.Dir(), files: files, hashFiles: v.HashFiles, shownBy: shownBy}
}

// count is how many files the tree has.
func (t tree) count() int {
	if t.hashFiles {
		return 2 * len(t.files)
	}
	return len(t.files)
}

// RevisionPath is the absolute path of a revision's tree.
func (ts *Trees) RevisionPath(r Record) string { return ts.root.Path(r.Dir()) }

// ViewPath is the absolute path of a view's tree.
func (ts *Trees) ViewPath(v View) string { return ts.root.Path(v.Dir()) }

// Has is true if the tree of a view is on disk.
func (ts *Trees) Has(v View) bool { return ts.findTree(v.Dir()) == nil }

// Open opens the tree of a view. The caller closes the directory.
func (ts *Trees) Open(v View) (*fsops.Dir, error) { return ts.root.OpenDir(v.Dir()) }

// prepareView makes the tree of a view complete on disk, shown by no generation yet.
func (ts *Trees) prepareView(v View) error {
	if err := v.Check(); err != nil {
		return err
	}
	if err := ts.makeDir("views"); err != nil {
		return err
	}
	return ts.build(treeOfView(v))
}

// build makes the tree, unless it exists. It replaces one with other content when no
// generation shows it.
func (ts *Trees) build(t tree) error {
	if err := ts.makeDir(filepath.Dir(t.name)); err != nil {
		return err
	}
	_, err := ts.root.Lstat(t.name)
	replaced := err == nil
	if replaced {
		wrong := ts.check(t)
		if wrong == nil {
			return ts.disk.SyncDir(ts.root, filepath.Dir(t.name)) // a crash may have come before this fsync
		}
		if shown, err := ts.generations.shows(t); err != nil || shown {
			return errors.Join(wrong, err)
		}
	}
	temp := fsops.TempName(t.name)
	defer ts.root.Discard(temp)
	dirs, err := ts.link(t, temp)
	if err != nil {
		return err
	}
	if err := ts.disk.SyncDirs(ts.root, dirs); err != nil {
		return err
	}
	if replaced {
		if err := ts.root.RemoveTree(t.name); err != nil {
			return err
		}
	}
	return ts.disk.Rename(ts.root, temp, t.name)
}

// check requires that an existing tree holds its files and nothing else: it may be
// damaged, or the 48 bits of its name may collide.
func (ts *Trees) check(t tree) error {
	if err := ts.findTree(t.name); err != nil {
		return err
	}
	found, link := 0, ""
	dir := ts.root.Path(t.name)
	err := ts.root.Walk(t.name, func(name string, entry fs.DirEntry) {
		if !entry.IsDir() {
			found++
		}
		if entry.Type() == fs.ModeSymlink {
			link = name
		}
	})
	if err != nil {
		return err
	}
	if link != "" {
		return fmt.Errorf("%s is a symlink, which syncd does not make: remove it, then run `syncd verify --repair`", ts.root.Path(link))
	}
	if want := t.count(); found != want {
		return fmt.Errorf("%s holds %d files instead of %d: move it away", dir, found, want)
	}
	for _, f := range t.files {
		err := ts.checkFile(filepath.Join(t.name, f.Path), f)
		if err == nil && t.hashFiles {
			err = ts.checkHashFile(filepath.Join(t.name, layout.HashName(f.Path)), f)
		}
		if err != nil {
			return fmt.Errorf("%s exists with other content: run `syncd verify --repair` if it is damaged, else move it away: %w", dir, err)
		}
	}
	return nil
}

// checkFile requires the content of an object. It reads a copy, but not a link to the
// object.
func (ts *Trees) checkFile(name string, f File) error {
	isObject, err := ts.objects.isLink(name, f.Object)
	if err != nil || isObject {
		return err
	}
	_, err = verify.File(context.Background(), ts.root, name, f.Object.Digest())
	return err
}

// checkHashFile requires the digest of an object in a hash file.
func (ts *Trees) checkHashFile(name string, f File) error {
	file, err := ts.root.OpenRegular(name)
	if err != nil {
		return err
	}
	defer file.Close()
	want := layout.HashText(f.Object)
	text, err := io.ReadAll(io.LimitReader(file, int64(len(want))+1))
	if err == nil && string(text) != want {
		err = fmt.Errorf("%s does not hold the digest %s", ts.root.Path(name), want)
	}
	return err
}

// replace replaces a file of a tree by one that create makes. The temporary one is made
// next to the tree, where Recover finds a leftover: a published tree holds only its files.
func (ts *Trees) replace(t tree, name string, create func(temp string) error) error {
	path := filepath.Join(t.name, name)
	if err := ts.makeReadable(filepath.Dir(path), map[string]bool{}); err != nil {
		return err
	}
	temp := fsops.TempName(filepath.Join(filepath.Dir(t.name), "relink"))
	defer ts.root.Discard(temp) // rename(2) leaves both names when they are one file
	if err := create(temp); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := ts.root.Rename(temp, path); err != nil {
		return err
	}
	return ts.disk.SyncDir(ts.root, filepath.Dir(path))
}

// prune removes the revisions or the views whose keys are not in keep.
func (ts *Trees) prune(dir string, keep map[string]bool) error {
	names, err := ts.namesBelow(dir)
	for _, name := range names {
		if key, _ := filepath.Rel(dir, name); !keep[key] {
			err = errors.Join(err, ts.root.RemoveTree(name))
			_ = ts.root.Remove(filepath.Dir(name)) // fails while other trees are there
		}
	}
	return err
}
