package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"syncd/internal/disk/datadir"
	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
)

// place is the folder, its parent and the work folder beside it, all of them open.
type place struct {
	Target
	disk   *durable.Disk
	name   string // of the folder in parent
	parent *fsops.Dir
	work   *fsops.Dir // nil while missing
}

const (
	keptSuffix = ".before-syncd"
	ownerFile  = "owner" // in the work folder: the data directory that it belongs to
)

func (p *place) workName() string { return workNameOf(p.name) }

// workNameOf is the name of the work folder beside an export.
func workNameOf(name string) string { return "." + name + ".syncd" }

// isWorkName is true for the name of a work folder.
func isWorkName(name string) bool {
	return len(name) > len(workNameOf("")) && strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".syncd")
}

// IsAt is true for the folder of an export, and for its work folder.
func IsAt(path string) bool {
	dir, name := filepath.Split(path)
	if !isWorkName(name) {
		name = workNameOf(name)
	}
	info, err := os.Lstat(filepath.Join(dir, name))
	return err == nil && info.IsDir()
}

// Around returns the export that a folder is or lies in, "" for none. The path has no
// symlinks.
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

// mirrorIn returns a data directory that a folder is or holds, or an export or its work
// folder in it; "" for none. A take-over would move them away. It looks at so many entries
// at most.
func mirrorIn(path string) (found string) {
	const most = 100_000
	seen := 0
	_ = filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		seen++
		switch {
		case err != nil && entry != nil && entry.IsDir():
			return fs.SkipDir // what cannot be read holds nothing of this user
		case seen > most:
			return fs.SkipAll
		case err == nil && entry.IsDir() && (datadir.IsAt(at) || at != path && IsAt(at)):
			found = at
			return fs.SkipAll
		}
		return nil
	})
	return found
}

func (p *place) keptName() string { return p.name + keptSuffix }

func (p *place) close() { _ = errors.Join(p.work.Close(), p.parent.Close()) }

// openForReading opens the place and changes nothing. A missing parent is fs.ErrNotExist.
func openForReading(t Target) (*place, error) {
	p := &place{Target: t, name: filepath.Base(t.Path)}
	var err error
	if p.parent, err = fsops.OpenDir(filepath.Dir(t.Path)); err != nil {
		return nil, err
	}
	if err := p.openWork(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.close()
		return nil, err
	}
	return p, nil
}

// openForChange also creates the parent, and requires that no one else can change it.
func openForChange(disk *durable.Disk, t Target) (*place, error) {
	if err := datadir.CheckOutside(t.Path); err != nil {
		return nil, refuse("export to a folder outside of every data_dir", "%v", err)
	}
	if err := makeParents(disk, filepath.Dir(t.Path)); err != nil {
		return nil, err
	}
	if err := checkAbove(t.Path); err != nil {
		return nil, err
	}
	p, err := openForReading(t)
	if err != nil {
		return nil, err
	}
	p.disk = disk
	return p, nil
}

// CheckAbove refuses a folder that no export would write, because of those above it. Missing
// ones are no error: the export makes them.
func CheckAbove(t Target) error { return checkAbove(t.Path) }

// checkAbove refuses a path on which another user could plant something: every directory
// above the folder must be no symlink, belong to root or to syncd's user, and be writable
// for no one else. A sticky directory may be, except for the parent.
func checkAbove(path string) error {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil {
			if err := checkDir(dir, info, dir == filepath.Dir(path)); err != nil {
				return err
			}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func checkDir(dir string, info fs.FileInfo, isParent bool) error {
	owner, group, _ := fsops.OwnerOf(info)
	uid, perm := os.Geteuid(), info.Mode().Perm()
	isSticky := info.Mode()&fs.ModeSticky != 0 && !isParent
	switch {
	case info.Mode().Type() == fs.ModeSymlink:
		return refuse("write the path that it leads to", "%s is a symlink", dir)
	case !info.IsDir():
		return refuse("export to another path", "%s is not a directory", dir)
	case owner != uid && owner != 0:
		return refuse(fmt.Sprintf("run `chown %d` on it, or export to a folder in a directory of root or of syncd's user", uid), "%s belongs to user %d", dir, owner)
	case perm&0o002 != 0 && !isSticky:
		return refuse("run `chmod o-w` on it, or export to a new folder in it", "every user can write in %s", dir)
	case perm&0o020 != 0 && !isSticky && group != 0: // also a folder of root, unlike data_dir: its group could exchange the export
		return refuse("run `chmod g-w` on it, or export to a new folder in it", "members of group %d can write in %s", group, dir)
	}
	if perm&0o020 != 0 && !isSticky {
		if other := fsops.WriterInACL(dir, uid); other != "" {
			return refuse("run `setfacl -b` on it, or export to a new folder in it", "%s can write in %s by its access list", other, dir)
		}
	}
	return nil
}

func makeParents(disk *durable.Disk, dir string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeParents(disk, filepath.Dir(dir)); err != nil {
		return err
	}
	if err := checkAbove(dir); err != nil {
		return err
	}
	above, err := fsops.OpenDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer above.Close()
	if err := above.EnsureDir(filepath.Base(dir), 0o755); err != nil {
		return err
	}
	return disk.SyncDir(above, ".")
}

// openWork opens the work folder, unless others can change it.
func (p *place) openWork() error {
	path := p.parent.Path(p.workName())
	info, err := p.parent.Lstat(p.workName())
	if err != nil {
		return err
	}
	owner, _, _ := fsops.OwnerOf(info)
	if !info.IsDir() || owner != os.Geteuid() && os.Geteuid() != 0 || info.Mode().Perm()&0o022 != 0 {
		return refuse("move it away", "%s is not the folder that syncd makes there", path)
	}
	p.work, err = p.parent.OpenDir(p.workName())
	return err
}

// own makes the work folder, and requires that it belongs to this data directory. A crash
// may have left it without an owner, and with nothing else.
func (p *place) own(o Options) error {
	if p.work == nil {
		if err := p.checkFirst(o); err != nil {
			return err
		}
		if err := p.parent.EnsureDir(p.workName(), 0o700); err != nil {
			return err
		}
		if err := p.openWork(); err != nil {
			return err
		}
	}
	owner, err := readText(p.work, ownerFile)
	if err == nil && owner == p.DataDir {
		return nil
	}
	if err == nil && !o.TakeOver {
		return p.otherOwner(owner)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := p.checkUnowned(err != nil); err != nil {
		return err
	}
	write := func(w io.Writer) error {
		_, err := io.WriteString(w, p.DataDir)
		return err
	}
	if err := p.disk.ReplaceFile(p.work, ownerFile, 0o600, write); err != nil {
		return err
	}
	return p.disk.SyncDir(p.parent, ".")
}

// checkOwner refuses a folder that follows another data directory.
func (p *place) checkOwner() error {
	if p.work == nil {
		return nil
	}
	owner, err := readText(p.work, ownerFile)
	if err == nil && owner != p.DataDir {
		return p.otherOwner(owner)
	}
	return nil
}

func (p *place) otherOwner(owner string) error {
	return refuse(p.takeOverHint("makes it follow this mirror"), "the folder follows the data_dir %s", owner)
}

// checkFirst looks at the folder before anything is made beside it.
func (p *place) checkFirst(o Options) error {
	s, err := p.shown()
	if err != nil {
		return err
	}
	return p.checkReplaceable(&s, o)
}

// checkUnowned requires that a work folder without an owner holds nothing.
func (p *place) checkUnowned(isUnowned bool) error {
	if !isUnowned {
		return nil
	}
	names, err := p.work.Names(".")
	if err != nil {
		return err
	}
	for _, name := range names {
		if !fsops.IsTemp(name) {
			return refuse("move it away", "%s holds %q and is not the folder that syncd makes there", p.work.Path(), name)
		}
	}
	return nil
}

func (p *place) takeOverHint(does string) string {
	return fmt.Sprintf("`syncd sync --take-over %s` %s", p.View, does)
}

func readText(dir *fsops.Dir, name string) (string, error) {
	f, err := dir.OpenRegular(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 64<<10))
	return strings.TrimSpace(string(data)), err
}
