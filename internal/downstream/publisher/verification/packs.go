package verification

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher/contents"
)

// checkPacks finds the packs that a generation names and the bucket has not.
func (v *Verification) checkPacks(ctx context.Context) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(contents.MaxRequests)
	for id, source := range v.packs {
		group.Go(func() error {
			objectstore.BudgetOf(ctx).Grow(contents.LimitsOfObject)
			_, err := v.Store.Head(groupCtx, bucket.PackName(id))
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
func (v *Verification) mendPack(ctx context.Context, u *contents.Uploads, f *finding) error {
	own, found := v.ownRecord(*f.manifest)
	if !found {
		return errNotHere
	}
	for _, p := range bucket.PacksOf(own.Files) {
		if p.ID == f.pack {
			return u.SendPack(ctx, p)
		}
	}
	return errNotHere
}
