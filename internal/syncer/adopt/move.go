package adopt

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"syncd/internal/disk/directio"
	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// ErrNotMovable says that renaming a file would not keep others from writing into it, or
// is not possible. It may still be copied.
var ErrNotMovable = errors.New("others could write into it")

// Move hashes a candidate in place, asks keep, and renames the file to the name that keep
// returns, if any. A lease guards it from before the hashing until after the rename: no
// program has it open for writing, and one that tries breaks the lease. It reports
// ErrNotMovable for files of another user, with other names or on another file system.
// progress gets the bytes that were read.
func (f *Folder) Move(ctx context.Context, c Candidate, into *fsops.Dir, algorithm manifest.Algorithm, progress io.Writer, keep func(*verify.Hasher) (name string)) error {
	dir, file, err := f.open(c)
	if err != nil {
		return err
	}
	defer dir.Close()
	defer file.Close()
	if !isMovable(file, into) || lease(file) != nil {
		return ErrNotMovable
	}
	h, err := verify.Reader(ctx, io.TeeReader(directio.NewReader(file), progress), algorithm)
	if err != nil {
		return err
	}
	name := keep(h)
	if name == "" {
		return nil
	}
	if err := fsops.Move(dir, path.Base(c.Path), into, name); err != nil {
		return err
	}
	if err := seal(file, into, name); err != nil {
		return errors.Join(err, giveBack(into, name, dir, path.Base(c.Path)))
	}
	return nil
}

// giveBack takes a move back. Another user may have taken the old name meanwhile. The file
// gets a free one then: a download would go on with what lies at name, and others could write
// into it after its publication.
func giveBack(into *fsops.Dir, name string, dir *fsops.Dir, old string) error {
	err := fsops.MoveNew(into, name, dir, old)
	if err == nil {
		return nil
	}
	free := "adopt-" + rand.Text()
	if fsops.MoveNew(into, name, dir, old+"."+free) == nil {
		return fmt.Errorf("it lies at %s now: %w", dir.Path(old+"."+free), err)
	}
	return errors.Join(err, fsops.Move(into, name, into, free)) // where pruning removes it
}

// seal makes a moved file read-only. It checks that the file is the hashed one, and that
// no program opened it for writing since then.
func seal(file *os.File, into *fsops.Dir, name string) error {
	hashed, err := file.Stat()
	if err != nil {
		return err
	}
	moved, err := into.Lstat(name)
	if err != nil {
		return err
	}
	if !os.SameFile(hashed, moved) {
		return errors.New("it was replaced while it was read")
	}
	if err := fsops.Fchmod(file, 0o444); err != nil {
		return err
	}
	if !isMovable(file, into) || !isLeased(file) {
		return errors.Join(errors.New("a program opened it for writing"), fsops.Fchmod(file, hashed.Mode().Perm()))
	}
	return nil
}

// CanMove is true when moving the candidate is likely to need no copy.
func (f *Folder) CanMove(c Candidate, into *fsops.Dir) bool {
	dir, file, err := f.open(c)
	if err != nil {
		return false
	}
	defer dir.Close()
	defer file.Close()
	return isMovable(file, into)
}

// Remove removes a candidate that Copy copied, unless it changed since then.
func (f *Folder) Remove(c Candidate, copied fs.FileInfo) error {
	dir, err := f.openParent(c)
	if err != nil {
		return err
	}
	defer dir.Close()
	now, err := dir.Lstat(path.Base(c.Path))
	if err != nil {
		return err
	}
	if !os.SameFile(now, copied) || now.Size() != copied.Size() || !now.ModTime().Equal(copied.ModTime()) {
		return errors.New("it changed after it was copied and stays")
	}
	return dir.Remove(path.Base(c.Path))
}
