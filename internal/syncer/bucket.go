package syncer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/mirror/record"
)

// Bucket is the source of a follower: object storage that a publisher keeps. It retries by
// itself; its errors are final for this sync. Safe for concurrent use.
type Bucket interface {
	// Generation returns the generation that followers mirror. If there is no newer one
	// than at the last call, it makes one request.
	Generation(ctx context.Context) (bucket.Generation, error)
	// Record returns the record of a manifest of a generation.
	Record(ctx context.Context, m bucket.Manifest) (record.Record, error)
}

// offers is what the bucket has at the time of a sync. All manifests of the sync see the
// same generation, and it takes one request.
type offers struct {
	once       sync.Once
	generation bucket.Generation
	err        error
}

// offer is what the bucket has of a manifest.
type offer struct {
	bucket.Manifest
	generation int
	isOld      bool // the generation is older than one that was followed
}

func (o offer) id() string { return string(o.Release) + "-" + o.Revision }

// bucketEntry is a manifest of a bucket. Its record has the digests and sizes, so that
// nothing else is asked.
type bucketEntry struct{ *run }

// release returns what the bucket has. It sets job.news after each new revision.
func (e bucketEntry) release(ctx context.Context, j *job) (manifest.Release, error) {
	if err := e.look(ctx, j); err != nil {
		return "", err
	}
	found := j.offer.Release
	j.learn(nil, found, e.started)
	j.state.Newest, j.state.ETag, j.state.LastModified = string(found), "", ""
	switch setting := j.target.Release; {
	case setting != manifest.Latest && setting != found:
		return setting, nil
	case j.served && slices.Contains(j.target.Skip, found):
		return j.active.Release, nil
	}
	j.news = j.offer.id() != j.state.Links
	if !j.offer.isOld || e.req.Force {
		j.state.Generation = j.offer.generation
	}
	return found, nil
}

// look finds the manifest in the bucket's generation.
func (e bucketEntry) look(ctx context.Context, j *job) error {
	e.offers.once.Do(func() {
		e.offers.generation, e.offers.err = e.provider.generation(ctx, j.target.Name)
	})
	if e.offers.err != nil {
		return e.offers.err
	}
	generation := e.offers.generation
	m, found := generation.Manifest(j.target.Name)
	if !found {
		return fmt.Errorf("generation %d of the bucket has no %s: check the name, and the manifests of the publisher", generation.Number, j.target.Name)
	}
	followedBefore := strings.HasPrefix(j.state.Config, e.cfg.Source+" ") // not another bucket
	j.offer = offer{m, generation.Number, followedBefore && generation.Number < j.state.Generation}
	return nil
}

// checkDowngrade refuses an old generation, unless the manifest is the same in it. It
// refuses an older release, unless the publisher's operator went back to it.
func (e bucketEntry) checkDowngrade(j *job) error {
	switch {
	case !j.served || e.req.Force:
		return nil
	case j.offer.isOld && j.news:
		return refusal.New(refusal.Downgrade, "generation %d of the bucket is older than %d, which was followed before: the store gives old data, or was restored; `syncd sync --force %s` goes back",
			j.offer.generation, j.state.Generation, j.target.Name)
	case j.offer.Held:
		return nil
	}
	return manifestEntry(e).checkDowngrade(j)
}

func (e bucketEntry) list(ctx context.Context, j *job) (*manifest.List, error) {
	files, described, err := e.files(ctx, j)
	if err != nil {
		return nil, err
	}
	var list manifest.ListBuilder
	for i, f := range files {
		ref, err := manifest.ParseReference(f.Reference)
		if err == nil {
			err = list.Add(ref)
		}
		if err != nil {
			return nil, err
		}
		if e.cfg.Describe {
			j.told.take(f)
		}
		files[i].Reference, files[i].Metadata = "", nil // frees their memory
	}
	j.told.complete = e.cfg.Describe && described
	j.record = files
	return list.List(), nil
}

// files returns the files of the job's release: as the bucket has it or, if it has another
// release by now, as this host has it on disk. described says that they have all that the
// provider's Metadata says.
func (e bucketEntry) files(ctx context.Context, j *job) (files []record.File, described bool, err error) {
	if j.release == j.offer.Release {
		files, err = e.provider.record(ctx, j)
		return files, j.offer.Described, err
	}
	if j.served && j.release == j.active.Release {
		return slices.Clone(j.active.Files), j.active.Described, nil
	}
	err = e.cfg.Shared.change(ctx, func() error { // no pruning meanwhile
		records, err := e.cfg.Mirror.Revisions(j.target.Name)
		if i := slices.IndexFunc(records, func(r mirror.Record) bool { return r.Release == j.release }); i >= 0 {
			files, described = slices.Clone(records[i].Files), records[i].Described
		}
		return err
	})
	if err == nil && files == nil {
		err = fmt.Errorf("the bucket has release %s of %s, not %s, which is not on disk either: a follower can mirror what its publisher serves", j.offer.Release, j.target.Name, j.release)
	}
	return files, described, err
}

// askDigests takes digests and sizes from the record.
func (e bucketEntry) askDigests(_ context.Context, j *job) error {
	for i := range j.files {
		f := &j.files[i]
		at, found := slices.BinarySearchFunc(j.record, f.Path, func(f record.File, path string) int { return strings.Compare(f.Path, path) })
		if !found {
			return refusal.New(refusal.BadShape, "the record has no file %q", f.Path)
		}
		f.Expected = j.record[at].Object.Digest()
		if served, found := j.active.File(f.Path); (!found || served.Expected != f.Expected) && e.provider.sizes.claim(f.Expected) {
			e.provider.sizes.answer(f.Expected, j.record[at].Size, nil)
		}
	}
	j.record = nil
	if j.release == j.offer.Release {
		j.links = j.offer.id()
	}
	return nil
}
