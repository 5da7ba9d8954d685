package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"syncd/internal/clients/releases"
	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/mirror/record"
)

// Bucket is the source of a follower: object storage that a publisher keeps, or the same form
// of a mirror as another syncd serves it. It retries by itself; its errors are final for this
// sync. Safe for concurrent use.
type Bucket interface {
	// Generation returns the generation that followers mirror. If there is no newer one
	// than at the last call, it makes one request.
	Generation(ctx context.Context) (bucket.Generation, error)
	// Record returns the record of a manifest of a generation.
	Record(ctx context.Context, m bucket.Manifest) (record.Record, error)
	// Expect says that contents of a revision may be downloaded next, and what its record says
	// of them.
	Expect(ctx context.Context, m bucket.Manifest, files []record.File)
	// IsKnown is true if an earlier process read the mirror.
	IsKnown() bool
	// IsHost is true for another syncd, which wants to know how this host is doing.
	IsHost() bool
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
	ring       string
	epoch      int64
	began      int64
	count      string
	isBehind   bool // it was published before what was followed from another source
	published  time.Time
	hadAt      time.Time // see bucketKind.hadAt
	isOld      bool      // the generation is older than one that was followed
	isForced   bool      // its publisher's operator took the bucket back since this host served something of it
	isKeptOut  bool      // the ring of this host does not see yet, or no more, what this host serves
}

func (o offer) id() string { return string(o.Release) + "-" + o.Revision }

// text identifies the revision with the text of its record.
func (o offer) text() string {
	if o.RecordSHA256.IsZero() {
		return o.id()
	}
	return o.id() + " " + o.RecordSHA256.String()
}

// bucketKind is a manifest of a bucket. Its record has the digests and sizes, so that
// nothing else is asked.
type bucketKind struct {
	*Entry
	offer    offer
	recorded []record.File // nil once its digests were taken
}

// release returns what the bucket has. There are news after each new revision.
func (k *bucketKind) release(ctx context.Context) (manifest.Release, error) {
	if err := k.look(ctx); errors.Is(err, errNotOffered) && k.isOnDisk(ctx) {
		k.delisted = k.Target.Release
		return k.Target.Release, nil
	} else if err != nil {
		return "", err
	}
	found, saved := k.offer.Release, &k.answer.Saved
	learn(saved, nil, found, k.Now)
	saved.Newest, saved.ETag, saved.LastModified = string(found), "", ""
	switch setting := k.Target.Release; {
	case setting != manifest.Latest && setting != found:
		return setting, nil
	case k.isServed() && slices.Contains(k.Target.Skip, found):
		return k.Served.Release, nil
	}
	taken, _, _ := strings.Cut(saved.Links, " ")
	k.answer.News = k.offer.id() != taken
	if (k.offer.isOld || k.offer.isBehind) && !k.Force {
		return found, nil
	}
	k.offer.isKeptOut = k.goesBackInRing()
	if saved.FollowedAt = k.offer.published; !k.Force {
		saved.FollowedAt = later(saved.FollowedAt, k.offer.hadAt)
	}
	saved.Generation, saved.Epoch, saved.Began, saved.Count, saved.Ring = k.offer.generation, k.offer.epoch, k.offer.began, k.offer.count, k.offer.ring
	if saved.KeptOut = ""; k.offer.isKeptOut {
		saved.KeptOut = k.Served.ID()
		k.answer.News = false
		return k.Served.Release, nil
	}
	k.answer.Replaced = saved.Offered != "" && saved.Offered != k.offer.id()
	saved.Offered, saved.OfferedAt, saved.OfferedHeld = k.offer.id(), k.offer.MirroredAt, k.offer.Held
	if !k.answer.News {
		saved.EpochTaken = k.offer.epoch
	}
	return found, nil
}

// goesBackInRing is true if the ring of this host sees something older than what this host
// serves: the host was in another ring, or the release was stopped. It keeps what it has.
// Without rings, an older release is a mistake.
func (k *bucketKind) goesBackInRing() bool {
	saved, served := k.answer.Saved, k.Served
	switch {
	case k.offer.ring == "" && saved.Ring == "", !k.isServed(), k.offer.Held, k.offer.isForced, k.Force:
		return false
	case served.Release != k.offer.Release:
		return served.Release.Newer(k.offer.Release)
	}
	return served.ID() == saved.Offered && served.ID() != k.offer.id() && k.offer.MirroredAt.Before(saved.OfferedAt)
}

// errNotOffered says that the publisher has no such manifest.
var errNotOffered = errors.New("has no")

// isOnDisk is true if this host has the release that the configuration or a pin names.
func (k *bucketKind) isOnDisk(ctx context.Context) bool {
	if k.Target.Release == manifest.Latest {
		return false
	}
	k.answer.Release = k.Target.Release
	files, _, err := k.files(ctx)
	return err == nil && len(files) > 0
}

// look finds the manifest in the bucket's generation.
func (k *bucketKind) look(ctx context.Context) error {
	k.offers.once.Do(func() {
		ctx := releases.WithTalk(ctx, releases.Talk{State: k.cfg.Upstream.next(k.reports.all())})
		k.offers.generation, k.offers.err = k.generation(ctx, k.Target.Name)
	})
	if k.offers.err != nil {
		return k.offers.err
	}
	generation := k.offers.generation
	hadAt := k.hadAt(generation)
	if !k.isOlder(generation) && !generation.PublishedAt.Before(hadAt) || k.Force {
		k.answer.Saved.Destruction = k.toldBy(generation.Destruction[k.Target.Name])
	}
	m, found := generation.Manifest(k.Target.Name)
	if !found {
		return fmt.Errorf("generation %d of the publisher %w %s: check the name, and what the publisher mirrors", generation.Number, errNotOffered, k.Target.Name)
	}
	k.offer = offer{Manifest: m, generation: generation.Number, ring: generation.Ring, epoch: generation.Epoch, began: generation.Began, published: generation.PublishedAt, count: generation.Count, hadAt: hadAt}
	if saved := &k.answer.Saved; !k.followed() || !k.isOfCount(generation) { // it followed something else
		saved.EpochTaken = generation.Epoch
		k.offer.isBehind = k.isBehind(generation)
	} else {
		if generation.Began > saved.Began {
			saved.EpochTaken = 0 // this host has seen no epoch of this bucket
		}
		k.offer.isOld, k.offer.isForced = k.isOlder(generation), generation.Epoch > saved.EpochTaken
	}
	return nil
}

// isOlder is true for a generation before the one that was followed last. Nothing of it counts,
// orders to destroy data included.
func (k *bucketKind) isOlder(g bucket.Generation) bool { return k.isCounted(g) && k.compare(g) < 0 }

// isCounted is true for a generation that has an order with the one that was followed last. Those
// of different rings have none, nor have those that a host passes on from a bucket and from
// elsewhere, or from another place of the publisher, which began at another time.
func (k *bucketKind) isCounted(g bucket.Generation) bool {
	isOfPlace := !k.cfg.Bucket.IsHost() || g.Began >= k.answer.Saved.Began
	return k.followed() && g.Ring == k.answer.Saved.Ring && k.isOfCount(g) && isOfPlace
}

func (k *bucketKind) compare(g bucket.Generation) int {
	saved := k.answer.Saved
	return cmp.Or(cmp.Compare(g.Began, saved.Began), cmp.Compare(g.Epoch, saved.Epoch), cmp.Compare(g.Number, saved.Generation))
}

// hadAt is when what this host had from another source was published; zero if it had nothing, or
// if this source has published since. A generation of before is old, whatever its number: it shows
// nothing new and orders nothing.
func (k *bucketKind) hadAt(g bucket.Generation) time.Time {
	saved := k.answer.Saved
	isSibling := func(url string) bool { return strings.HasPrefix(saved.Config, url+" ") }
	switch {
	case slices.ContainsFunc(k.cfg.Siblings, isSibling) && saved.FollowedAt.IsZero(): // a provider says no time
		return saved.SyncedAt
	case slices.ContainsFunc(k.cfg.Siblings, isSibling), k.isCounted(g) && k.compare(g) == 0:
		return saved.FollowedAt
	}
	return time.Time{}
}

// isBehind is true for a generation of a source that shows something else than what another
// source of this host had later. A newer release is behind only where the publisher's operator
// went back to what is served: the newer one may be what that operator left.
func (k *bucketKind) isBehind(g bucket.Generation) bool {
	saved := k.answer.Saved
	wentBack := saved.OfferedHeld && saved.Offered == k.Served.ID()
	if !k.isServed() || k.offer.id() == k.Served.ID() || k.offer.Release.Newer(k.Served.Release) && !wentBack {
		return false
	}
	return g.PublishedAt.Before(k.offer.hadAt)
}

// later is the later of two times.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// isOfCount is true for a generation whose number and epoch compare with those of the last one.
func (k *bucketKind) isOfCount(g bucket.Generation) bool {
	return g.Count == k.answer.Saved.Count || !k.cfg.Bucket.IsHost()
}

// followed is true if what is saved is of this mirror.
func (k *bucketKind) followed() bool {
	return k.answer.Saved.Generation > 0 && strings.HasPrefix(k.answer.Saved.Config, k.cfg.URL+" ")
}

// checkDowngrade refuses an old generation, unless the manifest is the same in it. It
// refuses an older release, unless the publisher's operator went back to it, or took the
// bucket back from another publisher.
func (k *bucketKind) checkDowngrade() error {
	switch saved := k.answer.Saved; {
	case k.offer.isBehind:
		return refusal.New(refusal.Downgrade, "generation %d was published at %s, and another source of this host had something newer of %s: it keeps that; `syncd sync --force %s` goes back",
			k.offer.generation, k.offer.published.Format(time.RFC3339), k.Target.Name, k.Target.Name)
	case k.offer.isOld && k.answer.News && k.offer.began < saved.Began:
		return refusal.New(refusal.Downgrade, "generation %d is of a bucket before it was emptied, and one of after that was followed before; the store gives old data, or a publisher of an earlier version of syncd wrote it; `syncd sync --force %s` goes back",
			k.offer.generation, k.Target.Name)
	case k.offer.isOld && k.answer.News && k.offer.epoch < saved.Epoch:
		return refusal.New(refusal.Downgrade, "generation %d is of epoch %d, which ended: epoch %d was followed before; the store gives old data, or a publisher of an earlier version of syncd wrote it; `syncd sync --force %s` goes back",
			k.offer.generation, k.offer.epoch, saved.Epoch, k.Target.Name)
	case k.offer.isOld && k.answer.News:
		return refusal.New(refusal.Downgrade, "generation %d is older than %d, which was followed before: the source gives old data, or was restored; `syncd sync --force %s` goes back",
			k.offer.generation, k.answer.Saved.Generation, k.Target.Name)
	case k.offer.Held, k.offer.isForced:
		return nil
	}
	return k.Entry.checkDowngrade()
}

func (k *bucketKind) list(ctx context.Context) (Listing, error) {
	files, described, err := k.files(ctx)
	if err != nil {
		return Listing{}, err
	}
	var builder manifest.ListBuilder
	for i, f := range files {
		if err := builder.Add(f.Reference); err != nil {
			return Listing{}, err
		}
		if k.cfg.Describe {
			k.description.take(f)
		}
		files[i].Reference, files[i].Metadata = "", nil // frees their memory
	}
	if k.cfg.Describe {
		k.description.tell(k.offer.Manifest, described && k.takesOffer(), described)
	}
	k.recorded = files
	list := builder.List()
	links := list.Fingerprint()
	if k.takesOffer() {
		links = k.offer.text()
	}
	return Listing{Files: list, Count: list.Len(), Links: links}, nil
}

// files returns the files of the chosen release: as the bucket has it or, if it has
// another release by now, as this host has it on disk. described says that they have all
// that the provider's Metadata says.
func (k *bucketKind) files(ctx context.Context) (files []record.File, described bool, err error) {
	release := k.answer.Release
	if k.takesOffer() && !k.hasTaken() {
		files, err = k.recordOf(ctx, k.offer.Manifest, k.Share)
		return files, k.offer.Described, err
	}
	if k.isServed() && release == k.Served.Release {
		return slices.Clone(k.Served.Files), k.Served.Described, nil
	}
	records, err := k.cfg.Earlier(ctx, k.Target.Name)
	if i := slices.IndexFunc(records, func(r mirror.Record) bool { return r.Release == release }); i >= 0 {
		files, described = slices.Clone(records[i].Files), records[i].Described
	}
	if err == nil && files == nil {
		err = fmt.Errorf("the publisher has release %s of %s, not %s, which is not on disk either: a follower can mirror what its publisher serves", k.offer.Release, k.Target.Name, release)
	}
	return files, described, err
}

// takesOffer is true if the chosen release is what the mirror has.
func (k *bucketKind) takesOffer() bool {
	return k.answer.Release == k.offer.Release && !k.offer.isKeptOut
}

// hasTaken is true if the text of the record was read before, and what it says of this
// selection of files is served: a full check finds nothing else in it.
func (k *bucketKind) hasTaken() bool {
	return k.Same && !k.Force && k.isServed() && k.Served.Held == nil && k.Served.Release == k.offer.Release &&
		k.Saved.Served == k.Served.ID() && k.Saved.Links == k.offer.text() && !k.offer.RecordSHA256.IsZero()
}

// digests takes digests and sizes from the record.
func (k *bucketKind) digests(ctx context.Context, files []manifest.File, _ func(manifest.File) bool) error {
	for i := range files {
		f := &files[i]
		at, found := slices.BinarySearchFunc(k.recorded, f.Path, func(f record.File, path string) int { return strings.Compare(f.Path, path) })
		if !found {
			return refusal.New(refusal.BadShape, "the record has no file %q", f.Path)
		}
		f.Expected, f.InRecord = k.recorded[at].Object.Digest(), true
		if served, found := k.Served.File(f.Path); (!found || served.Expected != f.Expected) && k.sizes.begin(f.Expected) {
			k.sizes.answer(f.Expected, k.recorded[at].Size, nil)
		}
	}
	if k.takesOffer() && !k.hasTaken() {
		k.packs.add(k.offer.Manifest, k.recorded)
		k.bucket.Expect(ctx, k.offer.Manifest, k.recorded)
	}
	k.recorded = nil
	return nil
}

// complete takes what the bucket's record has by now: its publisher may have published the
// revision before it was told everything. An upstream answers about earlier revisions in the
// provider's wire format.
func (k *bucketKind) complete(ctx context.Context, record, kept mirror.Record) (mirror.Record, error) {
	switch {
	case k.provider != nil && record.ID() != k.offer.id():
		return k.Entry.complete(ctx, record, kept)
	case !k.offer.Described || record.ID() != k.offer.id():
		return record, ErrNothingLearned
	}
	defer k.Share.Release()
	files, err := k.recordOf(ctx, k.offer.Manifest, k.Share)
	if err != nil {
		return record, err
	}
	told := &Description{}
	told.tell(k.offer.Manifest, true, true)
	for _, f := range files {
		told.take(f)
	}
	record.Files = slices.Clone(record.Files)
	told.Fill(&record)
	return record, nil
}

func (k *bucketKind) drop() { k.recorded = nil }
