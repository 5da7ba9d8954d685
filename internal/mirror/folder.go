package mirror

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"syncd/internal/disk/datadir"
	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/disk/space"
	"syncd/internal/mirror/permissions"
	"syncd/internal/mirror/record"
)

// folder is the data directory. Names of files are relative to it.
type folder struct {
	dir  string
	disk *durable.Disk
	root *fsops.Dir // set by Open and MakeState; nil while it is missing

	grants *permissions.Grants // of what readers see

	probing     sync.Once // sets copiesBytes
	copiesBytes bool
}

// Dir is the data directory.
func (d *folder) Dir() string { return d.dir }

// Root is the data directory, opened by Open or MakeState. Close closes it.
func (d *folder) Root() *fsops.Dir { return d.root }

// SetAccess sets the permissions of all that is made from now on. Recover needs them.
func (d *folder) SetAccess(a Access) { d.grants.Set(a) }

// Grant gives everything on disk that readers see the permissions a, see Grants.Grant.
func (d *folder) Grant(a Access) error { return d.grants.Grant(d.root, d.disk, a) }

// Free returns what this user may still take of the data directory's file system.
func (d *folder) Free() (space.Amount, error) { return space.Free(d.root) }

// Volume returns the size of the file system in bytes.
func (d *folder) Volume() (int64, error) { return d.root.Volume() }

// CopiesBytes is true if the file system has no hard links, so that a tree takes the
// bytes of its files once more. It is found out once.
func (d *folder) CopiesBytes() bool {
	d.probing.Do(func() {
		name := fsops.TempName("state/link")
		defer d.root.Discard(name)
		if err := d.root.CreateFile(name, 0o400, func(io.Writer) error { return nil }); err != nil {
			return // the next step tells why
		}
		dir, err := d.root.Open("state")
		if err != nil {
			return
		}
		defer dir.Close()
		other := fsops.TempName("link")
		defer d.root.Discard(filepath.Join("state", other))
		d.copiesBytes, _ = fsops.Link(dir, filepath.Base(name), dir, other)
	})
	return d.copiesBytes
}

func (d *folder) layOut() error {
	for _, folder := range datadir.Folders() {
		if _, err := d.root.Lstat(folder.Name); isGone(err) && !folder.IsNeeded {
			continue
		}
		perm := folder.Perm
		if slices.Contains(permissions.Folders(), folder.Name) {
			perm = d.grants.Directories()
		}
		err := d.root.EnsureDir(folder.Name, perm)
		if err == nil {
			err = d.disk.SyncDir(d.root, ".")
		}
		if err != nil {
			return fmt.Errorf("%w: does another user own the data directory?", err)
		}
	}
	return nil
}

// makeDir makes a directory for readers, whatever the umask, and makes its name durable.
// It also completes a directory that a crash left half made.
func (d *folder) makeDir(dir string) error {
	if err := d.grants.EnsureDir(d.root, dir); err != nil {
		return err
	}
	return d.disk.SyncDir(d.root, filepath.Dir(dir))
}

// makeReadable makes a directory and its parents with the readers' permissions,
// whatever the umask. made holds the directories that exist.
func (d *folder) makeReadable(dir string, made map[string]bool) error {
	if made[dir] {
		return nil
	}
	if info, err := d.root.Lstat(dir); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%s is no directory: move it away", d.root.Path(dir))
		}
		made[dir] = true
		return nil
	}
	if err := d.makeReadable(filepath.Dir(dir), made); err != nil {
		return err
	}
	made[dir] = true
	return d.grants.EnsureDir(d.root, dir)
}

// ensurePrivate makes a directory of the state, and its name durable.
func (d *folder) ensurePrivate(dir string) error {
	if err := d.root.EnsureDir(dir, 0o700); err != nil {
		return err
	}
	return d.disk.SyncDir(d.root, filepath.Dir(dir))
}

// namesBelow lists the entries of the directories in dir, as eachBelow.
func (d *folder) namesBelow(dir string) (names []string, err error) {
	err = d.eachBelow(dir, func(name string) { names = append(names, name) })
	return names, err
}

// eachBelow calls do for each entry of the directories in dir. It leaves out what cannot be
// read, because it may be no directory.
func (d *folder) eachBelow(dir string, do func(name string)) error {
	parents, err := d.root.Names(dir)
	if isGone(err) {
		return nil
	}
	for _, parent := range parents {
		children, _ := d.root.Names(filepath.Join(dir, parent))
		for _, child := range children {
			do(filepath.Join(dir, parent, child))
		}
	}
	return err
}

// errDamaged says that the disk holds something else than Publish wrote. Other
// errors say only that it could not be read.
var errDamaged = errors.New("damaged")

// readRecord reads the record that a generation holds of a manifest.
func (d *folder) readRecord(file string) (Record, error) {
	return d.readRecordOf(strings.TrimSuffix(filepath.Base(file), recordSuffix), file)
}

func (d *folder) readRecordOf(name, file string) (read Record, err error) {
	err = d.readText(file, func(text io.Reader) error {
		read, err = record.Parse(name, text)
		return err
	})
	return read, err
}

// readText reads a record. What decode does not accept is damaged.
func (d *folder) readText(file string, decode func(io.Reader) error) error {
	f, err := d.root.OpenRegular(file)
	if err != nil {
		return err
	}
	defer f.Close()
	err = decode(f)
	var fault *fs.PathError
	if err == nil || errors.As(err, &fault) { // reading failed
		return err
	}
	return fmt.Errorf("%s is %w: %w", d.root.Path(file), errDamaged, err)
}

// readView reads the record that a generation holds of a view.
func (d *folder) readView(name, file string) (view View, err error) {
	err = d.readText(file, func(text io.Reader) error {
		view, err = record.ParseView(name, text)
		return err
	})
	return view, err
}

func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func (d *folder) warn(format string, args ...any) {
	if d.disk.Warn != nil {
		d.disk.Warn(fmt.Sprintf(format, args...))
	}
}

// findTree requires that a tree is on disk. A symlink in its place leads elsewhere and
// counts as none.
func (d *folder) findTree(name string) error {
	info, err := d.root.Lstat(name)
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		err = &fs.PathError{Op: "find", Path: d.root.Path(name), Err: fs.ErrNotExist}
	}
	return err
}

func (d *folder) areOneFile(a, b string) bool {
	first, errFirst := d.root.Info(a)
	second, errSecond := d.root.Info(b)
	return errFirst == nil && errSecond == nil && first.Same(second)
}
