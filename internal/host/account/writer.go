package account

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"syncd/internal/disk/fsops"
)

// maxLinks is how many links the kernel follows on a path.
const maxLinks = 40

// begin is the user who started this process. Root becomes another one.
var begin = os.Geteuid()

// BegunByRoot is true for a process of root, and for one that was root: it may still have
// root's terminal.
func BegunByRoot() bool { return begin == 0 }

// WriterOf returns the user who decides which file lies at a path: this one, unless a folder
// on the way to it belongs to a user that is neither this one nor root. That user could put
// a link in the place of the file. Links of this user and of root are followed. For root, a
// group that can write in a folder of root is an error.
func WriterOf(path string) (Account, error) { return writerOf(path, folderWriter) }

// ChangerOf returns the user who can change a file that was opened, or put another one in its
// place: this one, unless the file, or a folder or link on the way to it, belongs to a user
// that is neither this one nor root. It does not count groups.
func ChangerOf(path string, opened fs.FileInfo) (Account, error) {
	owner, err := OwnerOf(opened)
	if owner.IsOther() || err != nil {
		return owner, err
	}
	return writerOf(path, func(_ string, info fs.FileInfo) (Account, error) { return OwnerOf(info) })
}

func writerOf(path string, ofFolder func(dir string, info fs.FileInfo) (Account, error)) (Account, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Account{}, err
	}
	dir, rest := "/", names(path)
	for links := 0; ; {
		info, err := os.Lstat(dir)
		if err != nil {
			return Account{}, err
		}
		if owner, err := ofFolder(dir, info); owner.IsOther() || err != nil {
			return owner, err
		}
		if len(rest) == 0 {
			return Self(), nil
		}
		if rest[0] == ".." {
			dir, rest = filepath.Dir(dir), rest[1:]
			continue
		}
		entry := filepath.Join(dir, rest[0])
		found, err := os.Lstat(entry)
		if errors.Is(err, fs.ErrNotExist) {
			return Self(), nil
		}
		if err != nil {
			return Account{}, err
		}
		if info.Mode()&fs.ModeSticky != 0 { // everybody can put something there
			if owner, err := OwnerOf(found); owner.IsOther() || err != nil {
				return owner, err
			}
		}
		rest = rest[1:]
		switch {
		case found.Mode().Type() == fs.ModeSymlink:
			if links++; links > maxLinks {
				return Account{}, &fs.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
			}
			target, err := os.Readlink(entry)
			if err != nil {
				return Account{}, err
			}
			if filepath.IsAbs(target) {
				dir = "/"
			}
			rest = append(names(target), rest...)
		case found.IsDir():
			dir = entry
		default:
			return Self(), nil
		}
	}
}

// CheckUnchanged is nil if only this user and root can change a file, or put another one in
// its place. The file must exist.
func CheckUnchanged(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	writer, err := WriterOf(path)
	if err == nil && !writer.IsOther() {
		writer, err = OwnerOf(info)
	}
	switch {
	case err != nil:
		return err
	case writer.IsOther():
		return fmt.Errorf("user %s can change %s", writer.Name, path)
	case os.Geteuid() == 0 && (info.Mode().Perm()&0o002 != 0 || info.Mode().Perm()&0o020 != 0 && (groupOf(info) != 0 || fsops.WriterInACL(path, 0) != "")):
		return fmt.Errorf("others than its owner can change %s", path)
	}
	return nil
}

// names splits a path.
func names(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c == '/' })
}

// IsOther is true for a user that is neither this one nor root. In a user namespace, users
// outside of it are as root: nobody can tell them from root there, whose folders are around it.
func (a Account) IsOther() bool {
	return a.UID != 0 && a.UID != os.Geteuid() && a.UID != fsops.Outside()
}

// MayRead is true if the modes of an opened file, and of the folders on the way to it, let the
// account read it. It is for a process that may not become the account: see Do.
func (a Account) MayRead(path string, opened fs.FileInfo) bool {
	_, err := writerOf(path, func(_ string, dir fs.FileInfo) (Account, error) {
		if !a.may(dir, 0o1) {
			return Account{}, fs.ErrPermission
		}
		return Self(), nil
	})
	return err == nil && a.may(opened, 0o4)
}

func (a Account) may(info fs.FileInfo, wanted fs.FileMode) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return false
	case int(owner.Uid) == a.UID:
		wanted <<= 6
	case int(owner.Gid) == a.GID || slices.Contains(a.Groups, int(owner.Gid)):
		wanted <<= 3
	}
	return info.Mode().Perm()&wanted == wanted
}

// folderWriter returns the owner of a folder. To root, it refuses a folder of root in which
// others can write.
func folderWriter(dir string, info fs.FileInfo) (Account, error) {
	owner, err := OwnerOf(info)
	if err != nil || owner.UID != 0 || os.Geteuid() != 0 || info.Mode()&fs.ModeSticky != 0 {
		return owner, err
	}
	switch perm := info.Mode().Perm(); {
	case perm&0o002 != 0:
		return owner, fmt.Errorf("every user can write in %s, and put a link to a file of root there: run `chmod o-w` on it", dir)
	case perm&0o020 != 0 && groupOf(info) != 0:
		return owner, fmt.Errorf("members of group %d can write in %s, and put a link to a file of root there: run `chmod g-w` on it", groupOf(info), dir)
	case perm&0o020 != 0:
		if other := fsops.WriterInACL(dir, 0); other != "" {
			return owner, fmt.Errorf("%s can write in %s by its access list, and put a link to a file of root there: run `setfacl -b` on it", other, dir)
		}
	}
	return owner, nil
}

func groupOf(info fs.FileInfo) int {
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(owner.Gid)
	}
	return 0
}
