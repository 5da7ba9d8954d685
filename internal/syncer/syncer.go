// Package syncer brings the mirror up to date. Every sync is the same walk,
// whether it is the first, the hundredth or the one after a crash: choose the
// release, list its files, ask for their digests, plan what is missing, make
// sure it fits, download and prove it, publish everything that succeeded in one
// swap, record, prune. See Sync.
package syncer

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"syncd/internal/clients/releases"
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/metrics"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/request"
	"syncd/internal/store"
	"syncd/internal/verify"
)

// lookups is how many small requests are under way at once, over all manifests.
// What they cost is latency: 60 files and 50 ms take 4 rounds with 32, 8 with 16,
// and twice as many connections would save two rounds more at most. Over HTTP/2
// all of them are one connection, whose servers allow 100 at once.
const lookups = 32

// Provider answers questions about releases. It retries by itself; its errors
// are final for this sync. Safe for concurrent use.
type Provider interface {
	ManifestReleases(ctx context.Context, name string, since releases.Validators) (ids []string, now releases.Validators, notModified bool, err error)
	Manifest(ctx context.Context, release manifest.Release, name string) ([]manifest.Reference, error)
	Hash(ctx context.Context, algorithm manifest.Algorithm, ref manifest.Reference) (manifest.Digest, error)
	Metadata(ctx context.Context, ref manifest.Reference) (releases.Metadata, error)
}

// Fetcher brings one file; its result is proven, and durable where it says so. Safe
// for concurrent use for different digests.
type Fetcher interface {
	Fetch(ctx context.Context, file manifest.File, watch fetcher.Watcher) (verify.Proven, error)
}

// Target is one manifest to mirror.
type Target struct {
	Name    string
	Release manifest.Release // latest, an alias, or a pinned month
	Filter  manifest.Filter
}

// Config is what New needs; every field is required unless it says so.
type Config struct {
	Provider Provider
	Fetcher  Fetcher
	Mirror   *mirror.Mirror // recovered, and locked by this process
	Store    *store.Store
	Metrics  *metrics.Metrics
	Log      zerolog.Logger
	Version  string // of syncd, for records

	Source       string // base URL as records show it
	Algorithm    manifest.Algorithm
	Targets      []Target
	Transfers    int           // files at once
	Recheck      time.Duration // between checks of the digests of an unchanged release
	MinKeepRatio float64
	Retain       int
	RetainFor    time.Duration
}

// Syncer syncs, rolls back and repairs, one at a time: the caller serialises
// Sync, Rollback and Repair. Status and Progress may be called at any time.
type Syncer struct {
	Config
	progress *report.Progress
	lookups  *semaphore.Weighted
	pruneAt  time.Time                       // when something may have become superfluous; zero for not before the next publish
	digests  map[algorithmOf]manifest.Digest // of objects that had to be read; zero for a damaged one
}

// New returns a Syncer that reports its progress to progress.
func New(cfg Config, progress *report.Progress) *Syncer {
	return &Syncer{Config: cfg, progress: progress, lookups: semaphore.NewWeighted(lookups), pruneAt: time.Now(), digests: map[algorithmOf]manifest.Digest{}}
}

// run is one sync.
type run struct {
	*Syncer
	req      request.Sync
	started  time.Time
	jobs     []*job
	wanted   map[string][]store.Wanted // what unfinished syncs wanted before this one
	objects  objectIndex
	trust    trust
	sizes    sizes
	removed  []string // manifests that left with this sync's generation
	previous int
}

// Sync does one sync. The report tells what became of each manifest, also of
// those that failed; the error is for what ended the whole sync: an unknown
// manifest, the context's end, or a disk that takes nothing.
func (s *Syncer) Sync(ctx context.Context, req request.Sync) (report.Sync, error) {
	r, err := s.begin(req)
	if err != nil {
		return report.Sync{}, err
	}
	defer s.progress.End()

	r.each(ctx, r.jobs, r.resolve)
	r.size(ctx, r.jobs)
	r.reserveSpace(ctx, r.jobs)
	if req.DryRun {
		return r.report(), context.Cause(ctx)
	}
	if err := r.noteWanted(); err != nil {
		r.Log.Warn().Err(err).Msg("state not written: a crash now would cost the downloads of this sync")
	}
	r.download(ctx, r.jobs)
	r.downloadReplaced(ctx)
	if ctx.Err() != nil {
		return report.Sync{}, r.interrupted(ctx)
	}
	if r.publish(ctx) != nil {
		return report.Sync{}, r.interrupted(ctx)
	}
	err = r.record()
	result := r.report()
	r.giveBack()
	r.prune(ctx)
	return result, err
}

// giveBack frees what only the finished part of a sync needed, before pruning reads
// what else is on disk.
func (r *run) giveBack() {
	r.trust.kept = nil
	for _, j := range r.jobs {
		if !j.wants() {
			j.plan, j.active, j.record, j.sizes, j.fetched = manifest.Plan{}, mirror.Record{}, nil, nil, nil
		}
	}
}

// begin reads what is remembered and served of each manifest.
func (s *Syncer) begin(req request.Sync) (*run, error) {
	targets, err := s.choose(req.Manifests, req.Queued)
	if err != nil {
		return nil, err
	}
	states, err := s.Store.Manifests()
	if err != nil {
		return nil, err
	}
	wanted, err := s.Store.Wanted()
	if err != nil {
		return nil, err
	}
	if err := s.Mirror.Refresh(); err != nil {
		return nil, err
	}
	current := s.Mirror.Current()
	r := &run{Syncer: s, req: req, started: time.Now(), wanted: wanted, previous: current.Number}
	for _, t := range targets {
		active, served := current.Records[t.Name]
		r.jobs = append(r.jobs, &job{target: t, state: states[t.Name], active: active, served: served})
	}
	s.progress.Begin(req.Trigger, r.started, namesOf(targets))
	return r, nil
}

func (s *Syncer) choose(names []string, passOver bool) ([]Target, error) {
	if len(names) == 0 {
		return s.Targets, nil
	}
	var chosen []Target
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		i := slices.IndexFunc(s.Targets, func(t Target) bool { return t.Name == name })
		switch {
		case i >= 0:
			chosen = append(chosen, s.Targets[i])
		case !passOver:
			return nil, &request.UnknownManifestError{Name: name}
		}
	}
	return chosen, nil
}

func namesOf(targets []Target) []string {
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.Name
	}
	return names
}

// each runs a step for every job that is still under way, together, and notes
// what went wrong with each: one bad manifest never holds up another.
func (r *run) each(ctx context.Context, jobs []*job, step func(context.Context, *job) error) {
	var group errgroup.Group
	for _, j := range openJobs(jobs) {
		group.Go(func() error {
			if err := step(ctx, j); err != nil {
				j.fail(err)
			}
			return nil
		})
	}
	_ = group.Wait() // each failure is its job's own
}

// lookup runs one small request within the limit of all.
func (r *run) lookup(ctx context.Context, request func() error) error {
	if err := r.lookups.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	defer r.lookups.Release(1)
	return request()
}

// forAll does something for 0 to n-1 in their order, so many at once; the first
// failure or the context's end ends it. Few goroutines do all of it: thousands
// would each grow a stack of their own.
func forAll(ctx context.Context, n, atOnce int, do func(ctx context.Context, i int) error) error {
	var begun atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range min(n, atOnce) {
		group.Go(func() error {
			for {
				i := int(begun.Add(1)) - 1
				if i >= n {
					return nil
				}
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err := do(ctx, i); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// interrupted keeps what was proven for the next sync and returns why this one ended.
func (r *run) interrupted(ctx context.Context) error {
	wanted, proofs := map[string][]store.Wanted{}, map[string]*store.Proofs{}
	for _, j := range r.jobs {
		if len(j.plan.Files) > 0 {
			wanted[j.target.Name], proofs[j.target.Name] = j.wanted(), r.proofs(j)
		}
	}
	r.supersede(wanted)
	if err := r.Store.Commit(store.Changes{Wanted: wanted, Proofs: proofs}); err != nil {
		r.Log.Warn().Err(err).Msg("state not kept")
	}
	if err := r.Mirror.SyncObjects(); err != nil {
		r.Log.Warn().Err(err).Msg("objects not synced")
	}
	return context.Cause(ctx)
}
