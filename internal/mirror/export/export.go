package export

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/mirror/record"
)

// Target is a folder that follows a view.
type Target struct {
	View    string
	Path    string // absolute and clean
	DataDir string
	KeepFor time.Duration // how long a tree stays after it left the folder
}

// Source is the tree that the folder shall be equal to.
type Source struct {
	Dir         *fsops.Dir
	Files       func() []record.TreeFile // sorted by path; called only to build a tree
	Fingerprint string                   // of all paths, contents and permissions
	Generation  int
}

// Options say how Follow works.
type Options struct {
	Thorough bool // look at every exported file, even if the folder shows the tree already
	TakeOver bool // replace a folder that syncd did not make, and keep it
	Mend     bool // make a new tree, even if exported files have changed
}

// Follow makes the folder equal to the source. It returns true if it changed the folder.
// At any crash the folder is the old tree or the new one, and the next call continues.
// The caller makes one call for a folder at a time. The error is *RefusedError if someone
// has to decide first, or a refusal if there is too little space.
func Follow(ctx context.Context, disk *durable.Disk, t Target, source Source, o Options) (changed bool, err error) {
	if err := t.checkMounted(); err != nil && !o.TakeOver {
		return false, wrap(t, err)
	}
	p, err := openForChange(disk, t)
	if err != nil {
		return false, wrap(t, err)
	}
	defer p.close()
	if changed, err = p.follow(ctx, source, o); err == nil {
		err = t.rememberMount(disk)
	}
	return changed, wrap(t, err)
}

func wrap(t Target, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("export %s: %w", t.Path, advise(err))
}

func (p *place) follow(ctx context.Context, source Source, o Options) (changed bool, err error) {
	if err := p.own(o); err != nil {
		return false, err
	}
	if err := p.recover(); err != nil {
		return false, err
	}
	shown, err := p.shown()
	if err != nil {
		return false, err
	}
	isEqual := shown.isMarked && shown.mark.Fingerprint == source.Fingerprint
	if isEqual && !o.Mend {
		if isLinked, err := p.isLinked(p.parent, p.name, shown.inode, source); err == nil { // else checkReplaceable finds out more
			o.Mend = shown.mark.Linked && !isLinked
			shown.isUnnoted = isLinked && !shown.mark.Linked
		}
	}
	if !isEqual || o.Thorough || o.TakeOver || o.Mend {
		err := p.checkReplaceable(&shown, o)
		if shown.isForeign {
			err = cmp.Or(p.checkSource(ctx, shown, source), err)
		}
		if err != nil {
			return false, err
		}
	}
	if isEqual && !shown.isForeign && !o.Mend {
		return false, p.keepUp(shown, source)
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	tree, err := p.prepare(ctx, source, o)
	if err != nil {
		return false, err
	}
	if err := p.putInPlace(tree, shown); err != nil {
		return false, err
	}
	return true, p.prune(source.Fingerprint)
}

// keepUp notes that the shown tree is also that of a newer generation, and removes trees
// that are no longer kept.
func (p *place) keepUp(shown shown, source Source) error {
	if shown.mark.Generation != source.Generation || shown.isUnnoted {
		shown.mark.Generation, shown.mark.Linked = source.Generation, shown.mark.Linked || shown.isUnnoted
		if err := p.saveMark(shown.inode, shown.mark); err != nil {
			return err
		}
	}
	return p.prune(source.Fingerprint)
}
