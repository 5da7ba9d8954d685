package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
)

// Folder is a directory that syncd makes in data directories.
type Folder struct {
	Name     string
	Perm     fs.FileMode
	IsNeeded bool // in every one
}

// Folders returns the directories of a complete data directory.
func Folders() []Folder {
	return []Folder{
		{"generations", 0o755, true}, {"revisions", 0o755, true}, {"objects", 0o755, true},
		{"partial", 0o700, true}, {"state", 0o700, true}, {"views", 0o755, false},
	}
}

// Open opens the data directory at path for reading. It changes nothing. The error is
// fs.ErrNotExist if there is none.
func Open(path string) (*fsops.Dir, error) {
	d, err := fsops.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return checked(d, checkForReading(d))
}

// OpenForChanges opens the data directory at path for changes, and creates it if it is missing.
// It marks an empty folder, and a mirror of a version that made no mark.
func OpenForChanges(path string, disk *durable.Disk) (*fsops.Dir, error) {
	if err := CheckOutside(path); err != nil {
		return nil, err
	}
	if err := makeAll(path, disk); err != nil {
		return nil, err
	}
	d, err := fsops.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return checked(d, checkAndMark(d, disk))
}

// checked returns d, unless there is an error.
func checked(d *fsops.Dir, err error) (*fsops.Dir, error) {
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Check says what OpenForChanges would refuse at path, as this user. It changes nothing. The error is
// fs.ErrNotExist if there is no directory yet.
func Check(path string) error {
	if err := CheckOutside(path); err != nil {
		return err
	}
	d, err := fsops.OpenDir(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return check(d)
}

func checkAndMark(d *fsops.Dir, disk *durable.Disk) error {
	if err := check(d); err != nil || isMarked(d) {
		return err
	}
	return mark(d, disk)
}

func check(d *fsops.Dir) error {
	if err := checkLinks(d); err != nil {
		return err
	}
	if err := checkFolders(d, os.Geteuid()); err != nil {
		return err
	}
	if err := checkWriters(d, os.Geteuid()); err != nil {
		return err
	}
	if err := checkEntries(d, os.Geteuid()); err != nil {
		return err
	}
	if err := checkInside(d); err != nil {
		return err
	}
	if isMarked(d) {
		return nil
	}
	return checkContent(d)
}

// makeAll creates the directory at path and its missing parents. All users can pass
// through them, because readers need that.
func makeAll(path string, disk *durable.Disk) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(path)
	if err := makeAll(parent, disk); err != nil {
		return err
	}
	d, err := fsops.OpenDir(parent)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := checkLinks(d); err != nil {
		return err
	}
	if err := makeIn(d, filepath.Base(path)); err != nil {
		return err
	}
	return disk.SyncDir(d, ".")
}

// makeIn creates a directory in a parent in which others may be able to write. It leaves
// what they planted at the name meanwhile as it is.
func makeIn(parent *fsops.Dir, name string) error {
	err := parent.MakeDir(name, 0o755)
	if errors.Is(err, fs.ErrExist) { // another process was faster
		return nil
	}
	return err
}
