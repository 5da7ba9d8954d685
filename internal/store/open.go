package store

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
)

// ErrLocked says that another process has the state file open for changes.
var ErrLocked = errors.New("locked")

// Open opens or creates the state file name in dir. It sets aside a file that is damaged
// or from a newer syncd, creates an empty one in its place, and says so in note.
// timeout bounds the wait for another process that has the file open.
func Open(dir *fsops.Dir, name string, timeout time.Duration) (s *Store, note string, err error) {
	s, err = open(dir, name, timeout, false)
	var damaged *DamagedError
	if !errors.As(err, &damaged) {
		return s, "", err
	}
	aside, err := setAside(dir, name, damaged)
	if err != nil {
		return nil, "", err
	}
	s, err = open(dir, name, timeout, false)
	return s, fmt.Sprintf("%v; set aside as %s and rebuilt from disk", damaged, aside), err
}

// OpenReadOnly opens the state file name in dir for reading, also while others read it.
// It returns fs.ErrNotExist for a missing file, ErrLocked after timeout, and *DamagedError
// for one that cannot be used.
func OpenReadOnly(dir *fsops.Dir, name string, timeout time.Duration) (*Store, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 { // bbolt would write to it
		return nil, &DamagedError{Path: dir.Path(name), Err: errors.New("the file is empty")}
	}
	return open(dir, name, timeout, true)
}

// open turns a panic into an error: bbolt panics on a broken file, and reading a
// truncated file's mapping is a fault.
func open(dir *fsops.Dir, name string, timeout time.Duration, readOnly bool) (s *Store, err error) {
	path := dir.Path(name)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, &DamagedError{Path: path, Err: fmt.Errorf("%v", p)}
		}
	}()
	s, err = openChecked(dir, name, timeout, readOnly)
	if err != nil {
		return nil, openError(path, err)
	}
	err = s.prepare()
	if err == nil && !readOnly { // the name may be new, or from a process that was killed before it synced
		err = (&durable.Disk{}).SyncDir(dir, filepath.Dir(name))
	}
	if err != nil {
		s.Close()
		return nil, openError(path, err)
	}
	return s, nil
}

// openChecked opens the file with bbolt. Before that it checks the pages by way of
// bbolt's read-only mode, which neither writes nor loads the list of free pages. Then it
// checks what they hold by a mapping of its own, because it looks at all of the file: the
// pages would stay in the memory of the process, 40 MiB with 250,000 files.
func openChecked(dir *fsops.Dir, name string, timeout time.Duration, readOnly bool) (*Store, error) {
	var file *os.File
	options := bbolt.Options{
		OpenFile: func(_ string, flag int, perm os.FileMode) (_ *os.File, err error) {
			file, err = openRegular(dir, name, flag, perm)
			return file, err
		},
		Timeout: timeout, ReadOnly: true, NoSync: fsops.NoFsync, NoGrowSync: fsops.NoFsync,
	}
	if info, err := dir.Lstat(name); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		db, err := bbolt.Open(dir.Path(name), 0o600, &options)
		if err != nil {
			return nil, err
		}
		s := &Store{db: db}
		if err := errors.Join(s.read(func(tx *bbolt.Tx) error { return checkTree(tx, file) }), s.Close()); err != nil {
			return nil, err
		}
		options.PreLoadFreelist = true
		if db, err = bbolt.Open(dir.Path(name), 0o600, &options); err != nil {
			return nil, err
		}
		s = &Store{db: db}
		if err := errors.Join(s.checkContent(), s.Close()); err != nil {
			return nil, err
		}
	}
	options.ReadOnly, options.PreLoadFreelist, options.InitialMmapSize = readOnly, true, initialMap
	db, err := bbolt.Open(dir.Path(name), 0o600, &options)
	if err != nil {
		return nil, err
	}
	if initialMap > 0 {
		db.AllocSize = growth
	}
	return &Store{db: db}, nil
}

// growth is by how many bytes the file grows at least. bbolt would take 16 MiB, because the
// mapping is large.
const growth = 64 << 10

// openRegular opens a regular file and follows no symlink. Opening a FIFO would block.
func openRegular(dir *fsops.Dir, name string, flag int, perm os.FileMode) (*os.File, error) {
	if info, err := dir.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "open", Path: dir.Path(name), Err: fmt.Errorf("it is not a regular file, move it away: %w", syscall.EISDIR)}
	}
	return dir.OpenFile(name, flag, perm)
}

// openError tells damage from errors of the system, which say nothing about the
// file: a full disk is no reason to set a good file aside.
func openError(path string, err error) error {
	var errno syscall.Errno
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("%s is %w: is another syncd running?", path, ErrLocked)
	case errors.As(err, &errno):
		return fmt.Errorf("%s: %w", path, err)
	}
	return &DamagedError{Path: path, Err: err}
}

// checkContent checks what a file has, unless it has no buckets yet.
func (s *Store) checkContent() error {
	if fresh, err := isNew(s); fresh || err != nil {
		return err
	}
	return s.check()
}

// prepare creates the buckets of a new file.
func (s *Store) prepare() error {
	fresh, err := isNew(s)
	switch {
	case err != nil || !fresh:
		return err
	case !s.db.IsReadOnly():
		err = create(s)
	}
	return cmp.Or(err, s.check())
}

// isNew is true for a file without buckets.
func isNew(s *Store) (isNew bool, err error) {
	err = s.read(func(tx *bbolt.Tx) error {
		first, _ := tx.Cursor().First()
		isNew = first == nil
		return nil
	})
	return isNew, err
}

func create(s *Store) error {
	return s.update(func(tx *bbolt.Tx) error {
		for _, name := range requiredBuckets() {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		meta := tx.Bucket(bucketMeta)
		created, err := time.Now().UTC().MarshalText()
		if err != nil {
			return err
		}
		return errors.Join(meta.Put(keySchema, binary.BigEndian.AppendUint32(nil, schema)), meta.Put(keyCreated, created))
	})
}

func requiredBuckets() [][]byte {
	return [][]byte{bucketMeta, bucketManifests, bucketPlanned, bucketOrigins, bucketHistory}
}
