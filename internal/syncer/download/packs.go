package download

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"syncd/internal/clients/transport"
	"syncd/internal/disk/space"
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// packsAtOnce is how many packs of an order come at once.
const packsAtOnce = 2

// obtainPacks makes the contents of an order objects that come in packs. Those that did not
// come are left, whatever the reason: they come one by one.
func (b *Batch) obtainPacks(ctx context.Context, o *Order) {
	if len(o.Packs) == 0 {
		return
	}
	tasks := make(map[manifest.Digest]*task, len(b.tasks[o]))
	for _, t := range b.tasks[o] {
		tasks[t.content()] = t
	}
	var group errgroup.Group
	group.SetLimit(packsAtOnce)
	for _, p := range o.Packs {
		group.Go(func() error {
			if o.Wants() && ctx.Err() == nil {
				b.obtainPack(ctx, o, p, tasks)
			}
			return nil
		})
	}
	_ = group.Wait() // nothing fails
}

// obtainPack takes what is wanted out of a pack.
func (b *Batch) obtainPack(ctx context.Context, o *Order, p fetcher.Pack, tasks map[manifest.Digest]*task) {
	slot, err := b.Pool.small.take(ctx, smallFiles)
	if err != nil {
		return
	}
	defer slot.release()
	_ = b.Fetcher.FetchPack(transport.About(o.Context, o.Manifest), p, func(content manifest.Object, bytes []byte, received int64) error {
		slot.moved(received)
		o.Arrived(received)
		b.Metrics.Downloaded(o.Manifest, received)
		t := tasks[content.ID.Digest()]
		if t == nil || !t.begun.CompareAndSwap(false, true) {
			return nil
		}
		b.obtain(ctx, t, func(ctx context.Context, t *task) (verify.Proven, error) {
			kept, err := b.Fetcher.Keep(ctx, content, bytes)
			if err != nil {
				err = fmt.Errorf("store %s: %w", t.links[0].file.Path, space.RefuseIfFull(err))
			}
			return kept, err
		})
		return nil
	})
}
