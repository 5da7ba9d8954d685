package publisher

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher/election"
	"syncd/internal/host/rate"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// Patches are what followers may take in the place of whole contents. Its methods are safe for
// concurrent use.
type Patches interface {
	List(mirror.Record) []bucket.Patch
	Open(before, after manifest.ObjectID) (file *os.File, size int64, err error)
}

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
func (b *patched) bring(ctx context.Context, p *Publisher) {
	if p.cfg.Patches == nil || !b.mu.TryLock() {
		return
	}
	defer b.mu.Unlock()
	job, end := objectstore.Within(ctx, "publishing patches", limitsOfPublication)
	defer end()
	err := b.bringAll(job, p)
	if err != nil && ctx.Err() == nil && !errors.Is(err, election.ErrLost) {
		p.cfg.Log.Warn().Ctx(ctx).Err(err).Msg("publishing patches failed; followers take whole files until the next attempt")
	}
}

func (b *patched) bringAll(ctx context.Context, p *Publisher) error {
	at, err := p.readCurrent(ctx)
	if err != nil {
		return err
	}
	lists := map[string]list{}
	for _, r := range p.cfg.Mirror.Current().Records {
		m, found := at.generation.Manifest(r.Manifest)
		if !found || m.Record() != bucket.EntryOf(r).Record() {
			continue
		}
		name := bucket.PatchListName(m)
		if lists[name], err = b.bringList(ctx, p, name, r); err != nil {
			return err
		}
	}
	b.lists = lists
	return nil
}

// bringList brings the patches for a revision, and then their list.
func (b *patched) bringList(ctx context.Context, p *Publisher, name string, r mirror.Record) (list, error) {
	sizes := make(map[manifest.ObjectID]int64, len(r.Files))
	for _, f := range r.Files {
		sizes[f.Object] = f.Size
	}
	patches := bucket.NewPatchList(p.cfg.Patches.List(r), func(id manifest.ObjectID) int64 { return sizes[id] })
	text := patches.Text()
	now := list{sha256.Sum256(text), time.Now()}
	before, isKnown := b.lists[name]
	if isKnown && before.sum == now.sum && now.at.Sub(before.at) < p.cfg.Recheck {
		return before, nil
	}
	if len(patches.Patches) == 0 && !isKnown {
		if _, err := p.store.Head(ctx, name); errors.Is(err, objectstore.ErrNotThere) {
			return now, nil
		}
	}
	u := &uploads{Publisher: p, bodies: make(chan struct{}, maxBodies)}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxPacking)
	for _, patch := range patches.Patches {
		group.Go(func() error { return u.bringPatch(groupCtx, patch) })
		if groupCtx.Err() != nil {
			break
		}
	}
	if err := group.Wait(); err != nil {
		return now, err
	}
	_, err := p.store.Put(ctx, name, text, objectstore.Anything)
	return now, err
}

// bringPatch uploads a patch unless one of its size is there. Another publisher may have made
// it: one that makes other bytes than it should costs a follower a download.
func (u *uploads) bringPatch(ctx context.Context, patch bucket.Patch) error {
	u.growFor(objectstore.BudgetOf(ctx), patch.Size)
	found, err := u.store.Head(ctx, patch.Name())
	if err == nil && found.Size == patch.Size || err != nil && !errors.Is(err, objectstore.ErrNotThere) {
		return err
	}
	file, size, err := u.cfg.Patches.Open(patch.Old, patch.New)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, rate.Reader(ctx, io.NewSectionReader(file, 0, size), nil)); err != nil {
		return err
	}
	return u.uploadFile(ctx, object{manifest.ObjectID(sum.Sum(nil)), size, patch.Name()}, file)
}
