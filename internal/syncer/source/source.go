package source

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"syncd/internal/clients/releases"
	"syncd/internal/downstream/rings"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/staging"
	"syncd/internal/report/progress"
	"syncd/internal/store"
	"syncd/internal/syncer/lockfile"
)

// Provider answers questions about releases. It retries by itself; its errors
// are final for this sync. Safe for concurrent use.
type Provider interface {
	ManifestReleases(ctx context.Context, name string, since releases.Validators) (ids []string, now releases.Validators, notModified bool, err error)
	FileReleases(ctx context.Context, ref manifest.Reference, since releases.Validators) (ids []string, now releases.Validators, notModified bool, err error)
	Manifest(ctx context.Context, release manifest.Release, name string, share *releases.Share) (*manifest.List, error)
	Hash(ctx context.Context, algorithm manifest.Algorithm, ref manifest.Reference) (manifest.Digest, error)
	Metadata(ctx context.Context, ref manifest.Reference) (releases.Metadata, error)
	ManifestList(ctx context.Context, release manifest.Release) ([]releases.ListedManifest, error)
}

// Config is what New needs.
type Config struct {
	Provider  Provider // nil for the follower of a bucket
	Bucket    Bucket   // of a follower; with Provider, of an upstream that may have none
	Upstream  *Upstream
	Lockfile  *lockfile.File
	URL       string   // of the provider or the bucket, as records show it
	Siblings  []string // the other sources of the configuration, in the same form
	Algorithm manifest.Algorithm
	Follower  rings.State // of this host, for an upstream that is a syncd
	Describe  bool        // keep what the provider says about files, for other hosts
	Slots     *semaphore.Weighted
	Progress  *progress.Tracker
	Log       zerolog.Logger
	// Held names the revisions of a manifest that are on disk, staged ones included.
	Held func(name string) []string
	// Tell adds what this host tells an upstream of a manifest beside that: of its consumers and
	// of its own followers. Nil adds nothing.
	Tell func(name string, s rings.State) rings.State
	// Earlier returns the records of the revisions of a manifest that are on disk.
	Earlier func(ctx context.Context, name string) ([]mirror.Record, error)
}

// NewSlots returns the slots for the small requests of all syncs of a configuration.
func NewSlots() *semaphore.Weighted { return semaphore.NewWeighted(maxRequests) }

// Source is where one sync gets its manifests from. Safe for concurrent use.
type Source struct {
	*questions
	cfg       Config
	offers    offers
	summaries summaries
	reports   reports
	packs     packs
}

// New returns the source of one sync.
func New(cfg Config) *Source {
	return &Source{cfg: cfg, questions: &questions{
		provider: cfg.Provider, bucket: cfg.Bucket, algorithm: cfg.Algorithm, slots: cfg.Slots, log: cfg.Log, progress: cfg.Progress,
	}}
}

// AllOrNothing is true if the manifests of the sync go live together, at once, or not at
// all, as those of a lock file.
func (s *Source) AllOrNothing() bool { return s.cfg.Lockfile != nil }

// Describes is true if records get what the source says about their files.
func (s *Source) Describes() bool { return s.cfg.Describe && s.cfg.Lockfile == nil }

// DescribesEarlier is true if the source also says something about files that it had
// before.
func (s *Source) DescribesEarlier() bool { return s.Describes() && s.cfg.Provider != nil }

// KnownSize returns the size of a content, if an entry has learned it.
func (s *Source) KnownSize(content manifest.Digest) (size int64, known bool) {
	return s.sizes.known(content)
}

// Keep keeps the known sizes of a plan in its table, which must not change any more.
func (s *Source) Keep(plan *manifest.Table[int64]) { s.sizes.keep(plan) }

// Question is what an entry must know to answer.
type Question struct {
	Target manifest.Target
	Served mirror.Record    // zero if nothing is served
	Staged staging.Revision // zero if nothing is staged
	Saved  store.Manifest   // by earlier syncs
	Same   bool             // Saved is of the same source and selection of files
	Full   bool             // a full check is due, even if the release is the served one
	Force  bool             // an older release is accepted
	Now    time.Time
	Share  *releases.Share // of the memory for lists
}

func (q *Question) isServed() bool { return q.Served.Manifest != "" }

// Answer is the release to mirror.
type Answer struct {
	Release  manifest.Release
	News     bool           // files may differ from the served ones although the release is the same
	Replaced bool           // files differ from those at the last question, also if the release is the same
	Saved    store.Manifest // the state to save, also after an error
}

// Listing is what a release has.
type Listing struct {
	Files       *manifest.List  // before filters
	Planned     []manifest.File // instead of Files if nothing is to be chosen, and nothing more to be asked
	Count       int             // of the provider's list
	Links       string          // fingerprint of the provider's list; "" with Planned
	Description *Description    // more comes with Digests, Size and Describe
}

// Entry is one manifest in one sync, as its source has it. One goroutine owns it, but for
// Size.
type Entry struct {
	Question
	*Source
	kind        kind
	answer      Answer
	description *Description
	orders      heard
	noSizes     atomic.Bool // Metadata failed, so no more sizes are requested
	delisted    manifest.Release
}

// kind is where the entry comes from.
type kind interface {
	// release chooses the release to mirror. Unless a full check is due, it makes one
	// request.
	release(ctx context.Context) (manifest.Release, error)
	// checkDowngrade refuses a newest release that is older than the served one.
	checkDowngrade() error
	// list returns the files of the chosen release.
	list(ctx context.Context) (Listing, error)
	// digests finds the expected digest of each file.
	digests(ctx context.Context, files []manifest.File, isNew func(manifest.File) bool) error
	// complete asks what the record of a served or earlier revision lacks.
	complete(ctx context.Context, record, kept mirror.Record) (mirror.Record, error)
	// drop frees lists that were not used.
	drop()
}

// Entry returns the entry that answers a question.
func (s *Source) Entry(q Question) *Entry {
	e := &Entry{Question: q, Source: s, answer: Answer{Saved: q.Saved}, description: &Description{}}
	switch {
	case s.cfg.Lockfile != nil:
		e.kind = &lockfileKind{Entry: e}
	case s.cfg.Bucket != nil && (s.cfg.Provider == nil || e.fitsMirror() && s.cfg.Upstream.hasMirror(s.cfg.Bucket.IsKnown())):
		e.kind = &bucketKind{Entry: e}
	case len(q.Target.Files) > 0:
		e.kind = &filesKind{Entry: e}
	default:
		e.kind = &manifestKind{Entry: e}
	}
	if s.cfg.Bucket != nil && e.fitsMirror() {
		s.reports.add(e.report(q.Target.Name))
	}
	return e
}

// isRecorded is true if a record says everything about the entry, so that nothing else is
// asked.
func (e *Entry) isRecorded() bool {
	_, is := e.kind.(*bucketKind)
	return is || e.provider == nil && e.bucket != nil
}

// IsChosen is true if the configuration names the files, so that a shorter list is no
// mistake of the provider.
func (e *Entry) IsChosen() bool { return len(e.Target.Files) > 0 }

// Release chooses the release to mirror.
func (e *Entry) Release(ctx context.Context) (Answer, error) {
	var err error
	e.answer.Release, err = e.kind.release(ctx)
	switch {
	case err == nil && e.mayEnterMirror():
		err = e.enterMirror(ctx)
	case e.lacksMirror(err):
		err = e.leaveMirror(ctx, err)
	}
	if !e.isRecorded() {
		e.noteOrders()
	}
	return e.answer, err
}

// Drop frees the lists, and the memory that was reserved for them.
func (e *Entry) Drop() {
	e.kind.drop()
	e.Share.Release()
}

// CheckDowngrade refuses a release that is older than the served one.
func (e *Entry) CheckDowngrade(served mirror.Record) error {
	if e.Served = served; !e.isServed() || e.Force {
		return nil
	}
	return e.kind.checkDowngrade()
}

// List returns the files of the chosen release.
func (e *Entry) List(ctx context.Context) (Listing, error) {
	e.description = &Description{}
	l, err := e.kind.list(ctx)
	if isNotFound(err) && e.wantsOne() {
		if kept, found := e.kept(ctx); found {
			l, err = kept, nil
		}
	}
	l.Description = e.description
	return l, err
}

// Delisted returns the wanted release that the source has no more, of the entry or of one
// of its files, if this host goes on with what it has on disk. Known after Digests.
func (e *Entry) Delisted() manifest.Release { return e.delisted }

// wantsOne is true if the configuration or a pin names the release.
func (e *Entry) wantsOne() bool { return e.Target.Release != manifest.Latest && !e.IsChosen() }

// kept lists the wanted release as this host has it, if it is on disk.
func (e *Entry) kept(ctx context.Context) (l Listing, found bool) {
	record := e.Served
	if record.Release != e.Target.Release {
		earlier, err := e.cfg.Earlier(ctx, e.Target.Name)
		i := slices.IndexFunc(earlier, func(r mirror.Record) bool { return r.Release == e.Target.Release })
		if err != nil || i < 0 {
			return l, false
		}
		record = earlier[i]
	}
	l = Listing{Count: record.Listed}
	for _, f := range record.Files {
		planned := f.Planned()
		if record.ID() != e.Served.ID() { // found by the name of its object, whatever the algorithm
			planned.Expected = f.Object.Digest()
		}
		if e.Target.Filter.Passes(f.Reference) {
			l.Planned = append(l.Planned, planned)
		}
	}
	e.description.takeAll(record)
	if found = len(l.Planned) > 0; found {
		e.delisted = e.Target.Release
	}
	return l, found
}

// Digests finds the expected digest of each file and, right after it, the size of those
// that isNew says are surely not on disk.
func (e *Entry) Digests(ctx context.Context, files []manifest.File, isNew func(manifest.File) bool) error {
	return e.kind.digests(ctx, files, isNew)
}

// Size asks for the size of a content, unless that was done before for any entry. After
// the first failure it asks no more for this one, and Content-Length gives the sizes. It
// returns an error only when the context has ended. Safe for concurrent use.
func (e *Entry) Size(ctx context.Context, f manifest.File) error {
	if e.isRecorded() || e.noSizes.Load() || !e.sizes.begin(f.Expected) {
		return nil
	}
	meta, err := e.metadata(ctx, e.Target.Name, f.Reference)
	e.sizes.answer(f.Expected, meta.Size, err)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e.cfg.Describe && err == nil {
		e.description.note(f, meta)
	}
	if err != nil && !e.noSizes.Swap(true) {
		e.log.Warn().Err(err).Str("manifest", e.Target.Name).Msg("Metadata failed; using Content-Length for sizes")
	}
	return nil
}

// forAll calls do for 0 to n-1 in order, maxRequests in parallel, until the first error or
// the context's end. It starts only that many goroutines: one for each of thousands of
// files would need a stack for each.
func forAll(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	var begun atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range min(n, maxRequests) {
		group.Go(func() error {
			for i := int(begun.Add(1)) - 1; i < n; i = int(begun.Add(1)) - 1 {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err := do(ctx, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// Sizes asks for the sizes of contents, see Size.
func (e *Entry) Sizes(ctx context.Context, files []*manifest.File) error {
	return forAll(ctx, len(files), func(ctx context.Context, i int) error { return e.Size(ctx, *files[i]) })
}
