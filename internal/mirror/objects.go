package mirror

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"syncd/internal/fsops"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// Objects returns every object on disk, sorted by ID.
func (m *Mirror) Objects() ([]manifest.ObjectID, error) {
	paths, err := m.objectPaths()
	var ids []manifest.ObjectID
	for _, path := range paths {
		if id, err := manifest.ParseObjectID(filepath.Base(path)); err == nil && path == m.ObjectPath(id) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// Object returns an object if it is on disk. Its content was proven when it got
// its name, and is not read again.
func (m *Mirror) Object(id manifest.ObjectID) (manifest.Object, bool) {
	info, there := m.ObjectInfo(id)
	if !there {
		return manifest.Object{}, false
	}
	return manifest.Object{ID: id, Size: info.Size()}, true
}

// ObjectInfo describes the file of an object, if it is on disk.
func (m *Mirror) ObjectInfo(id manifest.ObjectID) (info os.FileInfo, there bool) {
	info, err := os.Stat(m.ObjectPath(id))
	return info, err == nil && info.Mode().IsRegular()
}

// ObjectPath is the path of an object's file, whether it is on disk or not.
func (m *Mirror) ObjectPath(id manifest.ObjectID) string { return m.path(objectName(id)) }

// objectName is an object's path within the data directory.
func objectName(id manifest.ObjectID) string {
	name := id.String()
	return filepath.Join("objects", name[:2], name)
}

// Adopt makes proven files objects, see AdoptEach, and joins their errors.
func (m *Mirror) Adopt(files ...verify.Proven) error { return errors.Join(m.AdoptEach(files)...) }

// AdoptEach makes proven files objects: it syncs the bytes of those that are not
// durable, then renames all. The next Publish or SyncObjects makes the new names
// durable. Each file has its own error. When syncing fails, the files that were to
// be synced are removed. Safe for concurrent use.
func (m *Mirror) AdoptEach(files []verify.Proven) []error {
	errs := make([]error, len(files))
	var paths []string
	for _, f := range files {
		if !f.Durable {
			paths = append(paths, f.Path)
		}
	}
	if err := m.disk.SyncFiles(paths); err != nil {
		for _, path := range paths { // a second fsync may report success for bytes that were lost
			err = errors.Join(err, fsops.RemoveAll(path))
		}
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	for i, f := range files {
		errs[i] = m.adopt(f)
	}
	return errs
}

func (m *Mirror) adopt(f verify.Proven) error {
	target := m.ObjectPath(f.Object.ID)
	dir := filepath.Dir(target)
	if err := m.makeObjectDir(dir); err != nil {
		return err
	}
	err := fsops.Rename(f.Path, target)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		delete(m.objectDirs, dir) // it may have been removed
		return err
	}
	m.objectDirs[dir] = dirty
	return nil
}

// makeObjectDir makes an object directory, with its permissions whatever the umask,
// once in the life of the process.
func (m *Mirror) makeObjectDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, made := m.objectDirs[dir]; made {
		return nil
	}
	if err := fsops.EnsureDir(dir, 0o755); err != nil {
		return err
	}
	m.objectDirs[dir], m.objectDirs[filepath.Dir(dir)] = clean, dirty
	return nil
}

// SyncObjects makes the names of all adopted objects durable. No Adopt may be
// under way.
func (m *Mirror) SyncObjects() error {
	dirs := m.dirtyDirs()
	if err := m.disk.SyncDirs(dirs); err != nil { // don't hold mu across fsync: Current needs it
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, dir := range dirs {
		m.objectDirs[dir] = clean
	}
	return nil
}

func (m *Mirror) dirtyDirs() (dirs []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for dir, state := range m.objectDirs {
		if state == dirty {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs) // the steps of a sync are the same in each run, as the crash tests need
	return dirs
}

// dirState says whether all names in a directory are durable.
type dirState bool

const (
	clean dirState = false
	dirty dirState = true
)

// ObjectDirs is how many of the 256 directories for objects exist; 0 when they
// cannot be read.
func (m *Mirror) ObjectDirs() int {
	entries, err := os.ReadDir(m.path("objects"))
	if err != nil {
		return 0
	}
	return len(entries)
}
