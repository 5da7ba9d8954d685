package publisher

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/record"
)

// Limits of what is under way at once.
const (
	maxRequests = 16 // objects
	maxBodies   = 8  // bodies, parts included
)

// object is a content to upload, or a patch.
type object struct {
	id   manifest.ObjectID
	size int64
	name string
}

func objectOf(id manifest.ObjectID, size int64) object {
	return object{id, size, bucket.ObjectName(id)}
}

// uploads are the objects of one publication.
type uploads struct {
	*Publisher
	dryRun  bool
	isSeen  bool          // objects of the present generation were looked for not long ago
	isWary  bool          // what the present generation does not name may be about to be destroyed
	bodies  chan struct{} // one value for each body that may be sent
	objects atomic.Int64  // that were not there
	bytes   atomic.Int64  // of these
}

// sighting is a generation of which this publisher looked for everything in the bucket, and
// had no error since.
type sighting struct {
	generation generationID
	at         time.Time // of the first look
}

// since returns when the contents of a generation were looked for. It is false, and returns
// the present time, if they have to be looked for again: the bucket may have lost some.
func (s sighting) since(generation generationID, recheck time.Duration) (time.Time, bool) {
	if s.generation == generation && time.Since(s.at) < recheck {
		return s.at, true
	}
	return time.Now(), false
}

// uploadMissing brings into the bucket what the manifests of this host need in the next
// generation. Contents that the present one names are looked for, too, unless isSeen. It
// returns how many objects were not there, and their bytes.
func (p *Publisher) uploadMissing(ctx context.Context, n *next, at state, isSeen, dryRun bool) (int, int64, error) {
	u := &uploads{Publisher: p, dryRun: dryRun, isSeen: isSeen, isWary: destroysNow(at.generation), bodies: make(chan struct{}, maxBodies)}
	for _, r := range n.own {
		i := slices.IndexFunc(n.manifests, func(m bucket.Manifest) bool { return m.Name == r.Manifest })
		there, isThere := at.generation.Manifest(r.Manifest)
		if isSeen && isThere && bucket.SameManifests([]bucket.Manifest{there}, n.manifests[i:i+1]) {
			continue
		}
		if err := u.revision(ctx, r, &n.manifests[i], at); err != nil {
			return 0, 0, fmt.Errorf("publish %s: %w", r.Manifest, err)
		}
	}
	return int(u.objects.Load()), u.bytes.Load(), nil
}

// revision uploads what a revision needs: its record comes last. Where another publisher's
// record cannot be read, m gets this host's.
func (u *uploads) revision(ctx context.Context, r mirror.Record, m *bucket.Manifest, at state) error {
	objectstore.BudgetOf(ctx).Grow(objectstore.Limits{Requests: limitsOfObject.Requests, Bytes: record.Limit(len(r.Files)), Time: time.Minute}) // for the record there
	named, found := u.objectsOf(ctx, at, r.Manifest)
	done := make(map[manifest.ObjectID]bool, len(r.Files))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxRequests)
	for _, f := range r.Files {
		if done[f.Object] || u.isSeen && named[f.Object] {
			continue
		}
		done[f.Object] = true
		group.Go(func() error { return u.bring(groupCtx, objectOf(f.Object, f.Size), named[f.Object]) })
		if groupCtx.Err() != nil {
			break
		}
	}
	if err := group.Wait(); err != nil || u.dryRun {
		return err
	}
	if err := u.packs(ctx, r, named); err != nil {
		return err
	}
	there, _ := at.generation.Manifest(r.Manifest)
	if found && there.Record() == m.Record() && there.RecordSHA256 == m.RecordSHA256 {
		return nil
	}
	text, err := bucket.TextOf(r)
	if err != nil {
		return err
	}
	m.Described, m.RecordSHA256 = r.Described, text.Sum
	return u.store.writeRecord(ctx, text)
}

// objectsOf are the objects and packs of a manifest that the present generation keeps in the bucket.
// Objects of other manifests are looked for one by one. It is false if the record cannot
// be read.
func (u *uploads) objectsOf(ctx context.Context, at state, name string) (map[manifest.ObjectID]bool, bool) {
	named := map[manifest.ObjectID]bool{}
	m, found := at.generation.Manifest(name)
	if !found {
		return named, false
	}
	theirs, err := u.store.readRecord(ctx, m)
	if err != nil {
		return named, false // slower, but right
	}
	for _, f := range theirs.Files {
		named[f.Object] = true
	}
	if m.Packs > 0 {
		for _, p := range bucket.PacksOf(theirs.Files) {
			named[p.ID] = true
		}
	}
	return named, true
}

// bring uploads an object unless it is there. One that could soon be deleted as garbage, or
// is being destroyed, because the present generation does not name it, is uploaded again.
func (u *uploads) bring(ctx context.Context, o object, isNamed bool) error {
	objectstore.BudgetOf(ctx).Grow(limitsOfObject)
	found, err := u.store.Head(ctx, o.name)
	if err != nil && !errors.Is(err, objectstore.ErrNotThere) {
		return err
	}
	if err == nil && !found.IsOther(o.size, o.id) && (isNamed || !u.isWary && u.server.MostAge(found.Written) < u.cfg.Grace/2) {
		return nil
	}
	u.objects.Add(1)
	u.bytes.Add(o.size)
	if u.dryRun {
		return nil
	}
	return u.upload(ctx, o)
}

// upload sends an object, and looks whether the server has it.
func (u *uploads) upload(ctx context.Context, o object) error {
	u.growFor(objectstore.BudgetOf(ctx), o.size)
	file, err := u.cfg.Objects.Open(o.id)
	if err != nil {
		return err
	}
	defer file.Close()
	return u.uploadFile(ctx, o, file)
}

// uploadFile is upload for an open file.
func (u *uploads) uploadFile(ctx context.Context, o object, file *os.File) (err error) {
	if o.size > singleLimit {
		err = u.inParts(ctx, o, file)
	} else {
		err = u.send(ctx, o.size, func() error {
			return u.store.PutStream(ctx, o.name, o.size, o.id, func() (io.Reader, error) { return section(file, 0, o.size), nil })
		})
	}
	if err != nil {
		return err
	}
	return u.store.see(ctx, o.name, o.size, o.id)
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
