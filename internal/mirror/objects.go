package mirror

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// Objects returns every object on disk, sorted by ID.
func (m *Mirror) Objects() ([]manifest.ObjectID, error) {
	names, err := m.objectNames()
	var ids []manifest.ObjectID
	for _, name := range names {
		if id, err := manifest.ParseObjectID(filepath.Base(name)); err == nil && name == objectName(id) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// ObjectsIn returns the objects in one of the 256 directories, sorted by ID.
func (m *Mirror) ObjectsIn(directory byte) ([]manifest.ObjectID, error) {
	dir := hex.EncodeToString([]byte{directory})
	names, err := m.objects.Names(dir)
	if isGone(err) {
		return nil, nil
	}
	var ids []manifest.ObjectID
	for _, name := range names {
		if id, err := manifest.ParseObjectID(name); err == nil && inObjects(id) == dir+"/"+name {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b manifest.ObjectID) int { return bytes.Compare(a[:], b[:]) })
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
func (m *Mirror) ObjectInfo(id manifest.ObjectID) (info fsops.Info, there bool) {
	info, err := m.objects.Info(inObjects(id))
	return info, err == nil && info.IsRegular()
}

// OpenObject opens an object for reading. It needs no Recover.
func (m *Mirror) OpenObject(id manifest.ObjectID) (*os.File, error) {
	return m.root.OpenRegular(objectName(id))
}

// ObjectPath is where an object lies.
func (m *Mirror) ObjectPath(id manifest.ObjectID) string { return m.root.Path(objectName(id)) }

// CheckObject reads an object and compares it with an expected digest, see verify.File.
func (m *Mirror) CheckObject(ctx context.Context, id manifest.ObjectID, expected manifest.Digest) (manifest.Object, error) {
	return verify.File(ctx, m.root, objectName(id), expected)
}

// HashObject reads an object.
func (m *Mirror) HashObject(ctx context.Context, id manifest.ObjectID, algorithm manifest.Algorithm) (*verify.Hasher, error) {
	return verify.HashFile(ctx, m.root, objectName(id), algorithm)
}

// inObjects is an object's path within the directory of objects.
func inObjects(id manifest.ObjectID) string {
	name := id.String()
	return objectDir(name) + "/" + name
}

// objectDir is the directory of an object with this name, within the directory of objects.
func objectDir(name string) string { return name[:2] }

// objectName is an object's path within the data directory.
func objectName(id manifest.ObjectID) string { return "objects/" + inObjects(id) }

// Adopt makes proven files objects, see AdoptEach, and joins their errors.
func (m *Mirror) Adopt(files ...verify.Proven) error { return errors.Join(m.AdoptEach(files)...) }

// AdoptEach makes proven files objects: it syncs the bytes of those that are not
// durable, then renames all. The next Publish or SyncObjects makes the new names
// durable. Each file has its own error. When syncing fails, the files that were to
// be synced are removed. Safe for concurrent use.
func (m *Mirror) AdoptEach(files []verify.Proven) []error {
	m.granting.RLock()
	defer m.granting.RUnlock()
	errs := make([]error, len(files))
	var names []string
	for _, f := range files {
		if m.access != DefaultAccess() { // downloads have the default
			if err := grant(m.partial, f.Name, m.access); err != nil {
				return slices.Repeat([]error{grantError(err, m.access)}, len(files))
			}
			f.Durable = false
		}
		if !f.Durable {
			names = append(names, f.Name)
		}
	}
	if err := m.disk.SyncFiles(m.partial, names); err != nil {
		for _, name := range names { // a second fsync may report success for bytes that were lost
			err = errors.Join(err, m.partial.RemoveAll(name))
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
	target := inObjects(f.Object.ID)
	dir := objectDir(target)
	if err := m.makeObjectDir(dir); err != nil {
		return err
	}
	err := fsops.Move(m.partial, f.Name, m.objects, target)
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
	if err := m.ensureReadable(m.objects, dir); err != nil {
		return err
	}
	m.objectDirs[dir], m.objectDirs["."] = clean, dirty
	return nil
}

// SyncObjects makes the names of all adopted objects durable. It may miss those of an
// Adopt that is under way; the next call gets them. Safe for concurrent use.
func (m *Mirror) SyncObjects() error {
	m.syncingObjects.Lock() // another call may have taken the dirty ones and not be done
	defer m.syncingObjects.Unlock()
	dirs := m.takeDirtyDirs()
	err := m.disk.SyncDirs(m.objects, dirs) // don't hold mu across fsync: Current needs it
	if err == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, dir := range dirs {
		m.objectDirs[dir] = dirty
	}
	return err
}

// takeDirtyDirs marks the dirty directories as clean. An Adopt from then on makes
// its directory dirty again.
func (m *Mirror) takeDirtyDirs() (dirs []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for dir, state := range m.objectDirs {
		if state == dirty {
			dirs = append(dirs, dir)
			m.objectDirs[dir] = clean
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
	names, err := m.root.Names("objects")
	if err != nil {
		return 0
	}
	return len(names)
}
