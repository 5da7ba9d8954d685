package datadir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
)

// Mark is the file that marks a data directory. Its name counts, not its content.
const Mark = ".syncd-data-dir"

const markText = "This folder is a data_dir of syncd, which removes files from it.\n"

// mark marks the directory before anything else is made in it.
func mark(d *fsops.Dir, disk *durable.Disk) error {
	write := func(w io.Writer) error {
		_, err := io.WriteString(w, markText)
		return err
	}
	err := d.CreateFile(Mark, 0o444, write)
	if err != nil && !errors.Is(err, fs.ErrExist) { // another process was faster
		return err
	}
	return disk.SyncDir(d, ".")
}

func isMarked(d *fsops.Dir) bool { return isRegular(d.Lstat(Mark)) }

// IsOurs is true for a folder that is a mirror, or empty, as far as this user can see.
func IsOurs(path string) bool {
	d, err := fsops.OpenDir(path)
	if err != nil {
		return false
	}
	defer d.Close()
	return isMarked(d) || checkContent(d) == nil
}

func isRegular(info fs.FileInfo, err error) bool { return err == nil && info.Mode().IsRegular() }

// checkContent requires that a directory without a mark is empty, or a mirror of a
// version that made no mark.
func checkContent(d *fsops.Dir) error {
	names, err := d.Names(".")
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "lost+found" }) // of a new file system
	if i := slices.IndexFunc(names, isForeign); i >= 0 {
		return fmt.Errorf("%s holds %q, which syncd did not make: choose an empty folder as data_dir, or move it away", d.Path(), names[i])
	}
	if len(names) > 0 && !isUnmarkedMirror(d) {
		return fmt.Errorf("%s holds %q and is no mirror of syncd: choose an empty folder as data_dir, or move it away", d.Path(), names[0])
	}
	return nil
}

func isForeign(name string) bool {
	return name != "current" && !fsops.IsTemp(name) && !slices.ContainsFunc(Folders(), func(f Folder) bool { return f.Name == name })
}

var generation = regexp.MustCompile(`^generations/[0-9]{6,}$`)

// isUnmarkedMirror recognises a mirror by its state, its generations or its folders.
func isUnmarkedMirror(d *fsops.Dir) bool {
	for _, name := range []string{"state/syncd.db", "state/lock"} {
		if isRegular(d.Lstat(name)) {
			return true
		}
	}
	target, err := d.Readlink("current")
	return err == nil && generation.MatchString(target) || hasAll(d, "generations", "revisions", "objects", "partial")
}

func hasAll(d *fsops.Dir, dirs ...string) bool {
	return !slices.ContainsFunc(dirs, func(name string) bool {
		info, err := d.Lstat(name)
		return err != nil || !info.IsDir()
	})
}

// CheckOutside requires that the directory at path, which may not exist yet, lies in no
// other data directory.
func CheckOutside(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	resolved, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) && path != "/" {
		parent := filepath.Dir(path)
		if IsAt(parent) {
			return insideError(path, parent)
		}
		return CheckOutside(parent)
	}
	if err != nil {
		return err
	}
	if outer := Around(filepath.Dir(resolved)); outer != "" {
		return insideError(path, outer)
	}
	return nil
}

// Around returns the data directory that a folder is or lies in, "" for none. The path
// has no symlinks.
func Around(path string) string {
	for !IsAt(path) {
		parent := filepath.Dir(path)
		if parent == path {
			return ""
		}
		path = parent
	}
	return path
}

func insideError(path, outer string) error {
	return fmt.Errorf("%s lies in the data_dir %s: choose a folder outside of it", path, outer)
}

// IsAt is true for a data directory, which this user may not be able to read.
func IsAt(path string) bool {
	for _, name := range []string{Mark, "state/syncd.db"} {
		if isRegular(os.Lstat(filepath.Join(path, name))) {
			return true
		}
	}
	target, err := os.Readlink(filepath.Join(path, "current"))
	return err == nil && generation.MatchString(target)
}

// checkInside requires that no entry of the directory is a data directory.
func checkInside(d *fsops.Dir) error {
	names, err := d.Names(".")
	if err != nil {
		return err
	}
	for _, name := range names {
		if isRegular(d.Lstat(filepath.Join(name, Mark))) {
			return fmt.Errorf("%s contains another data_dir, %s: move one of them", d.Path(), d.Path(name))
		}
	}
	return nil
}
