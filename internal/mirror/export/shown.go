package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"syncd/internal/disk/fsops"
	"syncd/internal/verify"
)

// shown is what lies at the path of the folder.
type shown struct {
	exists   bool
	inode    uint64
	isMarked bool // it is a tree of syncd
	mark     Mark

	isUnnoted bool // it has links to the source, and an earlier syncd did not note that

	// Set by checkReplaceable.
	isForeign bool // not syncd's tree as it was exported
	isDamaged bool // exported files have changed, and the tree is to be mended
}

// shown looks at the folder itself, not at its files.
func (p *place) shown() (s shown, err error) {
	info, err := p.parent.Lstat(p.name)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	path := p.parent.Path(p.name)
	switch {
	case err != nil:
		return s, err
	case info.Mode().Type() == fs.ModeSymlink:
		return s, refuse("move it away, or export to another path", "%s is a symlink", path)
	case !info.IsDir():
		return s, refuse("move it away, or export to another path", "%s is not a folder", path)
	case fsops.IsMountPoint(path):
		return s, refuse("export to a folder in it", "%s is a mount point, which cannot be exchanged", path)
	}
	at, err := p.parent.Info(p.name)
	if err != nil {
		return s, err
	}
	s.exists, s.inode = true, at.Inode()
	s.mark, err = p.readMark(s.inode)
	s.isMarked = err == nil
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return s, err
}

// checkReplaceable requires that the folder is missing, empty or as syncd exported it,
// unless it is taken over.
func (p *place) checkReplaceable(s *shown, o Options) error {
	if !s.exists {
		return nil
	}
	problem, err := p.foreign(s, o)
	if err != nil || problem == "" {
		return err
	}
	if s.isForeign = true; !s.isMarked && isOfSystem(p.Path) {
		return refuse("export to a folder of its own, such as /srv/refdata", "%s, and it belongs to the operating system", problem)
	}
	if other := mirrorIn(p.Path); other != "" {
		return refuse("export to a folder of its own, such as /srv/refdata", "%s, and %s belongs to a syncd, whose readers would lose it", problem, other)
	}
	kept := p.parent.Path(p.keptName())
	if !o.TakeOver {
		return refuse(p.takeOverHint("replaces it and keeps it as "+kept), "%s", problem)
	}
	if _, err := p.parent.Lstat(p.keptName()); err == nil {
		return refuse("move it away first", "%s is there already", kept)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// foreign says why the folder is not as syncd exported it, "" if it is or is empty.
func (p *place) foreign(s *shown, o Options) (problem string, err error) {
	dir, err := p.parent.OpenDir(p.name)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	if !s.isMarked {
		names, err := dir.Names(".")
		if err != nil || len(names) == 0 {
			return "", err
		}
		return fmt.Sprintf("the folder holds %q, which syncd did not export", names[0]), nil
	}
	list, err := p.readList(s.inode)
	if errors.Is(err, errDamagedList) {
		return fmt.Sprintf("the list of its files, %s, is damaged", p.work.Path(listName(s.inode))), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	difference, err := differs(dir, list)
	if err != nil || difference == "" {
		return "", err
	}
	if o.Mend {
		s.isDamaged = true
		strange, err := strangers(dir, list)
		if err != nil || len(strange) == 0 {
			return "", err
		}
	}
	return "the folder was changed since it was exported: " + difference, nil
}

// checkSource requires that no file of the source was damaged through its name in a folder
// that was changed: both may be one file, and a new tree would have the same damage.
func (p *place) checkSource(ctx context.Context, s shown, source Source) error {
	changed, err := p.changedInPlace(s)
	if err != nil || len(changed) == 0 {
		return err
	}
	files := verify.NewFiles(0)
	for _, f := range source.Files() {
		info, err := source.Dir.Info(f.Path)
		if err != nil || !slices.ContainsFunc(changed, info.Same) {
			continue
		}
		_, err = files.Check(ctx, source.Dir, f.Path, f.Object.Digest())
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return refuse("`syncd verify --repair` replaces both", "the folder was changed since it was exported, and %q is damaged in the mirror, too: %v", f.Path, err)
		}
	}
	return nil
}

// changedInPlace returns the exported files that have changed and are still the same files.
func (p *place) changedInPlace(s shown) (changed []fsops.Info, err error) {
	if !s.isMarked {
		return nil, nil
	}
	list, err := p.readList(s.inode)
	if errors.Is(err, errDamagedList) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	dir, err := p.parent.OpenDir(p.name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for _, e := range list {
		if info, err := dir.Info(e.Path); err == nil && info.Inode() == e.Inode && !e.is(info) {
			changed = append(changed, info)
		}
	}
	return changed, nil
}

// differs says how a tree differs from its list, "" if it does not. It reads no content.
func differs(dir *fsops.Dir, list []markedFile) (difference string, err error) {
	known := make(map[string]markedFile, len(list))
	dirs := map[string]bool{".": true}
	for _, e := range list {
		known[e.Path] = e
		addParents(dirs, e.Path)
	}
	found := 0
	err = dir.Walk(".", func(name string, node fs.DirEntry) {
		e, isKnown := known[name]
		switch {
		case difference != "", node.IsDir() && dirs[name]:
		case node.IsDir() || !isKnown:
			difference = fmt.Sprintf("%q is new", name)
		default:
			found++
			info, err := dir.Info(name)
			if err != nil || !e.is(info) {
				difference = fmt.Sprintf("%q has changed", name)
			}
		}
	})
	if err != nil || difference != "" || found == len(list) {
		return difference, err
	}
	return fmt.Sprintf("%d of its %d files are gone", len(list)-found, len(list)), nil
}

// is compares everything that a writer changes, but not the content.
func (e markedFile) is(info fsops.Info) bool {
	return info.IsRegular() && info.Size() == e.Size && info.ModTime() == e.ModTime && info.Inode() == e.Inode
}
