package syncer

import (
	"context"
	"slices"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"syncd/internal/downstream/rings"
	"syncd/internal/golive/gate"
	"syncd/internal/golive/room"
	"syncd/internal/hooks/outbox"
	"syncd/internal/host/clock"
	"syncd/internal/manifest"
	"syncd/internal/metrics"
	"syncd/internal/mirror"
	"syncd/internal/mirror/export"
	"syncd/internal/mirror/inventory"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/report/progress"
	"syncd/internal/report/request"
	"syncd/internal/store"
	"syncd/internal/syncer/download"
	"syncd/internal/syncer/lockfile"
	"syncd/internal/syncer/source"
)

// Followers are other hosts that take the data from this one. Safe for concurrent use.
type Followers interface {
	room.Followers
	// Refresh is called when more is known of an earlier revision.
	Refresh()
}

// Target is one manifest to mirror.
type Target struct {
	source.Target
	Activate staging.Policy
	Gate     gate.Gate
}

// Config is what New needs; every field is required unless it says so.
type Config struct {
	Provider source.Provider // nil for a follower
	Bucket   source.Bucket   // of a follower; nil for others
	Fetcher  download.Fetcher
	Mirror   *mirror.Mirror // recovered, and locked by this process
	Shared   *Shared        // of Mirror
	Staging  *staging.Area  // of Mirror
	Store    *store.Store
	Outbox   *outbox.Outbox // of Store
	Metrics  *metrics.Metrics
	Log      zerolog.Logger
	Version  string    // of syncd, for records
	Built    time.Time // when syncd was built, zero when not known

	Source        string // base URL as records show it
	Algorithm     manifest.Algorithm
	Targets       []Target
	Transfers     int           // large files at once
	PublishAfter  time.Duration // how long ready manifests wait for the others of their sync
	Recheck       time.Duration // between checks of the digests of an unchanged release
	MinKeepRatio  float64
	MinBytesRatio float64
	Retain        int
	RetainFor     time.Duration
	Views         []ViewTarget
	Exports       []export.Target
	Access        mirror.Access // of all that readers see
	DropRemoved   bool          // what left the configuration goes at once
	Followers     Followers     // nil if this host serves no others
	Describe      bool          // records get what the provider says about files, for other hosts
	Groups        []Group
	Redact        func(string) string // removes the Customer ID from the output of a gate
	Follower      rings.State         // of this host, for an upstream that is a syncd
}

// selection identifies which files of a target are mirrored and by which digests
// they are compared.
func (c *Config) selection(t Target) string {
	text := c.Algorithm.String() + " " + t.Filter.Fingerprint()
	if len(t.Files) > 0 {
		text += " " + manifest.ReferencesID(t.Files)
	}
	return text
}

func (c *Config) guards() source.Guards {
	return source.Guards{MinKeepRatio: c.MinKeepRatio, MinBytesRatio: c.MinBytesRatio}
}

// fingerprint identifies the configuration of a target.
func (c *Config) fingerprint(t Target) string {
	return c.Source + " " + string(t.Release) + " " + c.selection(t) + t.skipped()
}

// Syncer syncs, rolls back and repairs. Safe for concurrent use, as long as each
// manifest is in one running sync at most, dry runs aside.
type Syncer struct {
	cfg       Config
	progress  *progress.Tracker
	inventory *inventory.Inventory
	requests  *semaphore.Weighted // small requests of all manifests
	downloads *download.Downloader
	deadlines clock.Deadlines // of saved times
}

// New returns a Syncer that reports its progress to progress.
func New(cfg Config, progress *progress.Tracker) *Syncer {
	s := &Syncer{
		cfg: cfg, progress: progress,
		inventory: inventory.New(inventory.Config{
			Mirror: cfg.Mirror, Store: cfg.Store, Algorithm: cfg.Algorithm, Log: cfg.Log, Damaged: cfg.Metrics.VerifyFailed,
		}),
		requests: source.NewSlots(),
		downloads: &download.Downloader{
			Pool: &cfg.Shared.downloads, Fetcher: cfg.Fetcher, Free: cfg.Mirror.Free,
			Metrics: cfg.Metrics, Progress: progress, Transfers: cfg.Transfers,
		},
	}
	cfg.Shared.newest.Store(&s.cfg)
	cfg.Shared.room.Configure(cfg.room(s.inventory))
	return s
}

// Sync does one sync. The result has the outcome of each manifest, failed ones
// included. The error says why the whole sync ended: an unknown manifest, the
// context's end, or a state or data directory that cannot be used. When the context
// ends, the result has the manifests that were done by then.
func (s *Syncer) Sync(ctx context.Context, req request.Sync) (report.Sync, error) {
	r, err := s.start(ctx, req)
	if err != nil {
		return report.Sync{}, err
	}
	defer r.end()
	if req.DryRun {
		r.inParallel(ctx, r.jobs, r.ask)
		r.checkViews(r.jobs)
		r.askSizes(ctx, r.jobs)
		r.reserveSpace(ctx, r.jobs)
		return r.reportDry(), context.Cause(ctx)
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
	r.describeEarlier(ctx)
	r.describeServed(ctx)
	s.cfg.Metrics.SyncTook(time.Since(r.started))
	r.freeMemory()
	s.cfg.Shared.pruneIfDue(ctx)
	return r.report(), r.recordErr
}

// ask asks everything about a manifest until there is a plan. A poll with nothing new
// ends after the first step.
func (r *run) ask(ctx context.Context, j *job) {
	if r.source.AllOrNothing() {
		r.take(ctx, j, r.takeLocked, r.plan) // a lock file has the digests
		return
	}
	ctx = j.entry.Context(ctx)
	r.take(ctx, j,
		r.chooseRelease, // asks ManifestReleases, one request
		r.waitAfterFailure,
		r.listFiles,   // asks Manifest, one request
		r.findDigests, // asks Hash of every file, and Metadata of the surely new ones
		r.settleIfCurrent,
		r.plan,
		r.describe) // asks Metadata of the other files, if this host serves others
}

// start reads what is saved and served of each manifest.
func (s *Syncer) start(ctx context.Context, req request.Sync) (*run, error) {
	targets, err := s.choose(req.Manifests, req.Queued)
	if err != nil {
		return nil, err
	}
	var lock *lockfile.Lock
	if len(req.Locked) > 0 {
		if lock, err = source.ReadLock(req.Locked, s.cfg.Source, namesOf(targets)); err != nil {
			return nil, err
		}
	}
	states, err := s.cfg.Store.Manifests()
	if err != nil {
		return nil, err
	}
	wanted, err := s.cfg.Store.Wanted()
	if err != nil {
		return nil, err
	}
	if err := s.cfg.Shared.change(ctx, s.refresh); err != nil {
		return nil, err
	}
	r := s.newRun(req, lock)
	r.views = s.cfg.wantedViews()
	r.wanted = wanted
	current := s.cfg.Mirror.Current()
	for _, t := range targets {
		active, served := current.Records[t.Name]
		j := &job{target: withOrders(t, active.Orders), state: states[t.Name], active: active, served: served, staged: s.cfg.Staging.Get(t.Name), changed: r.changed}
		j.entry = r.source.Entry(r.questionOf(j))
		r.jobs = append(r.jobs, j)
	}
	if !req.DryRun {
		s.cfg.Shared.begin(r)
	}
	r.endProgress = r.progress.Begin(req.Trigger, r.started, namesOf(targets))
	return r, nil
}

// refresh compares the mirror with the disk, and the permissions with the newest
// configuration. The caller has the turn.
func (s *Syncer) refresh() error {
	if err := s.cfg.Mirror.Refresh(); err != nil {
		return err
	}
	return s.cfg.Mirror.Grant(s.cfg.Shared.newest.Load().Access)
}

func (s *Syncer) newRun(req request.Sync, lock *lockfile.Lock) *run {
	now, tracker := time.Now(), s.progress
	if req.DryRun { // a sync of the same manifest may run beside it
		tracker = &progress.Tracker{}
	}
	return &run{
		cfg: &s.cfg, req: req, started: now, changed: make(chan struct{}, 1),
		progress: tracker, deadlines: &s.deadlines, session: s.inventory.NewSession(), downloads: s.downloads,
		source: s.cfg.source(req, lock, s.requests, tracker),
		room:   s.cfg.room(s.inventory),
	}
}

// source is where a sync gets its manifests from.
func (c *Config) source(req request.Sync, lock *lockfile.Lock, slots *semaphore.Weighted, tracker *progress.Tracker) *source.Source {
	return source.New(source.Config{
		Provider: c.Provider, Bucket: c.Bucket, Lock: lock, URL: c.Source, Algorithm: c.Algorithm, Follower: c.Follower,
		Describe: c.Describe && !req.DryRun, Slots: slots, Progress: tracker, Log: c.Log,
		Earlier: func(ctx context.Context, name string) (records []mirror.Record, err error) {
			err = c.Shared.change(ctx, func() error { // no pruning meanwhile
				records, err = c.Mirror.Revisions(name)
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

// choose returns the targets with the given names; without names, all targets.
// Unknown names are an error unless skipUnknown.
func (s *Syncer) choose(names []string, skipUnknown bool) ([]Target, error) {
	if len(names) == 0 {
		return s.cfg.Targets, nil
	}
	var chosen []Target
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		i := slices.IndexFunc(s.cfg.Targets, func(t Target) bool { return t.Name == name })
		switch {
		case i >= 0:
			chosen = append(chosen, s.cfg.Targets[i])
		case !skipUnknown:
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
