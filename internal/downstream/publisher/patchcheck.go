package publisher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/manifest"
)

// checkPatches finds the lists that name patches which are not in the bucket with their sizes.
// The bytes of a patch are proven by the follower that uses it.
func (v *verification) checkPatches(ctx context.Context) error {
	for _, from := range v.sources {
		f := &finding{name: bucket.PatchListName(from.manifest), manifest: &from.manifest, number: from.number}
		list, err := v.store.readPatchList(ctx, f.name)
		if err == nil {
			f.patches, err = v.present(ctx, list.Patches)
		}
		if lost := len(list.Patches) - len(f.patches); err == nil && lost > 0 {
			err = fmt.Errorf("%w: %d of its %d patches are missing, or have another size", errUnusable, lost, len(list.Patches))
		}
		if f.err = err; err == nil {
			continue
		} else if !errors.Is(err, errUnusable) {
			return err
		}
		if again, err := v.store.readPatchList(ctx, f.name); err != nil || slices.Equal(again.Patches, list.Patches) {
			v.find(f) // otherwise a publisher has replaced the list and its patches meanwhile
		}
	}
	return nil
}

// readPatchList reads a list, which is empty if there is none.
func (s *storage) readPatchList(ctx context.Context, name string) (bucket.PatchList, error) {
	return lookAt(ctx, s, name, func(text []byte) (list bucket.PatchList, err error) {
		if list, err = bucket.ParsePatchList(name, text); err != nil {
			err = fmt.Errorf("%w: %w", errUnusable, err)
		}
		return list, err
	})
}

// present returns the patches that are in the bucket with their sizes.
func (v *verification) present(ctx context.Context, patches []bucket.Patch) (there []bucket.Patch, err error) {
	var mu sync.Mutex
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxRequests)
	for _, p := range patches {
		group.Go(func() error {
			objectstore.BudgetOf(ctx).Grow(limitsOfObject)
			found, err := v.store.Head(groupCtx, p.Name())
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
func (v *verification) mendPatches(ctx context.Context, u *uploads, f *finding) error {
	var own []bucket.Patch
	if r, found := v.ownRecord(*f.manifest); found && v.cfg.Patches != nil {
		own = v.cfg.Patches.List(r)
	}
	for _, p := range own {
		if err := u.bringPatch(ctx, p); err != nil {
			return err
		}
		f.patches = slices.DeleteFunc(f.patches, func(other bucket.Patch) bool { return other.Name() == p.Name() })
	}
	list := bucket.NewPatchList(append(own, f.patches...), func(manifest.ObjectID) int64 { return 0 })
	_, err := v.store.Put(ctx, f.name, list.Text(), objectstore.Anything)
	return err
}
