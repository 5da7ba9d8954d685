package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// Contents are contents that must be in no export any more, with their sizes.
type Contents map[manifest.ObjectID]int64

// Former returns the folders that were exported from a data directory and are in no
// configuration any more.
func Former(dataDir string, configured []Target) (former []Target) {
	for _, path := range slices.Sorted(maps.Keys(readMounts(dataDir))) {
		if !slices.ContainsFunc(configured, func(t Target) bool { return t.Path == path }) {
			former = append(former, Target{Path: path, DataDir: dataDir})
		}
	}
	return former
}

// CheckShows is an error if a folder shows one of the contents to its readers, because it did
// not follow, or if it cannot be looked at.
func CheckShows(t Target, contents Contents) error {
	if err := t.checkMounted(); err != nil {
		return wrap(t, err)
	}
	p, err := openForReading(t)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return wrap(t, err)
	}
	defer p.close()
	if p.work == nil || p.checkOwner() != nil {
		return nil
	}
	s, err := p.shown()
	if err != nil || !s.isMarked {
		return nil //nolint:nilerr // it is no folder that syncd has exported
	}
	list, err := p.readList(s.inode)
	if err != nil {
		return wrap(t, err)
	}
	for _, e := range list {
		if _, found := contents[e.Object]; found {
			return fmt.Errorf("export %s still shows %s: `syncd status` says why it does not follow", t.Path, e.Path)
		}
	}
	return nil
}

// Purge removes the contents from what lies beside an exported folder: from trees that left
// it, and from a folder that was taken over. isFormer says that nobody keeps the folder
// itself any more, so that they go there, too. Files are found by their content.
func Purge(ctx context.Context, disk *durable.Disk, t Target, contents Contents, isFormer bool) error {
	if err := t.checkMounted(); err != nil {
		return wrap(t, err)
	}
	p, err := openForReading(t)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return wrap(t, err)
	}
	defer p.close()
	p.disk = disk
	if p.work == nil || p.checkOwner() != nil { // it follows nothing, or another mirror
		return nil
	}
	return wrap(t, purge{ctx, p, contents}.all(isFormer))
}

// purge is one run of Purge.
type purge struct {
	ctx      context.Context
	place    *place
	contents Contents
}

func (u purge) all(isFormer bool) error {
	p := u.place
	if err := p.work.SweepTemps("."); err != nil {
		return err
	}
	trees, err := p.trees()
	if err != nil {
		return err
	}
	for name, t := range trees {
		if t.isMarked && u.lists(t.inode) {
			err = errors.Join(err, p.discard(name, t.inode))
		}
	}
	names, listErr := p.work.Names(".") // given back trees are not there any more
	err = errors.Join(err, listErr)
	for _, name := range names {
		err = errors.Join(err, u.below(p.work, name))
	}
	err = errors.Join(err, u.below(p.parent, p.keptName()), p.disk.SyncDir(p.work, "."), p.disk.SyncDir(p.parent, "."))
	if isFormer {
		err = errors.Join(err, u.below(p.parent, p.name))
	}
	return err
}

// lists is true if the list of a tree has one of the contents.
func (u purge) lists(inode uint64) bool {
	list, err := u.place.readList(inode)
	return err == nil && slices.ContainsFunc(list, func(e markedFile) bool { _, found := u.contents[e.Object]; return found })
}

// below removes the files with one of the contents from a folder.
func (u purge) below(in *fsops.Dir, name string) error {
	info, err := in.Lstat(name)
	if isGone(err) || err == nil && !info.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	dir, err := in.OpenDir(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	sizes := map[int64]bool{}
	for _, size := range u.contents {
		sizes[size] = true
	}
	changed := map[string]bool{}
	walkErr := dir.Walk(".", func(name string, node fs.DirEntry) {
		info, infoErr := dir.Info(name)
		if infoErr != nil || !info.IsRegular() || !sizes[info.Size()] {
			return
		}
		read, readErr := verify.HashFile(u.ctx, dir, name, manifest.SHA256)
		if readErr != nil {
			err = errors.Join(err, readErr)
			return
		}
		if _, found := u.contents[read.Object().ID]; found {
			err = errors.Join(err, dir.Remove(name))
			changed[filepath.Dir(name)] = true
		}
	})
	for _, folder := range slices.Sorted(maps.Keys(changed)) {
		err = errors.Join(err, u.place.disk.SyncDir(dir, folder))
	}
	return errors.Join(err, walkErr)
}
