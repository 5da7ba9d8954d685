package contents

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
func (u *Uploads) packs(ctx context.Context, r mirror.Record, named map[manifest.ObjectID]bool) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxPacking)
	for _, p := range bucket.PacksOf(r.Files) {
		if u.IsSeen && named[p.ID] {
			continue
		}
		group.Go(func() error { return u.bringPack(groupCtx, p, named[p.ID]) })
		if groupCtx.Err() != nil {
			break
		}
	}
	return group.Wait()
}

// bringPack is bringObject for a pack, whose size only its writer knows. Nothing is lost with a
// damaged one: followers then take the contents one by one.
func (u *Uploads) bringPack(ctx context.Context, p bucket.Pack, isNamed bool) error {
	objectstore.BudgetOf(ctx).Grow(LimitsOfObject)
	found, err := u.Store.Head(ctx, p.Name())
	if err != nil && !errors.Is(err, objectstore.ErrNotThere) {
		return err
	}
	if err == nil && (isNamed || !u.IsWary && u.Server.MostAge(found.Written) < u.Grace/2) {
		return nil
	}
	return u.SendPack(ctx, p)
}

// SendPack makes a pack and sends it.
func (u *Uploads) SendPack(ctx context.Context, p bucket.Pack) error {
	u.Grow(objectstore.BudgetOf(ctx), p.Size())
	var text bytes.Buffer
	if err := pack.Write(ctx, &text, p, u.Objects.Open); err != nil {
		return err
	}
	size, sum := int64(text.Len()), manifest.ObjectID(sha256.Sum256(text.Bytes()))
	err := u.sendBody(ctx, size, func() error {
		return u.Store.PutStream(ctx, p.Name(), size, sum, func() (io.Reader, error) { return onlyReader{bytes.NewReader(text.Bytes())}, nil })
	})
	if err != nil {
		return err
	}
	return u.Store.See(ctx, p.Name(), size, sum)
}
