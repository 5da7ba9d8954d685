package datadir

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"syncd/internal/disk/fsops"
)

// maxLinks is how many links the kernel follows on a path.
const maxLinks = 40

// CheckLinks refuses a path to a directory that leads through a link of a user who is neither
// its owner nor root: that user would choose in whose folder root, which becomes the owner,
// works.
func CheckLinks(path string, owner int) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	_, _, err = follow(path, owner)
	return err
}

// checkLinks refuses, to root, a directory to which a link of another user led: that user
// would choose in which folder of root syncd works. The owner of a folder can exchange a link
// in it, whoever made the link.
func checkLinks(d *fsops.Dir) error {
	if os.Geteuid() != 0 {
		return nil
	}
	path, err := filepath.Abs(d.Path())
	if err != nil {
		return err
	}
	place, canChange, err := follow(path, 0)
	if err != nil || !canChange {
		return err
	}
	// The path may have led elsewhere when it was opened.
	if opened, err := fsops.RealPath(d); err != nil || opened != place {
		return fmt.Errorf("%s was exchanged by another user while syncd opened it: use a folder in a folder of root as data_dir", path)
	}
	return nil
}

// follow returns where a path leads to, and whether another user than this one and root can
// change that. It refuses the links of other users.
func follow(path string, user int) (place string, canChange bool, err error) {
	dir, rest := string(filepath.Separator), split(path)
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			dir = filepath.Dir(dir)
			continue
		}
		above, err := os.Lstat(dir)
		if err != nil {
			return "", false, err
		}
		canChange = canChange || isOthers(above, user) || above.Mode().Perm()&0o002 != 0
		entry := filepath.Join(dir, name)
		info, err := os.Lstat(entry)
		if err != nil {
			return "", false, err
		}
		if info.Mode().Type() != fs.ModeSymlink {
			dir = entry
			continue
		}
		if isOthers(above, user) || isOthers(info, user) {
			return "", false, fmt.Errorf("data_dir leads through the link %s, which another user can change: name the folder that it leads to", entry)
		}
		if links++; links > maxLinks {
			return "", false, &fs.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
		}
		target, err := os.Readlink(entry)
		if err != nil {
			return "", false, err
		}
		if filepath.IsAbs(target) {
			dir = string(filepath.Separator)
		}
		rest = append(split(target), rest...)
	}
	return dir, canChange, nil
}

// isOthers is true for what belongs to another user than this one and root. Users outside of
// the user namespace are as root.
func isOthers(info fs.FileInfo, user int) bool {
	uid, _, ok := fsops.OwnerOf(info)
	return ok && uid != 0 && uid != user && uid != fsops.Outside()
}

func split(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c == filepath.Separator })
}
