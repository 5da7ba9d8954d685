package contents

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"

	"golang.org/x/sync/errgroup"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/host/rate"
	"syncd/internal/manifest"
)

// BringPatches uploads patches that are not there.
func (u *Uploads) BringPatches(ctx context.Context, patches []bucket.Patch) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxPacking)
	for _, patch := range patches {
		group.Go(func() error { return u.bringPatch(groupCtx, patch) })
		if groupCtx.Err() != nil {
			break
		}
	}
	return group.Wait()
}

// bringPatch uploads a patch unless one of its size is there. Another publisher may have made
// it: one that makes other bytes than it should costs a follower a download.
func (u *Uploads) bringPatch(ctx context.Context, patch bucket.Patch) error {
	u.Grow(objectstore.BudgetOf(ctx), patch.Size)
	found, err := u.Store.Head(ctx, patch.Name())
	if err == nil && found.Size == patch.Size || err != nil && !errors.Is(err, objectstore.ErrNotThere) {
		return err
	}
	file, size, err := u.Patches.Open(patch.Old, patch.New)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, rate.Reader(ctx, io.NewSectionReader(file, 0, size), nil)); err != nil {
		return err
	}
	return u.sendFile(ctx, Object{manifest.ObjectID(sum.Sum(nil)), size, patch.Name()}, file)
}
