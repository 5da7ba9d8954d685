package verification

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher/contents"
	"syncd/internal/downstream/publisher/texts"
	"syncd/internal/manifest"
)

// checkPatches finds the lists that name patches which are not in the bucket with their sizes.
// The bytes of a patch are proven by the follower that uses it.
func (v *Verification) checkPatches(ctx context.Context) error {
	for _, from := range v.sources {
		f := &finding{name: bucket.PatchListName(from.manifest), manifest: &from.manifest, number: from.number}
		list, err := v.Store.ReadPatchList(ctx, f.name)
		if err == nil {
			f.patches, err = v.present(ctx, list.Patches)
		}
		if lost := len(list.Patches) - len(f.patches); err == nil && lost > 0 {
			err = fmt.Errorf("%w: %d of its %d patches are missing, or have another size", texts.ErrUnusable, lost, len(list.Patches))
		}
		if f.err = err; err == nil {
			continue
		} else if !errors.Is(err, texts.ErrUnusable) {
			return err
		}
		if again, err := v.Store.ReadPatchList(ctx, f.name); err != nil || slices.Equal(again.Patches, list.Patches) {
			v.find(f) // otherwise a publisher has replaced the list and its patches meanwhile
		}
	}
	return nil
}

// present returns the patches that are in the bucket with their sizes.
func (v *Verification) present(ctx context.Context, patches []bucket.Patch) (there []bucket.Patch, err error) {
	var mu sync.Mutex
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(contents.MaxRequests)
	for _, p := range patches {
		group.Go(func() error {
			objectstore.BudgetOf(ctx).Grow(contents.LimitsOfObject)
			found, err := v.Store.Head(groupCtx, p.Name())
			if errors.Is(err, objectstore.ErrNotThere) || err == nil && found.Size != p.Size {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			there = append(there, p)
			return err
		})
	}
	return there, group.Wait()
}

// mendPatches brings this host's patches again, and names them and those that are there.
func (v *Verification) mendPatches(ctx context.Context, u *contents.Uploads, f *finding) error {
	var own []bucket.Patch
	if r, found := v.ownRecord(*f.manifest); found && v.Patches != nil {
		own = v.Patches.List(r)
	}
	if err := u.BringPatches(ctx, own); err != nil {
		return err
	}
	f.patches = slices.DeleteFunc(f.patches, func(there bucket.Patch) bool {
		return slices.ContainsFunc(own, func(other bucket.Patch) bool { return there.Name() == other.Name() })
	})
	list := bucket.NewPatchList(append(own, f.patches...), func(manifest.ObjectID) int64 { return 0 })
	_, err := v.Store.Put(ctx, f.name, list.Text(), objectstore.Anything)
	return err
}
