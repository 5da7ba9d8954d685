package publisher

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"

	"golang.org/x/sync/errgroup"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/pack"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// maxPacking is how many packs are made at once: each takes a processor, and up to
// bucket.MaxPack of memory.
const maxPacking = 2

// packs brings the packs of a revision into the bucket. Those of named are there.
func (u *uploads) packs(ctx context.Context, r mirror.Record, named map[manifest.ObjectID]bool) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxPacking)
	for _, p := range bucket.PacksOf(r.Files) {
		if u.isSeen && named[p.ID] {
			continue
		}
		group.Go(func() error { return u.bringPack(groupCtx, p, named[p.ID]) })
		if groupCtx.Err() != nil {
			break
		}
	}
	return group.Wait()
}

// bringPack is bring for a pack, whose size only its writer knows. Nothing is lost with a
// damaged one: followers then take the contents one by one.
func (u *uploads) bringPack(ctx context.Context, p bucket.Pack, isNamed bool) error {
	objectstore.BudgetOf(ctx).Grow(limitsOfObject)
	found, err := u.store.Head(ctx, p.Name())
	if err != nil && !errors.Is(err, objectstore.ErrNotThere) {
		return err
	}
	if err == nil && (isNamed || !u.isWary && u.server.MostAge(found.Written) < u.cfg.Grace/2) {
		return nil
	}
	return u.uploadPack(ctx, p)
}

// uploadPack makes a pack and sends it.
func (u *uploads) uploadPack(ctx context.Context, p bucket.Pack) error {
	u.growFor(objectstore.BudgetOf(ctx), p.Size())
	var text bytes.Buffer
	if err := pack.Write(ctx, &text, p, u.cfg.Objects.Open); err != nil {
		return err
	}
	size, sum := int64(text.Len()), manifest.ObjectID(sha256.Sum256(text.Bytes()))
	err := u.send(ctx, size, func() error {
		return u.store.PutStream(ctx, p.Name(), size, sum, func() (io.Reader, error) { return onlyReader{bytes.NewReader(text.Bytes())}, nil })
	})
	if err != nil {
		return err
	}
	return u.store.see(ctx, p.Name(), size, sum)
}

// checkPacks finds the packs that a generation names and the bucket has not.
func (v *verification) checkPacks(ctx context.Context) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxRequests)
	for id, source := range v.packs {
		group.Go(func() error {
			objectstore.BudgetOf(ctx).Grow(limitsOfObject)
			_, err := v.store.Head(groupCtx, bucket.PackName(id))
			if !errors.Is(err, objectstore.ErrNotThere) {
				return err
			}
			from := v.sources[source]
			v.find(&finding{name: bucket.PackName(id), pack: id, manifest: &from.manifest, number: from.number, isMissing: true, err: err})
			return nil
		})
		if groupCtx.Err() != nil {
			break
		}
	}
	return group.Wait()
}

// mendPack uploads a pack again.
func (v *verification) mendPack(ctx context.Context, u *uploads, f *finding) error {
	own, found := v.ownRecord(*f.manifest)
	if !found {
		return errNotHere
	}
	for _, p := range bucket.PacksOf(own.Files) {
		if p.ID == f.pack {
			return u.uploadPack(ctx, p)
		}
	}
	return errNotHere
}
