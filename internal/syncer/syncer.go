package syncer

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"syncd/internal/clients/transport"
	"syncd/internal/downstream/rings"
	"syncd/internal/golive"
	"syncd/internal/host/clock"
	"syncd/internal/metrics/tracing"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/progress"
	"syncd/internal/report/request"
	"syncd/internal/syncer/download"
	"syncd/internal/syncer/lockfile"
	"syncd/internal/syncer/repair"
	"syncd/internal/syncer/source"
)

// Config is what New needs; every field is required unless it says so.
type Config struct {
	golive.Config

	Provider source.Provider // nil for the follower of a bucket
	Bucket   source.Bucket   // of a follower; with Provider, of an upstream that may have none
	Fetcher  download.Fetcher
	Built    time.Time // when syncd was built, zero when not known

	Directory *golive.Directory // of Mirror; its Keeper is Shared
	Shared    *Shared

	Siblings []string // the other sources of a list, as records show them

	PublishAfter time.Duration // how long ready manifests wait for the others of their sync
	Guards       source.Guards
	Describe     bool        // records get what the provider says about files, for other hosts
	Follower     rings.State // of this host, for an upstream that is a syncd
	// Tell is that of package source.
	Tell func(name string, s rings.State) rings.State
}

// Syncer syncs, adopts and repairs. Safe for concurrent use, as long as each
// manifest is in one running sync at most, dry runs aside.
type Syncer struct {
	*repair.Repairer

	cfg       Config
	tree      *golive.Tree
	progress  *progress.Tracker
	requests  *semaphore.Weighted // small requests of all manifests
	upstream  *source.Upstream
	downloads *download.Downloader
	deadlines clock.Deadlines // of saved times
}

// New returns a Syncer with a Tree of the same configuration, which is in force from now on.
// The Syncer reports its progress to progress.
func New(cfg Config, progress *progress.Tracker) *Syncer {
	return newSyncer(cfg, golive.New(cfg.Config, cfg.Directory), progress)
}

// From returns a Syncer that gets everything from another source, provider being nil for that
// of a follower. url is that of the source, and siblings are those of
// the others, as records show them.
func (s *Syncer) From(provider source.Provider, bucket source.Bucket, files download.Fetcher, url string, siblings []string) *Syncer {
	cfg, tree := s.cfg, s.tree.From(url)
	cfg.Config, cfg.Provider, cfg.Bucket, cfg.Fetcher, cfg.Siblings = tree.Config, provider, bucket, files, siblings
	return newSyncer(cfg, tree, s.progress)
}

func newSyncer(cfg Config, tree *golive.Tree, progress *progress.Tracker) *Syncer {
	downloads := &download.Downloader{
		Pool: &cfg.Shared.downloads, Fetcher: cfg.Fetcher, Free: cfg.Mirror.Free,
		Metrics: cfg.Metrics, Progress: progress, Transfers: cfg.Transfers,
	}
	return &Syncer{
		Repairer: repair.New(tree, downloads, &cfg.Shared.repairs, progress),
		cfg:      cfg, tree: tree, progress: progress, requests: source.NewSlots(), downloads: downloads,
		upstream: source.NewUpstream(cfg.Recheck),
	}
}

// Tree returns what the Syncer publishes to.
func (s *Syncer) Tree() *golive.Tree { return s.tree }

// Sync does one sync. The result has the outcome of each manifest, failed ones
// included. The error says why the whole sync ended: an unknown manifest, the
// context's end, or a state or data directory that is not there. When the context
// ends, the result has the manifests that were done by then.
func (s *Syncer) Sync(ctx context.Context, req request.Sync) (report.Sync, error) {
	r, err := s.start(ctx, req)
	if err != nil {
		return report.Sync{}, err
	}
	defer r.end()
	ctx, end := transport.WithPoll(ctx)
	defer end()
	if req.DryRun {
		r.inParallel(ctx, r.jobs, r.ask)
		wave{r, r.jobs}.prepare(ctx)
		return r.reportDry(), context.Cause(ctx)
	}
	if r.unusable != nil {
		return r.refuse(ctx)
	}
	exported := r.exportMeanwhile(ctx)
	defer exported()
	stop := r.publishMeanwhile(ctx)
	defer stop()
	r.inWaves(ctx)
	stop()
	if err := r.publish(ctx, r.unrecorded()); err != nil {
		return r.interrupted(err)
	}
	exported()
	d := describer{r}
	d.completeEarlier(ctx)
	d.completeServed(ctx)
	s.cfg.Metrics.SyncTook(time.Since(r.started))
	r.freeMemory()
	r.obey(ctx)
	s.tree.PruneIfDue(ctx)
	return r.report(), r.recordErr
}

// refuse ends a sync in a data directory that cannot be changed. Each manifest fails, because
// what is shown and told is a manifest's.
func (r *run) refuse(ctx context.Context) (report.Sync, error) {
	for _, j := range r.jobs {
		j.finish(r.unusable)
	}
	if err := r.publish(ctx, r.unrecorded()); err != nil {
		return r.interrupted(err)
	}
	return r.report(), r.recordErr
}

// start reads what is saved and served of each manifest.
func (s *Syncer) start(ctx context.Context, req request.Sync) (*run, error) {
	targets, err := s.cfg.Targets.Choose(req.Manifests, req.SkipUnknown)
	if err != nil {
		return nil, err
	}
	var lock *lockfile.File
	if len(req.Lockfile) > 0 {
		if lock, err = source.ReadLockfile(req.Lockfile, s.cfg.Source, s.cfg.Siblings, targets.Names()); err != nil {
			return nil, err
		}
	}
	states, err := s.cfg.Store.Manifests()
	if err != nil {
		return nil, err
	}
	planned, err := s.cfg.Store.Planned()
	if err != nil {
		return nil, err
	}
	unusable := s.tree.Refresh(ctx)
	if unusable != nil && (req.DryRun || ctx.Err() != nil) {
		return nil, unusable
	}
	r := s.newRun(ctx, req, lock)
	r.unusable = unusable
	r.views = s.tree.ConfiguredViews()
	r.plannedBefore = planned
	for _, t := range targets {
		active, served := golive.Served(s.tree, t.Name)
		j := &job{target: t.With(active.Orders), state: states[t.Name], active: active, served: served, staged: s.cfg.Staging.Get(t.Name), changed: r.changed}
		j.life.adopted = adoptedOf(planned[t.Name])
		j.entry = r.source.Entry(r.questionOf(j))
		_, j.span = tracing.Start(ctx, "manifest", t.Name)
		r.jobs = append(r.jobs, j)
	}
	if !req.DryRun {
		s.cfg.Shared.begin(r)
	}
	r.endProgress = r.progress.Begin(ctx, req.Trigger, r.started, targets.Names())
	return r, nil
}

func (s *Syncer) newRun(ctx context.Context, req request.Sync, lock *lockfile.File) *run {
	now, tracker, cfg := time.Now(), s.progress, s.cfg
	cfg.Log = cfg.Log.With().Ctx(ctx).Logger() // its lines name the trace
	if req.DryRun {                            // a sync of the same manifest may run beside it
		tracker = &progress.Tracker{}
	}
	return &run{
		cfg: &cfg, tree: s.tree, req: req, started: now, changed: make(chan struct{}, 1),
		progress: tracker, deadlines: &s.deadlines, session: s.tree.Inventory.NewSession(), downloads: s.downloads,
		source: s.source(&cfg, req, lock, tracker),
	}
}

// source is where a sync gets its manifests from.
func (s *Syncer) source(c *Config, req request.Sync, lock *lockfile.File, tracker *progress.Tracker) *source.Source {
	return source.New(source.Config{
		Provider: c.Provider, Bucket: c.Bucket, Upstream: s.upstream, Lockfile: lock, URL: c.Source, Siblings: c.Siblings, Algorithm: c.Algorithm, Follower: c.Follower,
		Describe: c.Describe && !req.DryRun, Slots: s.requests, Progress: tracker, Log: c.Log,
		Held: c.Mirror.Records.RevisionIDs, Tell: c.Tell,
		Earlier: func(ctx context.Context, name string) (records []mirror.Record, err error) {
			err = s.tree.Change(ctx, func() error { // no pruning meanwhile
				records, err = c.Mirror.Records.Revisions(name)
				return err
			})
			return records, err
		},
	})
}

// questionOf is what the entry of a job must know.
func (r *run) questionOf(j *job) source.Question {
	return source.Question{
		Target: j.target.Target, Served: j.active, Staged: j.staged, Saved: j.state, Same: r.sameConfig(j),
		Full: r.fullCheckDue(j), Force: r.req.Force, Now: r.started, Share: r.cfg.Shared.lists.NewShare(),
	}
}
