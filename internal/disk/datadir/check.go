package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"syncd/internal/disk/fsops"
)

// owner returns the user and the group of a file.
func owner(info fs.FileInfo) (uid, gid int) {
	uid, gid, _ = fsops.OwnerOf(info)
	return uid, gid
}

// checkForReading checks a directory that may be another user's mirror. The owner of
// syncd's folders counts as that user.
func checkForReading(d *fsops.Dir) error {
	uid := os.Geteuid()
	for _, name := range []string{"state", "partial", "."} {
		if info, err := d.Lstat(name); err == nil {
			uid, _ = owner(info)
			break
		}
	}
	return errors.Join(checkFolders(d, uid), checkWriters(d, uid))
}

// checkFolders requires that syncd's folders, as far as they exist, are directories of
// the user and no symlinks.
func checkFolders(d *fsops.Dir, uid int) error {
	for _, folder := range Folders() {
		if err := checkFolder(d, folder.Name, uid); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func checkFolder(d *fsops.Dir, name string, uid int) error {
	if err := checkEntry(d, name, uid); err != nil {
		return err
	}
	info, err := d.Lstat(name)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s is not a directory: move it away", d.Path(name))
	}
	return err
}

// checkEntry refuses a symlink and another user's directory.
func checkEntry(d *fsops.Dir, name string, uid int) error {
	info, err := d.Lstat(name)
	if err != nil {
		return err
	}
	switch is, _ := owner(info); {
	case info.Mode().Type() == fs.ModeSymlink:
		return fmt.Errorf("%s is a symlink, which syncd does not make: remove it", d.Path(name))
	case info.IsDir() && is != uid:
		return otherOwner(d.Path(name), is, uid)
	}
	return nil
}

// otherOwner is a permission error, although root may have every permission.
func otherOwner(path string, is, want int) error {
	return fmt.Errorf("%s belongs to user %d instead of user %d: %w: give the whole data_dir to one user", path, is, want, fs.ErrPermission)
}

// checkWriters requires that only the user uid, root and members of group 0 can write
// in the data directory. Group 0 is allowed because any uid can run the image, with
// group 0. A folder of root may be writable for its group, too, if the user is not root:
// Kubernetes makes such a folder for fsGroup.
func checkWriters(d *fsops.Dir, uid int) error {
	info, err := d.Stat(".")
	if err != nil {
		return err
	}
	is, gid := owner(info)
	perm := info.Mode().Perm()
	switch {
	case perm&0o002 != 0:
		return fmt.Errorf("every user can write in %s: run `chmod o-w` on it, or use a new folder in it as data_dir", d.Path())
	case is != uid && is != 0 && gid != 0:
		return otherOwner(d.Path(), is, uid)
	case perm&0o020 != 0 && gid != 0 && (is != 0 || uid == 0):
		return fmt.Errorf("members of group %d can write in %s: run `chmod g-w` on it", gid, d.Path())
	}
	if perm&0o020 != 0 {
		if other := fsops.WriterInACL(d.Path(), uid); other != "" {
			return fmt.Errorf("%s can write in %s by its access list: run `setfacl -b` on it", other, d.Path())
		}
	}
	return nil
}

// checkEntries refuses symlinks and other users' directories in syncd's folders: others
// may have been able to write in them before.
func checkEntries(d *fsops.Dir, uid int) error {
	for _, parent := range []string{"objects", "revisions", "views", "state/records"} {
		if err := checkEntry(d, parent, uid); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		names, err := d.Names(parent)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := checkEntry(d, filepath.Join(parent, name), uid); err != nil {
				return err
			}
		}
	}
	return nil
}
