package export

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"time"

	"syncd/internal/disk/fsops"
)

// treePrefix begins the names of complete trees in the work folder.
const treePrefix = "tree-"

func treeName() string { return treePrefix + rand.Text()[:10] }

// prepare returns a tree in the work folder that is equal to the source: one that a crash
// or a rollback left there, or a new one.
func (p *place) prepare(ctx context.Context, source Source, o Options) (tree string, err error) {
	trees, err := p.trees()
	if err != nil {
		return "", err
	}
	for name, t := range trees {
		if !o.Mend && t.mark.Fingerprint == source.Fingerprint && p.isUnchanged(p.work, name, t.inode) && p.isWhole(name, t, source) {
			t.mark.Generation = source.Generation
			return name, p.number(t.inode, t.mark)
		}
	}
	if tree, err = p.build(ctx, source); err != nil {
		return "", err
	}
	info, err := p.work.Info(tree)
	if err != nil {
		return "", err
	}
	mark, err := p.readMark(info.Inode())
	if err != nil {
		return "", err
	}
	return tree, p.number(info.Inode(), mark)
}

// isWhole is false for a tree of links to files that were replaced in the source since, because
// they were damaged.
func (p *place) isWhole(name string, t tree, source Source) bool {
	isLinked, err := p.isLinked(p.work, name, t.inode, source)
	return err == nil && (isLinked || !t.mark.Linked)
}

// isLinked is true if every file of a tree is one with that of the source. A file that is
// missing in one of them does not count, nor does one that somebody put into the tree.
func (p *place) isLinked(in *fsops.Dir, name string, inode uint64, source Source) (bool, error) {
	list, err := p.readList(inode)
	if err != nil {
		return false, err
	}
	dir, err := in.OpenDir(name)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	for _, e := range list {
		own, err := dir.Info(e.Path)
		shown, errSource := source.Dir.Info(e.Path)
		if err == nil && errSource == nil && own.Inode() == e.Inode && !own.Same(shown) {
			return false, nil
		}
		if err := errors.Join(err, errSource); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	return true, nil
}

// number gives a tree the next number, before it is put in place.
func (p *place) number(inode uint64, m Mark) error {
	marks, err := p.marks()
	if err != nil {
		return err
	}
	m.Number = 1
	for _, other := range marks {
		m.Number = max(m.Number, other.Number+1)
	}
	m.ExportedAt = time.Now().UTC()
	return p.saveMark(inode, m)
}

// isUnchanged is true for a marked folder that is as its list says.
func (p *place) isUnchanged(in *fsops.Dir, name string, inode uint64) bool {
	if _, err := p.readMark(inode); err != nil {
		return false
	}
	list, err := p.readList(inode)
	if err != nil {
		return false
	}
	dir, err := in.OpenDir(name)
	if err != nil {
		return false
	}
	defer dir.Close()
	difference, err := differs(dir, list)
	return err == nil && difference == ""
}

// putInPlace makes a tree the folder, in one step for readers.
func (p *place) putInPlace(tree string, old shown) error {
	switch {
	case !old.exists:
		if err := fsops.MoveNew(p.work, tree, p.parent, p.name); err != nil {
			return err
		}
	case old.isForeign:
		if err := p.takeOver(tree, old); err != nil {
			return err
		}
	case !old.isMarked: // It is empty. An exchange with another user's folder needs its permission.
		if err := fsops.Move(p.work, tree, p.parent, p.name); err != nil {
			return err
		}
	default:
		if err := fsops.Exchange(p.work, tree, p.parent, p.name); err != nil {
			return err
		}
	}
	if err := p.disk.SyncDir(p.parent, "."); err != nil {
		return err
	}
	if err := p.disk.SyncDir(p.work, "."); err != nil {
		return err
	}
	if !old.isMarked || old.isForeign {
		return p.recover()
	}
	if old.isDamaged || p.isUnchanged(p.work, tree, old.inode) {
		return nil
	}
	// Somebody changed it meanwhile. Without a mark it is kept like any other folder.
	if err := p.dropMark(old.inode); err != nil {
		return err
	}
	return p.recover()
}

// takeOver exchanges the folder with a tree at the name under which the folder is kept.
// The old folder loses its mark first: with a mark, recovery takes what lies at that name
// for the new tree.
func (p *place) takeOver(tree string, old shown) error {
	if old.isMarked {
		if err := p.dropMark(old.inode); err != nil {
			return err
		}
	}
	if err := fsops.MoveNew(p.work, tree, p.parent, p.keptName()); err != nil {
		return err
	}
	if err := p.disk.SyncDir(p.parent, "."); err != nil {
		return err
	}
	return fsops.Exchange(p.parent, p.keptName(), p.parent, p.name)
}
