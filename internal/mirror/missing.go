package mirror

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// missingError is the error for an object that is not on disk although something needs it.
// Readers of the trees that link to it notice nothing.
func (o *Objects) missingError(id manifest.ObjectID) error {
	return fmt.Errorf("%w: run `syncd verify --repair`", &fs.PathError{Op: "find", Path: o.Path(id), Err: fs.ErrNotExist})
}

// isMissing is true if an object is not on disk. It needs no Recover.
func (o *Objects) isMissing(id manifest.ObjectID) bool {
	info, err := o.root.Info(objectName(id))
	return isGone(err) || err == nil && !info.IsRegular()
}

// orMissing is err, or what to do if an object is missing.
func (o *Objects) orMissing(id manifest.ObjectID, err error) error {
	if isGone(err) && o.isMissing(id) {
		return o.missingError(id)
	}
	return err
}

// Missing lists the objects of served files that are not on disk.
func (m *Mirror) Missing() (ids []manifest.ObjectID) {
	for _, record := range m.Current().Records {
		for _, f := range record.Files {
			if m.Objects.isMissing(f.Object) {
				ids = append(ids, f.Object)
			}
		}
	}
	slices.SortFunc(ids, func(a, b manifest.ObjectID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(ids)
}

// Restore names a missing object again by a file of some tree that has its content. It is
// false if there is none, and for an object that is on disk. Sync makes the name durable.
func (m *Mirror) Restore(ctx context.Context, id manifest.ObjectID) (restored bool, err error) {
	if !m.Objects.isMissing(id) {
		return false, nil
	}
	err = m.eachTree(func(t tree) error {
		for _, f := range t.files {
			path := filepath.Join(t.name, f.Path)
			if restored || f.Object != id || ctx.Err() != nil {
				continue
			}
			if _, err := verify.File(ctx, m.root, path, id.Digest()); err == nil {
				restored = m.Objects.relink(path, id) == nil
			}
		}
		return nil
	})
	return restored, err
}

// relink names an object that is missing by a file with its content. It makes no copy: one
// that breaks off would stand under the name of the whole object.
func (o *Objects) relink(path string, id manifest.ObjectID) error {
	dir, name := filepath.Split(objectName(id))
	if err := o.makeReadable(filepath.Clean(dir), map[string]bool{}); err != nil {
		return err
	}
	from, err := o.root.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := o.root.Open(dir)
	if err != nil {
		return err
	}
	defer to.Close()
	if err = fsops.HardLink(from, filepath.Base(path), to, name); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.directories[objectDir(name)], o.directories["."] = dirty, dirty
	return nil
}
