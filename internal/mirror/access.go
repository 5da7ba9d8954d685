package mirror

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"syncd/internal/disk/fsops"
)

// Access is the permissions of everything that readers see. Hard links of a file have its
// permissions, so they are the same for objects, revisions and views, old and new.
type Access struct {
	Files, Directories fs.FileMode
	Group              int // negative leaves the group unchanged
}

// DefaultAccess lets everyone read.
func DefaultAccess() Access { return Access{Files: 0o444, Directories: 0o755, Group: -1} }

func (a Access) String() string { return fmt.Sprintf("%04o %04o %d", a.Files, a.Directories, a.Group) }

// accessFile says which Access everything on disk has; "changing" while that is not known.
// Without the file it is the default.
const accessFile = "state/permissions"

const accessChanging = "changing"

// readableFolders hold everything that readers see.
func readableFolders() []string { return []string{"objects", "revisions", "views", "generations"} }

// SetAccess sets the permissions of all that is made from now on. Recover needs them.
func (d *folder) SetAccess(a Access) {
	d.granting.Lock()
	defer d.granting.Unlock()
	d.access = a
}

// Grant gives everything on disk the permissions a, if it has others. After a crash
// half-way, the next Grant starts over.
func (d *folder) Grant(a Access) error {
	d.granting.Lock()
	defer d.granting.Unlock()
	d.access = a
	if d.granted == "" {
		d.granted = d.readGranted()
	}
	if d.granted == a.String() {
		return nil
	}
	d.granted = accessChanging
	if err := d.writeGranted(accessChanging); err != nil {
		return err
	}
	for _, folder := range readableFolders() {
		if err := d.grantBelow(folder, a); err != nil {
			return grantError(err, a)
		}
	}
	if err := d.disk.SyncAll(d.root); err != nil {
		return err
	}
	if err := d.writeGranted(a.String()); err != nil {
		return err
	}
	d.granted = a.String()
	return nil
}

func grantError(err error, a Access) error {
	switch {
	case a.Group >= 0 && errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("permissions: %w: add syncd's user to group %d, or change permissions.group", err, a.Group)
	case a.Group >= 0 && errors.Is(err, syscall.EINVAL):
		return fmt.Errorf("permissions: %w: syncd's user namespace has no group %d: under systemd, set PrivateUsers=no in the unit", err, a.Group)
	}
	return fmt.Errorf("permissions: %w", err)
}

// readGranted treats a file that cannot be read as unknown permissions.
func (d *folder) readGranted() string {
	f, err := d.root.OpenRegular(accessFile)
	if isGone(err) {
		return DefaultAccess().String()
	}
	if err != nil {
		return accessChanging
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, 100))
	return string(text)
}

func (d *folder) writeGranted(text string) error {
	return d.disk.ReplaceFile(d.root, accessFile, 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

func (d *folder) grantBelow(folder string, a Access) error {
	var failed error
	err := d.root.Walk(folder, func(name string, entry fs.DirEntry) {
		if failed == nil && (entry.IsDir() || entry.Type().IsRegular()) {
			failed = grant(d.root, name, a)
		}
	})
	if isGone(err) {
		return nil
	}
	return errors.Join(err, failed)
}

// grant gives a file or directory its permissions, if it has others.
func grant(dir *fsops.Dir, name string, a Access) error {
	info, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	perm := a.Files
	if info.IsDir() {
		perm = a.Directories
	}
	if info.Mode().Perm() != perm {
		if err := dir.Chmod(name, perm); err != nil {
			return err
		}
	}
	if _, group, ok := fsops.OwnerOf(info); a.Group >= 0 && ok && group != a.Group {
		return dir.Chgrp(name, a.Group)
	}
	return nil
}

// ensureReadable makes a directory for readers, whatever the umask.
func (d *folder) ensureReadable(dir *fsops.Dir, name string) error {
	if err := dir.EnsureDir(name, d.access.Directories); err != nil {
		return err
	}
	return d.chgrp(dir, name)
}

// createReadable creates a file for readers. Its bytes are not durable yet.
func (d *folder) createReadable(name string, write func(io.Writer) error) error {
	if err := d.root.CreateFile(name, d.access.Files, write); err != nil {
		return err
	}
	return d.chgrp(d.root, name)
}

func (d *folder) chgrp(dir *fsops.Dir, name string) error {
	if d.access.Group < 0 {
		return nil
	}
	return dir.Chgrp(name, d.access.Group)
}
