package verification

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sync/errgroup"

	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher/contents"
	"syncd/internal/host/rate"
	"syncd/internal/manifest"
)

// checkObjects begins anywhere, so that another part is read each time.
func (v *Verification) checkObjects(ctx context.Context) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(contents.MaxRequests)
	for id, w := range v.objects {
		group.Go(func() error {
			o := contents.ObjectOf(id, w.size)
			isMissing, damage, err := v.check(groupCtx, o)
			if damage != nil {
				from := v.sources[w.source]
				v.find(&finding{name: o.Name, object: &o, manifest: &from.manifest, number: from.number, isMissing: isMissing, err: damage})
			}
			return err
		})
		if groupCtx.Err() != nil {
			break
		}
	}
	return group.Wait()
}

// check returns what is wrong with an object. An error says that this is not known.
func (v *Verification) check(ctx context.Context, o contents.Object) (isMissing bool, damage, err error) {
	job := objectstore.BudgetOf(ctx)
	v.Grow(job, o.Size)
	job.Grow(objectstore.Limits{Bytes: 2 * o.Size}) // the bytes are read, perhaps twice
	found, err := v.Store.Head(ctx, o.Name)
	switch {
	case errors.Is(err, objectstore.ErrNotThere):
		return true, err, nil
	case err != nil:
		return false, nil, err
	case found.Size != o.Size:
		return false, fmt.Errorf("it has %d bytes, not %d", found.Size, o.Size), nil
	case found.IsOther(o.Size, o.ID):
		return false, fmt.Errorf("its SHA-256 is another one, as the server keeps it: %s", found.Sum), nil
	}
	if !v.Read {
		isSame, isKnown := v.compareParts(ctx, o, found.Sum)
		switch {
		case found.Sum != "" && !strings.Contains(found.Sum, "-"), isKnown && isSame:
			return false, nil, ctx.Err()
		case !isKnown && !v.mayRead(o.Size):
			return false, nil, nil
		}
	}
	return v.readObject(ctx, o)
}

// compareParts compares the sum of an object that went in parts with the object on this
// host's disk. It is not known without that one, and for parts of other sizes.
func (v *Verification) compareParts(ctx context.Context, o contents.Object, sum string) (isSame, isKnown bool) {
	whole, count, inParts := strings.Cut(sum, "-")
	file, err := v.Objects.Open(o.ID)
	if err != nil {
		return false, false
	}
	defer file.Close()
	if !inParts {
		return false, false
	}
	parts, err := contents.HashParts(ctx, rate.ReaderAt(ctx, file, v.Pace), o, contents.PartSize(o.Size))
	if err != nil || count != fmt.Sprint(len(parts)) {
		return false, false
	}
	hash := sha256.New()
	for _, part := range parts {
		hash.Write(part[:])
	}
	return whole == base64.StdEncoding.EncodeToString(hash.Sum(nil)), true
}

// mayRead takes bytes from what is read unasked.
func (v *Verification) mayRead(bytes int64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if bytes > v.unasked {
		v.unread++
		return false
	}
	v.unasked -= bytes
	return true
}

// readObject reads an object from the bucket.
func (v *Verification) readObject(ctx context.Context, o contents.Object) (isMissing bool, damage, err error) {
	hash := sha256.New()
	var size int64
	_, err = v.Store.Read(ctx, o.Name, func(from io.Reader) (err error) {
		hash.Reset()
		size, err = io.Copy(hash, io.LimitReader(rate.Reader(ctx, from, v.Pace), o.Size+1))
		return err
	})
	v.mu.Lock()
	v.read += size
	v.mu.Unlock()
	switch actual := manifest.ObjectID(hash.Sum(nil)); {
	case errors.Is(err, objectstore.ErrNotThere):
		return true, err, nil
	case err != nil:
		return false, nil, err
	case actual != o.ID:
		return false, fmt.Errorf("its bytes have sha256 %s", actual), nil
	}
	return false, nil, nil
}
