package contents

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
	"syncd/internal/downstream/publisher/texts"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/record"
)

// Limits of what is under way at once.
const (
	MaxRequests = 16 // objects
	maxBodies   = 8  // bodies, parts included
)

// Object is a content to upload, or a patch.
type Object struct {
	ID   manifest.ObjectID
	Size int64
	Name string
}

// ObjectOf is the object of a content.
func ObjectOf(id manifest.ObjectID, size int64) Object {
	return Object{id, size, bucket.ObjectName(id)}
}

// Source has the contents. Safe for concurrent use.
type Source interface {
	Open(id manifest.ObjectID) (*os.File, error)
}

// Patches are what followers may take in the place of whole contents. Its methods are safe for
// concurrent use.
type Patches interface {
	List(mirror.Record) []bucket.Patch
	Open(before, after manifest.ObjectID) (file *os.File, size int64, err error)
}

// Config says where contents come from and go to.
type Config struct {
	Store    *texts.Storage
	Server   *objectstore.Server
	Objects  Source
	Patches  Patches       // nil for none
	Grace    time.Duration // what no generation names is kept for so long
	Rate     func() int64  // bytes a second that may be sent now; 0 for no limit
	Uploaded func(bytes int64)
}

// Uploads are the objects of one job.
type Uploads struct {
	Config
	DryRun  bool
	IsSeen  bool                     // objects of the present generation were looked for not long ago
	IsWary  bool                     // what the present generation does not name may be about to be destroyed
	IsKept  func(mirror.Record) bool // true for a revision that another ring keeps in the bucket; nil for none
	bodies  chan struct{}            // one value for each body that may be sent
	objects atomic.Int64             // that were not there
	bytes   atomic.Int64             // of these
}

// New returns the uploads of a job.
func New(cfg Config) *Uploads { return &Uploads{Config: cfg, bodies: make(chan struct{}, maxBodies)} }

// Bring brings into the bucket what revisions of this host need in the next generation, whose
// manifests are given. Contents that the present one names are looked for, too, unless IsSeen. It
// returns how many objects were not there, and their bytes.
func (u *Uploads) Bring(ctx context.Context, own []mirror.Record, manifests []bucket.Manifest, present bucket.Generation) (int, int64, error) {
	for _, r := range own {
		i := slices.IndexFunc(manifests, func(m bucket.Manifest) bool { return m.Name == r.Manifest })
		there, isThere := present.Manifest(r.Manifest)
		if u.IsSeen && isThere && bucket.SameManifests([]bucket.Manifest{there}, manifests[i:i+1]) {
			continue
		}
		if err := u.revision(ctx, r, &manifests[i], present); err != nil {
			return 0, 0, fmt.Errorf("publish %s: %w", r.Manifest, err)
		}
	}
	return int(u.objects.Load()), u.bytes.Load(), nil
}

// revision uploads what a revision needs: its record comes last. Where another publisher's
// record cannot be read, m gets this host's.
func (u *Uploads) revision(ctx context.Context, r mirror.Record, m *bucket.Manifest, present bucket.Generation) error {
	objectstore.BudgetOf(ctx).Grow(objectstore.Limits{Requests: LimitsOfObject.Requests, Bytes: record.Limit(len(r.Files)), Time: time.Minute}) // for the record there
	named, found := u.objectsOf(ctx, present, r.Manifest)
	isKept := u.IsKept != nil && u.IsKept(r)
	done := make(map[manifest.ObjectID]bool, len(r.Files))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(MaxRequests)
	for _, f := range r.Files {
		if done[f.Object] || u.IsSeen && named[f.Object] {
			continue
		}
		done[f.Object] = true
		group.Go(func() error { return u.bringObject(groupCtx, ObjectOf(f.Object, f.Size), named[f.Object] || isKept) })
		if groupCtx.Err() != nil {
			break
		}
	}
	if err := group.Wait(); err != nil || u.DryRun {
		return err
	}
	if err := u.packs(ctx, r, named); err != nil {
		return err
	}
	there, _ := present.Manifest(r.Manifest)
	if found && there.Record() == m.Record() && there.RecordSHA256 == m.RecordSHA256 {
		return nil
	}
	text, err := bucket.TextOf(r)
	if err != nil {
		return err
	}
	m.Described, m.RecordSHA256 = r.Described, text.Sum
	return u.Store.WriteRecord(ctx, text)
}

// objectsOf are the objects and packs of a manifest that the present generation keeps in the bucket.
// Objects of other manifests are looked for one by one. It is false if the record cannot
// be read.
func (u *Uploads) objectsOf(ctx context.Context, present bucket.Generation, name string) (map[manifest.ObjectID]bool, bool) {
	named := map[manifest.ObjectID]bool{}
	m, found := present.Manifest(name)
	if !found {
		return named, false
	}
	theirs, err := u.Store.ReadRecord(ctx, m)
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

// bringObject uploads an object unless it is there. One that could soon be deleted as garbage, or
// is being destroyed, because the present generation does not name it, is uploaded again.
func (u *Uploads) bringObject(ctx context.Context, o Object, isNamed bool) error {
	objectstore.BudgetOf(ctx).Grow(LimitsOfObject)
	found, err := u.Store.Head(ctx, o.Name)
	if err != nil && !errors.Is(err, objectstore.ErrNotThere) {
		return err
	}
	if err == nil && !found.IsOther(o.Size, o.ID) && (isNamed || !u.IsWary && u.Server.MostAge(found.Written) < u.Grace/2) {
		return nil
	}
	u.objects.Add(1)
	u.bytes.Add(o.Size)
	if u.DryRun {
		return nil
	}
	return u.Send(ctx, o)
}

// Send sends an object, and looks whether the server has it.
func (u *Uploads) Send(ctx context.Context, o Object) error {
	u.Grow(objectstore.BudgetOf(ctx), o.Size)
	file, err := u.Objects.Open(o.ID)
	if err != nil {
		return err
	}
	defer file.Close()
	return u.sendFile(ctx, o, file)
}

// sendFile is Send for an open file.
func (u *Uploads) sendFile(ctx context.Context, o Object, file *os.File) (err error) {
	if o.Size > singleLimit {
		err = u.inParts(ctx, o, file)
	} else {
		err = u.sendBody(ctx, o.Size, func() error {
			return u.Store.PutStream(ctx, o.Name, o.Size, o.ID, func() (io.Reader, error) { return section(file, 0, o.Size), nil })
		})
	}
	if err != nil {
		return err
	}
	return u.Store.See(ctx, o.Name, o.Size, o.ID)
}

func section(file *os.File, from, size int64) io.Reader {
	return struct{ io.Reader }{io.NewSectionReader(file, from, size)} // a Seeker would be sent from its start by minio's own retries
}

// sendBody sends a body when its turn comes.
func (u *Uploads) sendBody(ctx context.Context, size int64, put func() error) error {
	select {
	case u.bodies <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-u.bodies }()
	if err := put(); err != nil {
		return err
	}
	u.Uploaded(size)
	return nil
}

// HashParts reads a file once and returns the sums of its parts. The whole must be the
// object.
func HashParts(ctx context.Context, file io.ReaderAt, o Object, partSize int64) ([][sha256.Size]byte, error) {
	whole := sha256.New()
	var sums [][sha256.Size]byte
	buffer := make([]byte, 256<<10)
	for from := int64(0); from < o.Size; from += partSize {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		part := sha256.New()
		n, err := io.CopyBuffer(io.MultiWriter(whole, part), onlyReader{io.NewSectionReader(file, from, min(partSize, o.Size-from))}, buffer)
		if err != nil {
			return nil, err
		}
		if n < min(partSize, o.Size-from) {
			return nil, io.ErrUnexpectedEOF
		}
		sums = append(sums, [sha256.Size]byte(part.Sum(nil)))
	}
	if manifest.ObjectID(whole.Sum(nil)) != o.ID {
		return nil, fmt.Errorf("object %s is damaged on this host's disk: `syncd verify --repair` mends it", o.ID)
	}
	return sums, nil
}

// onlyReader hides io.WriterTo.
type onlyReader struct{ io.Reader }
