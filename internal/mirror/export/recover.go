package export

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"syncd/internal/disk/fsops"
)

// tree is a complete tree in the work folder.
type tree struct {
	inode    uint64
	isMarked bool
	mark     Mark
}

// trees returns the trees in the work folder by name.
func (p *place) trees() (map[string]tree, error) {
	names, err := p.work.Names(".")
	if err != nil {
		return nil, err
	}
	trees := map[string]tree{}
	for _, name := range names {
		if !strings.HasPrefix(name, treePrefix) {
			continue
		}
		info, err := p.work.Info(name)
		if err != nil {
			return nil, err
		}
		mark, err := p.readMark(info.Inode())
		if err != nil && !isGone(err) {
			return nil, err
		}
		trees[name] = tree{inode: info.Inode(), isMarked: err == nil, mark: mark}
	}
	return trees, nil
}

// recover finishes what a crash interrupted. It finds nothing to do otherwise.
func (p *place) recover() error {
	if err := p.work.SweepTemps("."); err != nil {
		return err
	}
	if err := p.undoTakeOver(); err != nil {
		return err
	}
	trees, err := p.trees()
	if err != nil {
		return err
	}
	for name, t := range trees {
		if t.isMarked {
			continue
		}
		if err := p.giveBack(name); err != nil {
			return err
		}
	}
	return p.dropStaleMarks(trees)
}

// undoTakeOver takes back a tree that waits under the name of the kept folder.
func (p *place) undoTakeOver() error {
	info, err := p.parent.Info(p.keptName())
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if !p.isUnchanged(p.parent, p.keptName(), info.Inode()) {
		return nil // it is the kept folder
	}
	if err := fsops.MoveNew(p.parent, p.keptName(), p.work, treeName()); err != nil {
		return err
	}
	return errors.Join(p.disk.SyncDir(p.work, "."), p.disk.SyncDir(p.parent, "."))
}

// giveBack moves a folder that is not syncd's to where its owner looks for it. It removes
// an empty one, which was exchanged with the first tree.
func (p *place) giveBack(name string) error {
	if p.work.Remove(name) == nil {
		return nil
	}
	err := fsops.MoveNew(p.work, name, p.parent, p.keptName())
	if errors.Is(err, fs.ErrExist) {
		return refuse("move "+p.parent.Path(p.keptName())+" away, so that syncd can keep it there", "%s is not syncd's", p.work.Path(name))
	}
	if err != nil {
		return err
	}
	return errors.Join(p.disk.SyncDir(p.parent, "."), p.disk.SyncDir(p.work, "."))
}

// dropStaleMarks removes marks and lists of trees that are gone: another folder may get
// their inode.
func (p *place) dropStaleMarks(trees map[string]tree) error {
	marks, err := p.marks()
	if err != nil {
		return err
	}
	inUse := map[uint64]bool{}
	for _, t := range trees {
		inUse[t.inode] = true
	}
	if info, err := p.parent.Info(p.name); err == nil {
		_, inUse[info.Inode()] = marks[info.Inode()]
	}
	names, err := p.work.Names(".")
	if err != nil {
		return err
	}
	for _, name := range names {
		inode, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSuffix(name, listSuffix), markSuffix), 10, 64)
		if err != nil || inUse[inode] {
			continue
		}
		if err := p.dropMark(inode); err != nil {
			return err
		}
	}
	return nil
}

// prune removes trees that left the folder long enough ago, and those that never became
// the folder, except the wanted one.
func (p *place) prune(wanted string) error {
	trees, err := p.trees()
	if err != nil || len(trees) == 0 {
		return err
	}
	marks, err := p.marks()
	if err != nil {
		return err
	}
	now, shown := time.Now(), 0
	if info, err := p.parent.Info(p.name); err == nil {
		shown = marks[info.Inode()].Number
	}
	for name, t := range trees {
		if !t.isMarked || t.mark.Number > shown && t.mark.Fingerprint == wanted {
			continue
		}
		if t.mark.Number < shown && now.Before(leftAt(marks, t.mark.Number, now).Add(p.KeepFor)) {
			continue
		}
		if err := p.discard(name, t.inode); err != nil {
			return err
		}
	}
	return nil
}

// discard removes a marked tree. A program that still has a directory of it open may have
// written files there since the exchange: such a tree is given back instead.
func (p *place) discard(name string, inode uint64) error {
	if p.hasFilesOfOthers(name, inode) {
		if err := p.dropMark(inode); err != nil {
			return err
		}
		return p.giveBack(name)
	}
	if err := p.work.RemoveTree(name); err != nil {
		return err
	}
	return p.dropMark(inode)
}

// hasFilesOfOthers is true if a tree has a file that is not in its list, or another one in
// the place of a listed file. Damaged files do not count, nor does a list without an answer.
func (p *place) hasFilesOfOthers(name string, inode uint64) bool {
	list, err := p.readList(inode)
	if err != nil {
		return false
	}
	dir, err := p.work.OpenDir(name)
	if err != nil {
		return false
	}
	defer dir.Close()
	own := make(map[string]uint64, len(list))
	for _, e := range list {
		own[e.Path] = e.Inode
	}
	found := false
	err = dir.Walk(".", func(name string, node fs.DirEntry) {
		if found || node.IsDir() {
			return
		}
		info, err := dir.Info(name)
		found = err == nil && own[name] != info.Inode()
	})
	return found && err == nil
}

// leftAt is when a tree left the folder: when the next one came. A time in the future is
// that of a wrong clock, and does not keep the tree.
func leftAt(marks map[uint64]Mark, number int, now time.Time) time.Time {
	var next Mark
	for _, m := range marks {
		if m.Number > number && (next.Number == 0 || m.Number < next.Number) {
			next = m
		}
	}
	if next.ExportedAt.After(now.Add(time.Minute)) {
		return time.Time{}
	}
	return next.ExportedAt
}
