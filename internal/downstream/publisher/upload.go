package publisher

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// Limits of what is under way at once.
const (
	maxRequests = 16 // objects
	maxBodies   = 8  // bodies, parts included
)

// object is a content to upload.
type object struct {
	id   manifest.ObjectID
	size int64
}

// uploads are the objects of one publication.
type uploads struct {
	*Publisher
	dryRun  bool
	bodies  chan struct{} // one value for each body that may be sent
	objects atomic.Int64  // that were not there
	bytes   atomic.Int64  // of these
}

// uploadMissing brings the objects and records of revisions into the bucket that at does not
// name. It returns how many objects were not there, and their bytes.
func (p *Publisher) uploadMissing(ctx context.Context, records []mirror.Record, at state, dryRun bool) (int, int64, error) {
	u := &uploads{Publisher: p, dryRun: dryRun, bodies: make(chan struct{}, maxBodies)}
	for _, r := range records {
		if m, there := at.generation.Manifest(r.Manifest); there && sameManifests([]bucket.Manifest{m}, []bucket.Manifest{manifestIn(at.generation, r)}) {
			continue
		}
		if err := u.revision(ctx, r, at); err != nil {
			return 0, 0, err
		}
	}
	return int(u.objects.Load()), u.bytes.Load(), nil
}

// revision uploads what a revision needs: its record comes last.
func (u *uploads) revision(ctx context.Context, r mirror.Record, at state) error {
	there, found := u.objectsOf(ctx, at, r.Manifest)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxRequests)
	for _, f := range r.Files {
		if there[f.Object] {
			continue
		}
		there[f.Object] = true
		group.Go(func() error { return u.bring(groupCtx, object{f.Object, f.Size}) })
		if groupCtx.Err() != nil {
			break
		}
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("publish %s: %w", r.Manifest, err)
	}
	if u.dryRun || found && !r.Described && manifestIn(at.generation, r).Described { // their record says more
		return nil
	}
	return u.writeRecord(ctx, recordOf(r))
}

// objectsOf are the objects of a manifest that the present generation keeps in the bucket.
// Objects of other manifests are looked for one by one. It is false if the record cannot
// be read.
func (u *uploads) objectsOf(ctx context.Context, at state, name string) (map[manifest.ObjectID]bool, bool) {
	there := map[manifest.ObjectID]bool{}
	m, found := at.generation.Manifest(name)
	if !found {
		return there, false
	}
	record, err := u.readRecord(ctx, m)
	if err != nil {
		return there, false // slower, but right
	}
	for _, f := range record.Files {
		there[f.Object] = true
	}
	return there, true
}

// bring uploads an object unless it is there. One that could soon be deleted as garbage is
// uploaded again.
func (u *uploads) bring(ctx context.Context, o object) error {
	name := bucket.ObjectName(o.id)
	found, err := u.store.head(ctx, name)
	if err != nil && !errors.Is(err, errNotThere) {
		return err
	}
	if err == nil && found.size == o.size && u.now().Sub(found.written) < u.cfg.Grace/2 {
		return nil
	}
	u.objects.Add(1)
	u.bytes.Add(o.size)
	if u.dryRun {
		return nil
	}
	file, err := u.cfg.Objects.Open(o.id)
	if err != nil {
		return err
	}
	defer file.Close()
	if o.size > singleLimit {
		return u.inParts(ctx, o, file)
	}
	return u.send(ctx, o.size, func() error {
		return u.store.putStream(ctx, name, o.size, o.id, func() (io.Reader, error) { return section(file, 0, o.size), nil })
	})
}

func section(file *os.File, from, size int64) io.Reader {
	return struct{ io.Reader }{io.NewSectionReader(file, from, size)} // a Seeker would be sent from its start by minio's own retries
}

// send sends a body when its turn comes.
func (u *uploads) send(ctx context.Context, size int64, put func() error) error {
	select {
	case u.bodies <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-u.bodies }()
	if err := put(); err != nil {
		return err
	}
	u.cfg.Observer.Uploaded(size)
	return nil
}

// now is the server's time, so that the ages of objects do not depend on this host's clock.
func (p *Publisher) now() time.Time {
	if seconds := p.serverTime.Load(); seconds != 0 {
		return time.Unix(seconds, 0)
	}
	return time.Now()
}

// hashParts reads a file once and returns the sums of its parts. The whole must be the
// object.
func hashParts(ctx context.Context, file io.ReaderAt, o object, partSize int64) ([][sha256.Size]byte, error) {
	whole := sha256.New()
	var sums [][sha256.Size]byte
	buffer := make([]byte, 256<<10)
	for from := int64(0); from < o.size; from += partSize {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		part := sha256.New()
		n, err := io.CopyBuffer(io.MultiWriter(whole, part), onlyReader{io.NewSectionReader(file, from, min(partSize, o.size-from))}, buffer)
		if err != nil {
			return nil, err
		}
		if n < min(partSize, o.size-from) {
			return nil, io.ErrUnexpectedEOF
		}
		sums = append(sums, [sha256.Size]byte(part.Sum(nil)))
	}
	if manifest.ObjectID(whole.Sum(nil)) != o.id {
		return nil, fmt.Errorf("object %s is damaged on this host's disk: `syncd verify --repair` mends it", o.id)
	}
	return sums, nil
}

// onlyReader hides io.WriterTo.
type onlyReader struct{ io.Reader }
