package permissions

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"syscall"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
)

// Access is the permissions of everything that readers see. Hard links of a file have its
// permissions, so they are the same for objects, revisions and views, old and new.
type Access struct {
	Files, Directories fs.FileMode
	Group              int // negative leaves the group unchanged
}

// Default lets everyone read.
func Default() Access { return Access{Files: 0o444, Directories: 0o755, Group: -1} }

func (a Access) String() string { return fmt.Sprintf("%04o %04o %d", a.Files, a.Directories, a.Group) }

// file says which Access everything on disk has; "changing" while that is not known.
// Without the file it is the default.
const file = "state/permissions"

const changing = "changing"

// Folders hold everything that readers see.
func Folders() []string { return []string{"objects", "revisions", "views", "generations"} }

// Grants knows the permissions of what is made in a data directory, and changes those of what
// is there. Set and Grant run alone; the methods that make or give something run with the turn
// of the data directory, or in a Hold.
type Grants struct {
	granting sync.RWMutex // held by Grant, and for reading by Hold
	access   Access
	granted  string // as the file has it; "" when not read yet
}

// NewGrants returns the Grants of a data directory, with the permissions of what is made.
func NewGrants(a Access) *Grants { return &Grants{access: a} }

// Set sets the permissions of all that is made from now on.
func (g *Grants) Set(a Access) {
	g.granting.Lock()
	defer g.granting.Unlock()
	g.access = a
}

// Grant gives everything on disk the permissions a, if it has others. After a crash
// half-way, the next Grant starts over.
func (g *Grants) Grant(root *fsops.Dir, disk *durable.Disk, a Access) error {
	g.granting.Lock()
	defer g.granting.Unlock()
	g.access = a
	if g.granted == "" {
		g.granted = readGranted(root)
	}
	if g.granted == a.String() {
		return nil
	}
	g.granted = changing
	if err := writeGranted(root, disk, changing); err != nil {
		return err
	}
	for _, folder := range Folders() {
		if err := grantBelow(root, folder, a); err != nil {
			return explain(err, a)
		}
	}
	if err := disk.SyncAll(root); err != nil {
		return err
	}
	if err := writeGranted(root, disk, a.String()); err != nil {
		return err
	}
	g.granted = a.String()
	return nil
}

// Hold keeps the permissions as they are until release.
func (g *Grants) Hold() (release func()) {
	g.granting.RLock()
	return g.granting.RUnlock
}

// explain adds what the operator can do.
func explain(err error, a Access) error {
	switch {
	case a.Group >= 0 && errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("permissions: %w: add syncd's user to group %d, or change permissions.group", err, a.Group)
	case a.Group >= 0 && errors.Is(err, syscall.EINVAL):
		return fmt.Errorf("permissions: %w: syncd's user namespace has no group %d: under systemd, set PrivateUsers=no in the unit", err, a.Group)
	}
	return fmt.Errorf("permissions: %w", err)
}

// readGranted treats a file that cannot be read as unknown permissions.
func readGranted(root *fsops.Dir) string {
	f, err := root.OpenRegular(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Default().String()
	}
	if err != nil {
		return changing
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, 100))
	return string(text)
}

func writeGranted(root *fsops.Dir, disk *durable.Disk, text string) error {
	return disk.ReplaceFile(root, file, 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

func grantBelow(root *fsops.Dir, folder string, a Access) error {
	var failed error
	err := root.Walk(folder, func(name string, entry fs.DirEntry) {
		if failed == nil && (entry.IsDir() || entry.Type().IsRegular()) {
			failed = grant(root, name, a)
		}
	})
	if errors.Is(err, fs.ErrNotExist) {
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

// Directories is the mode of a directory for readers.
func (g *Grants) Directories() fs.FileMode { return g.access.Directories }

// Give gives a download, which has the default permissions, those of readers. It is false if
// they are the same.
func (g *Grants) Give(dir *fsops.Dir, name string) (given bool, err error) {
	if g.access == Default() {
		return false, nil
	}
	if err := grant(dir, name, g.access); err != nil {
		return false, explain(err, g.access)
	}
	return true, nil
}

// EnsureDir makes a directory for readers, whatever the umask.
func (g *Grants) EnsureDir(dir *fsops.Dir, name string) error {
	if err := dir.EnsureDir(name, g.access.Directories); err != nil {
		return err
	}
	return g.Chgrp(dir, name)
}

// Create creates a file for readers. Its bytes are not durable yet.
func (g *Grants) Create(dir *fsops.Dir, name string, write func(io.Writer) error) error {
	if err := dir.CreateFile(name, g.access.Files, write); err != nil {
		return err
	}
	return g.Chgrp(dir, name)
}

// Chgrp gives a file or directory the group of readers, if they have one.
func (g *Grants) Chgrp(dir *fsops.Dir, name string) error {
	if g.access.Group < 0 {
		return nil
	}
	return dir.Chgrp(name, g.access.Group)
}
