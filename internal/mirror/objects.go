package mirror

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/verify"
)

// Objects are the contents of all files, each once, by their digests. Unfinished downloads
// lie beside them.
type Objects struct {
	*folder
	objects *fsops.Dir // set by Recover, as is partial; nil before
	partial *fsops.Dir

	syncing sync.Mutex // held by Sync

	mu          sync.Mutex          // guards what follows; never held across an fsync
	directories map[string]dirState // that are known to exist
}

// All returns every object on disk, sorted by ID.
func (o *Objects) All() (ids []manifest.ObjectID, err error) {
	err = o.each(func(name string) {
		if id, err := manifest.ParseObjectID(filepath.Base(name)); err == nil && name == objectName(id) {
			ids = append(ids, id)
		}
	})
	return ids, err
}

// In returns the objects in one of the 256 directories, sorted by ID.
func (o *Objects) In(directory byte) ([]manifest.ObjectID, error) {
	dir := hex.EncodeToString([]byte{directory})
	names, err := o.objects.Names(dir)
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

// Find returns an object if it is on disk. Its content was proven when it got
// its name, and is not read again.
func (o *Objects) Find(id manifest.ObjectID) (manifest.Object, bool) {
	info, there := o.Info(id)
	if !there {
		return manifest.Object{}, false
	}
	return manifest.Object{ID: id, Size: info.Size()}, true
}

// Info describes the file of an object, if it is on disk.
func (o *Objects) Info(id manifest.ObjectID) (info fsops.Info, there bool) {
	info, err := o.objects.Info(inObjects(id))
	return info, err == nil && info.IsRegular()
}

// Open opens an object for reading. It needs no Recover.
func (o *Objects) Open(id manifest.ObjectID) (*os.File, error) {
	file, err := o.root.OpenRegular(objectName(id))
	if isGone(err) {
		err = o.missingError(id)
	}
	return file, err
}

// Path is where an object lies.
func (o *Objects) Path(id manifest.ObjectID) string { return o.root.Path(objectName(id)) }

// Check reads an object and compares it with an expected digest, see verify.File.
func (o *Objects) Check(ctx context.Context, id manifest.ObjectID, expected manifest.Digest) (manifest.Object, error) {
	return verify.File(ctx, o.root, objectName(id), expected)
}

// Hash reads an object.
func (o *Objects) Hash(ctx context.Context, id manifest.ObjectID, algorithm manifest.Algorithm) (*verify.Hasher, error) {
	return verify.HashFile(ctx, o.root, objectName(id), algorithm)
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
func (o *Objects) Adopt(files ...verify.Proven) error { return errors.Join(o.AdoptEach(files)...) }

// AdoptEach makes proven files objects: it syncs the bytes of those that are not
// durable, then renames all. The next Publish or Sync makes the new names
// durable. Each file has its own error. When syncing fails, the files that were to
// be synced are removed. Safe for concurrent use.
func (o *Objects) AdoptEach(files []verify.Proven) []error {
	defer o.grants.Hold()()
	errs := make([]error, len(files))
	var names []string
	sync := o.disk.SyncNewFiles
	for _, f := range files {
		given, err := o.grants.Give(o.partial, f.Name)
		if err != nil {
			return slices.Repeat([]error{err}, len(files))
		}
		if given || !f.Durable {
			names = append(names, f.Name)
		}
		if !f.IsNew {
			sync = o.disk.SyncFiles
		}
	}
	if err := sync(o.partial, names); err != nil {
		for _, name := range names { // a second fsync may report success for bytes that were lost
			err = errors.Join(err, o.partial.RemoveAll(name))
		}
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	for i, f := range files {
		errs[i] = o.adopt(f)
	}
	return errs
}

func (o *Objects) adopt(f verify.Proven) error {
	target := inObjects(f.Object.ID)
	dir := objectDir(target)
	if err := o.makeDirectory(dir); err != nil {
		return err
	}
	err := fsops.Move(o.partial, f.Name, o.objects, target)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		delete(o.directories, dir) // it may have been removed
		return err
	}
	o.directories[dir] = dirty
	return nil
}

// makeDirectory makes an object directory, with its permissions whatever the umask,
// once in the life of the process.
func (o *Objects) makeDirectory(dir string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, made := o.directories[dir]; made {
		return nil
	}
	if err := o.grants.EnsureDir(o.objects, dir); err != nil {
		return err
	}
	o.directories[dir], o.directories["."] = clean, dirty
	return nil
}

// Sync makes the names of all adopted objects durable. It may miss those of an
// Adopt that is under way; the next call gets them. Safe for concurrent use.
func (o *Objects) Sync() error {
	o.syncing.Lock() // another call may have taken the dirty ones and not be done
	defer o.syncing.Unlock()
	dirs := o.takeDirtyDirs()
	err := o.disk.SyncDirs(o.objects, dirs) // don't hold mu across fsync: Current needs it
	if err == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, dir := range dirs {
		o.directories[dir] = dirty
	}
	return err
}

// takeDirtyDirs marks the dirty directories as clean. An Adopt from then on makes
// its directory dirty again.
func (o *Objects) takeDirtyDirs() (dirs []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for dir, state := range o.directories {
		if state == dirty {
			dirs = append(dirs, dir)
			o.directories[dir] = clean
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

// Directories is how many of the 256 directories for objects exist; 0 when they
// cannot be read.
func (o *Objects) Directories() int {
	names, err := o.root.Names("objects")
	if err != nil {
		return 0
	}
	return len(names)
}

// MayHave returns a function that is false for an object that was not on disk when MayHave
// was called, because there was no directory for it.
func (o *Objects) MayHave() func(manifest.ObjectID) bool {
	var has [256]bool
	names, err := o.root.Names("objects")
	for _, name := range names {
		if first, err := hex.DecodeString(name); err == nil && len(first) == 1 {
			has[first[0]] = true
		}
	}
	return func(id manifest.ObjectID) bool { return err != nil || has[id[0]] }
}

// each calls do for each file in the object directories, whatever its name. It lists one of
// the directories at a time.
func (o *Objects) each(do func(name string)) error { return o.eachBelow("objects", do) }

// IsWhole re-reads an object and compares it with its name.
func (o *Objects) IsWhole(ctx context.Context, id manifest.ObjectID) bool {
	_, err := o.Check(ctx, id, id.Digest())
	return err == nil
}

// isLink is true for a file that is a hard link of an object.
func (o *Objects) isLink(name string, id manifest.ObjectID) (bool, error) {
	info, err := o.root.Lstat(name)
	if err != nil {
		return false, err
	}
	object, err := o.root.Lstat(objectName(id))
	return err == nil && os.SameFile(info, object), nil
}

// link links one object at a path within the data directory, for Relink.
func (o *Objects) link(id manifest.ObjectID, path string) error {
	if _, there := o.Info(id); !there { // a symlink would be linked, too
		return &fs.PathError{Op: "link", Path: o.root.Path(objectName(id)), Err: fs.ErrNotExist}
	}
	dir, name := filepath.Split(objectName(id))
	from, err := o.root.Open(dir)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := o.root.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer to.Close()
	copied, err := fsops.Link(from, name, to, filepath.Base(path))
	if err != nil || !copied {
		return err
	}
	if err := o.grants.Chgrp(o.root, path); err != nil {
		return err
	}
	return o.disk.SyncFiles(o.root, []string{path})
}

// RemoveUnused removes an object that no revision holds, and that is not to be used.
func (o *Objects) RemoveUnused(id manifest.ObjectID) error { return o.objects.Remove(inObjects(id)) }

func (o *Objects) prune(chosen *choice) error {
	var failed error
	err := o.each(func(name string) {
		if !chosen.keeps(name) {
			failed = errors.Join(failed, o.root.Remove(name))
		}
	})
	return errors.Join(err, failed)
}

// Partial is the directory of unfinished downloads, opened by Recover. Close closes it.
func (o *Objects) Partial() *fsops.Dir { return o.partial }

// open opens the directories in which each download changes something.
func (o *Objects) open() (err error) {
	if err := errors.Join(o.objects.Close(), o.partial.Close()); err != nil {
		return err
	}
	if o.objects, err = o.root.OpenDir("objects"); err != nil {
		return err
	}
	o.partial, err = o.root.OpenDir("partial")
	return err
}

// InPlace requires that the directories which the mirror holds open are still
// those of the data directory: files in another one would be lost.
func (o *Objects) InPlace() error {
	for name, held := range map[string]*fsops.Dir{"objects": o.objects, "partial": o.partial} {
		if held == nil {
			continue
		}
		now, err := o.root.Info(name)
		then, heldErr := held.Info(".")
		if err := errors.Join(err, heldErr); err != nil || !now.Same(then) {
			return fmt.Errorf("%s was removed or replaced while syncd was running: restart syncd: %w", o.root.Path(name), cmp.Or(err, errReplaced))
		}
	}
	return nil
}

var errReplaced = refusal.Local("it is another directory now")

func (o *Objects) close() error { return errors.Join(o.objects.Close(), o.partial.Close()) }
