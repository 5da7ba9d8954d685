package contents

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"

	"golang.org/x/sync/errgroup"

	"syncd/internal/downstream/objectstore"
)

// Sizes of uploads. S3 allows 10,000 parts of at least 5 MiB.
const (
	singleLimit = 32 << 20 // a larger object goes in parts
	leastPart   = 16 << 20
	maxParts    = 10_000
	partsAtOnce = 4
	MaxRestarts = 3
)

// PartSize depends on the object alone, so that another process can go on.
func PartSize(size int64) int64 {
	return max(leastPart, (size/maxParts+1<<20)&^(1<<20-1))
}

// inParts uploads an object in parts. It continues an earlier attempt.
func (u *Uploads) inParts(ctx context.Context, o Object, file *os.File) error {
	sums, err := HashParts(ctx, file, o, PartSize(o.Size))
	if err != nil {
		return err
	}
	for range MaxRestarts {
		err = u.attemptParts(ctx, o, file, sums)
		if !errors.Is(err, objectstore.ErrNoUpload) {
			return err
		}
		// Another publisher may have completed it.
		if found, headErr := u.Store.Head(ctx, o.Name); headErr == nil && found.Size == o.Size {
			return nil
		}
	}
	return err
}

func (u *Uploads) attemptParts(ctx context.Context, o Object, file *os.File, sums [][sha256.Size]byte) error {
	up, done, err := u.Store.Resume(ctx, o.Name, len(sums))
	if err != nil {
		return err
	}
	size := PartSize(o.Size)
	parts := make([]objectstore.Part, len(sums))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	for i, sum := range sums {
		from := int64(i) * size
		length := min(size, o.Size-from)
		group.Go(func() error {
			if part, found := done[i+1]; found && part.Is(length, sum, io.NewSectionReader(file, from, length)) {
				parts[i] = part
				return nil
			}
			return u.sendBody(groupCtx, length, func() (err error) {
				parts[i], err = up.Put(groupCtx, i+1, length, sum, func() io.Reader { return section(file, from, length) })
				return err
			})
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return up.Complete(ctx, parts)
}
