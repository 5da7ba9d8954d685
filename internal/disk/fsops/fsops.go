package fsops

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// EnsureDir creates a directory unless it exists. It sets the permissions perm in both
// cases, whatever the umask: an earlier attempt may have ended between the two steps.
func (d *Dir) EnsureDir(name string, perm fs.FileMode) error {
	err := d.step("mkdir", name, func() error { return d.root.Mkdir(name, perm) })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.Chmod(name, perm)
}

// MakeDir creates a directory, which must not exist yet. It gets the permissions perm
// whatever the umask. Unlike EnsureDir, it is safe where others can write: it follows no
// symlink.
func (d *Dir) MakeDir(name string, perm fs.FileMode) error {
	if err := d.step("mkdir", name, func() error { return d.root.Mkdir(name, perm) }); err != nil {
		return err
	}
	f, err := d.open(name, os.O_RDONLY|directoryOnly, 0)
	if err != nil {
		return d.err(err)
	}
	defer f.Close()
	return Fchmod(f, perm)
}

// OpenFile is os.OpenFile as a step, for files that it may create.
func (d *Dir) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	var f *os.File
	err := d.step("create", name, func() (err error) {
		f, err = d.open(name, flag, perm)
		return err
	})
	if err != nil && f != nil {
		f.Close()
		return nil, err
	}
	return f, err
}

// CreateFile creates a file with the bytes that write produces. The file must not exist
// yet. It gets the permissions perm whatever the umask.
func (d *Dir) CreateFile(name string, perm fs.FileMode, write func(io.Writer) error) error {
	f, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer f.Close()
	err = Step("write", d.Path(name), func() error {
		buffer := bufio.NewWriterSize(f, 64<<10)
		if err := write(buffer); err != nil {
			return err
		}
		return buffer.Flush()
	})
	if err != nil {
		return err
	}
	if err := Fchmod(f, perm); err != nil {
		return err
	}
	return f.Close()
}

// Truncate changes the size of a file as a step.
func Truncate(f *os.File, size int64) error {
	return Step("truncate", f.Name(), func() error { return f.Truncate(size) })
}

// Rename renames a file or directory within d as a step.
func (d *Dir) Rename(oldName, newName string) error {
	return d.step("rename", newName, func() error { return d.root.Rename(oldName, newName) })
}

// Symlink makes a symlink as a step.
func (d *Dir) Symlink(target, name string) error {
	return d.step("symlink", name, func() error { return d.root.Symlink(target, name) })
}

// Chmod sets the permissions of a file or directory as a step.
func (d *Dir) Chmod(name string, perm fs.FileMode) error {
	return d.step("chmod", name, func() error { return d.root.Chmod(name, perm) })
}

// Chgrp sets the group of a file or directory as a step.
func (d *Dir) Chgrp(name string, group int) error {
	return d.step("chgrp", name, func() error { return d.root.Lchown(name, -1, group) })
}

// Fchmod sets the permissions of an open file as a step. It changes nothing if the file
// has them: looking is cheap, and each change goes through the journal.
func Fchmod(f *os.File, perm fs.FileMode) error {
	if hasPerm(f, perm) {
		return nil
	}
	return Step("chmod", f.Name(), func() error { return f.Chmod(perm) })
}

// Fchgrp sets the group of an open file as a step. It changes nothing if the file has it.
func Fchgrp(f *os.File, gid int) error {
	if hasGroup(f, gid) {
		return nil
	}
	return Step("chgrp", f.Name(), func() error { return f.Chown(-1, gid) })
}

// Remove removes a file, a symlink or an empty directory as a step.
func (d *Dir) Remove(name string) error {
	return d.step("remove", name, func() error { return remove(d, name) })
}

// RemoveAll removes a file, a symlink or a tree as a step.
func (d *Dir) RemoveAll(name string) error {
	return d.step("remove", name, func() error { return removeAll(d, name) })
}

// Move renames a file in one directory to a name in another. Unlike the other methods,
// it resolves newName by one system call and follows symlinks on the way: only the
// caller's user may be able to write in to and the directories below it.
func Move(from *Dir, oldName string, to *Dir, newName string) error {
	return stepIn("rename", to.path, newName, func() error {
		if err := move(from, oldName, to, newName); err != nil {
			return &os.LinkError{Op: "rename", Old: from.Path(oldName), New: to.Path(newName), Err: err}
		}
		return nil
	})
}

// Chtimes sets the modification time of a file or directory.
func (d *Dir) Chtimes(name string, at time.Time) error {
	return d.err(d.root.Chtimes(name, time.Time{}, at))
}

// step is Step for a change below d.
func (d *Dir) step(op, name string, change func() error) error {
	return stepIn(op, d.path, name, func() error { return d.err(change()) })
}

// stepIn is Step for a name in a directory. Joining them costs more than some changes,
// so only a build that uses the path does it.
func stepIn(op, dir, name string, change func() error) error {
	if !hasTorture {
		return change()
	}
	return Step(op, filepath.Join(dir, name), change)
}
