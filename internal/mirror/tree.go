package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
	"syncd/internal/manifest/layout"
	"syncd/internal/verify"
)

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

// buildTree makes the tree, unless it exists. It replaces one with other content when no
// generation shows it.
func (m *Mirror) buildTree(t tree) error {
	if err := m.makeDir(filepath.Dir(t.name)); err != nil {
		return err
	}
	_, err := m.root.Lstat(t.name)
	replaced := err == nil
	if replaced {
		wrong := m.checkTree(t)
		if wrong == nil {
			return m.disk.SyncDir(m.root, filepath.Dir(t.name)) // a crash may have come before this fsync
		}
		if shown, err := m.shows(t); err != nil || shown {
			return errors.Join(wrong, err)
		}
	}
	temp := fsops.TempName(t.name)
	defer m.root.Discard(temp)
	dirs, err := m.linkTree(t, temp)
	if err != nil {
		return err
	}
	if err := m.disk.SyncDirs(m.root, dirs); err != nil {
		return err
	}
	if replaced {
		if err := m.root.RemoveTree(t.name); err != nil {
			return err
		}
	}
	return m.disk.Rename(m.root, temp, t.name)
}

// shows is true when a generation on disk has the tree. A damaged generation does not
// count. One that cannot be read is an error, because it may be whole.
func (m *Mirror) shows(t tree) (bool, error) {
	numbers, err := m.numbers()
	if err != nil {
		return false, err
	}
	for _, n := range numbers {
		g, err := m.readGeneration(n)
		if err != nil && !errors.Is(err, errDamaged) && !isGone(err) {
			return false, err
		}
		if t.shownBy(g) {
			return true, nil
		}
	}
	return false, nil
}

// checkTree requires that an existing tree holds its files and nothing else: it may be
// damaged, or the 48 bits of its name may collide.
func (m *Mirror) checkTree(t tree) error {
	if err := m.findTree(t.name); err != nil {
		return err
	}
	found, link := 0, ""
	dir := m.root.Path(t.name)
	err := m.root.Walk(t.name, func(name string, entry fs.DirEntry) {
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
		return fmt.Errorf("%s is a symlink, which syncd does not make: remove it, then run `syncd verify --repair`", m.root.Path(link))
	}
	if want := t.count(); found != want {
		return fmt.Errorf("%s holds %d files instead of %d: move it away", dir, found, want)
	}
	for _, f := range t.files {
		err := m.checkFile(filepath.Join(t.name, f.Path), f)
		if err == nil && t.hashFiles {
			err = m.checkHashFile(filepath.Join(t.name, layout.HashName(f.Path)), f)
		}
		if err != nil {
			return fmt.Errorf("%s exists with other content: run `syncd verify --repair` if it is damaged, else move it away: %w", dir, err)
		}
	}
	return nil
}

// count is how many files the tree has.
func (t tree) count() int {
	if t.hashFiles {
		return 2 * len(t.files)
	}
	return len(t.files)
}

// findTree requires that a tree is on disk. A symlink in its place leads elsewhere and
// counts as none.
func (m *Mirror) findTree(name string) error {
	info, err := m.root.Lstat(name)
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		err = &fs.PathError{Op: "find", Path: m.root.Path(name), Err: fs.ErrNotExist}
	}
	return err
}

// checkFile requires the content of an object. It reads a copy, but not a link to the
// object.
func (m *Mirror) checkFile(name string, f File) error {
	isObject, err := m.isObject(name, f.Object)
	if err != nil || isObject {
		return err
	}
	_, err = verify.File(context.Background(), m.root, name, f.Object.Digest())
	return err
}

// isObject is true for a file that is a hard link of an object.
func (m *Mirror) isObject(name string, id manifest.ObjectID) (bool, error) {
	info, err := m.root.Lstat(name)
	if err != nil {
		return false, err
	}
	object, err := m.root.Lstat(objectName(id))
	return err == nil && os.SameFile(info, object), nil
}

// checkHashFile requires the digest of an object in a hash file.
func (m *Mirror) checkHashFile(name string, f File) error {
	file, err := m.root.OpenRegular(name)
	if err != nil {
		return err
	}
	defer file.Close()
	want := layout.HashText(f.Object)
	text, err := io.ReadAll(io.LimitReader(file, int64(len(want))+1))
	if err == nil && string(text) != want {
		err = fmt.Errorf("%s does not hold the digest %s", m.root.Path(name), want)
	}
	return err
}
