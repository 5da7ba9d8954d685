package publisher

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher/contents"
	"syncd/internal/downstream/publisher/election"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// patched is what this process brought of patches. Nobody needs them, so that they come after
// the generation whose contents they make, and their failure fails no publication.
type patched struct {
	mu    sync.Mutex // one call of bring has it
	lists map[string]list
}

// list is the list of a revision's patches in the bucket.
type list struct {
	sum manifest.ObjectID
	at  time.Time // when it and its patches were brought
}

// bring brings the patches for what the bucket shows, and their lists. One call works at a time,
// and the others leave it to that one.
func (b *patched) bring(ctx context.Context, l *line) {
	if l.cfg.Patches == nil || !b.mu.TryLock() {
		return
	}
	defer b.mu.Unlock()
	job, end := objectstore.Within(ctx, "publishing patches", limitsOfPublication)
	defer end()
	err := b.bringAll(job, l)
	if err != nil && ctx.Err() == nil && !errors.Is(err, election.ErrLost) {
		l.cfg.Log.Warn().Ctx(ctx).Err(err).Msg("publishing patches failed; followers take whole files until the next attempt")
	}
}

func (b *patched) bringAll(ctx context.Context, l *line) error {
	at, err := l.store.ReadCurrent(ctx, l.current, &l.cfg.Log)
	if err != nil {
		return err
	}
	lists := map[string]list{}
	for _, r := range l.mirror.Current().Records {
		m, found := at.Present.Manifest(r.Manifest)
		if !found || m.Record() != bucket.EntryOf(r).Record() {
			continue
		}
		name := bucket.PatchListName(m)
		if lists[name], err = b.bringList(ctx, l, name, r); err != nil {
			return err
		}
	}
	b.lists = lists
	return nil
}

// bringList brings the patches for a revision, and then their list.
func (b *patched) bringList(ctx context.Context, l *line, name string, r mirror.Record) (list, error) {
	sizes := make(map[manifest.ObjectID]int64, len(r.Files))
	for _, f := range r.Files {
		sizes[f.Object] = f.Size
	}
	patches := bucket.NewPatchList(l.cfg.Patches.List(r), func(id manifest.ObjectID) int64 { return sizes[id] })
	text := patches.Text()
	now := list{sha256.Sum256(text), time.Now()}
	before, isKnown := b.lists[name]
	if isKnown && before.sum == now.sum && now.at.Sub(before.at) < l.cfg.Recheck {
		return before, nil
	}
	if len(patches.Patches) == 0 && !isKnown {
		if _, err := l.store.Head(ctx, name); errors.Is(err, objectstore.ErrNotThere) {
			return now, nil
		}
	}
	if err := contents.New(l.contents()).BringPatches(ctx, patches.Patches); err != nil {
		return now, err
	}
	_, err := l.store.Put(ctx, name, text, objectstore.Anything)
	return now, err
}
