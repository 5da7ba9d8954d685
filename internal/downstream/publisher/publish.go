package publisher

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher/contents"
	"syncd/internal/downstream/publisher/election"
	"syncd/internal/downstream/publisher/identity"
	"syncd/internal/downstream/publisher/texts"
	"syncd/internal/downstream/publisher/turns"
	"syncd/internal/downstream/publisher/verification"
	"syncd/internal/downstream/trust"
	"syncd/internal/manifest/destruction"
	"syncd/internal/mirror"
	"syncd/internal/report"
)

// Config is what a Publisher needs.
type Config struct {
	Place objectstore.Place
	Grace time.Duration // what no generation names is kept for so long
	Lease time.Duration // 0 without election

	Mirror     Mirror
	Objects    contents.Source
	Configured func(manifest string) bool
	Order      func(manifest string) destruction.Order // that followers get; nil for none
	Observer   Observer
	Revision   func(name, id string) (mirror.Record, error) // a revision on disk that is not served
	Memory     identity.Memory
	Keep       func(done report.Upload, at time.Time) error // saves the outcome of each attempt

	KeepCollection func(err string, at time.Time) error // saves the outcome of each collection; "" for no error
	MustCollect    bool                                 // the last collection of an earlier process failed

	Log     zerolog.Logger
	Version string
	Recheck time.Duration // how long the bucket is trusted to be as it was left
	Past    Past          // of the place, by earlier processes
	Turn    int           // of the place among those of this host: places that begin together tell times that differ

	Signer  *trust.Signer    // nil signs nothing
	Patches contents.Patches // nil for none
}

// Mirror is what is published. Its methods are safe for concurrent use.
type Mirror interface {
	Dir() string
	Current() mirror.Generation
}

// Observer counts what happens. Its methods are safe for concurrent use.
type Observer interface {
	Uploaded(bytes int64)
	UploadEnded(result string, generation int, at time.Time)
	CollectionEnded(failed bool, at time.Time)
	Leads(leads bool)
	Verified(left int, at time.Time) // left is what is missing or damaged
}

// Publisher publishes to one place. Its methods are safe for concurrent use.
type Publisher struct {
	cfg      Config
	identity *identity.Identity
	store    *texts.Storage
	election *election.Election // nil without
	server   objectstore.Server

	queue       turns.Queue[Request]
	collecting  chan struct{} // has a value while a collection runs
	collectedAt atomic.Int64  // when the last collection of this process began that ended well, in Unix nanoseconds; 0 for none
	collectAt   atomic.Int64  // when the next collection begins without news, in Unix seconds; 0 for not
	patched     patched
	verifying   *semaphore.Weighted // one verification has it
	starting    sync.Once
	ending      context.CancelFunc
	background  sync.WaitGroup
	ctx         context.Context // of the background

	// Of the publication that runs.
	wish      string        // the result: published, or found there
	confirmed time.Time     // when
	stands    texts.ID      // the generation that it found or left there
	statement string        // about that, "" without signatures
	last      report.Upload // the outcome of that

	past   atomic.Pointer[Past] // only the publication that runs changes it
	left   atomic.Pointer[left] // as past
	seen   sighting
	probed *bool // whether the server has conditional writes; nil before the probe
}

// New returns a publisher. It makes no request yet. The caller must call Close.
func New(cfg Config) (*Publisher, error) {
	p := &Publisher{verifying: semaphore.NewWeighted(1), collecting: make(chan struct{}, 1), cfg: cfg}
	if cfg.MustCollect {
		p.collectAt.Store(1)
	}
	var err error
	if p.identity, err = identity.New(cfg.Memory, cfg.Mirror.Dir()); err != nil {
		cfg.Log.Warn().Err(err).Msg("keeping the publisher's name failed; after the next start it has another one")
	}
	p.past.Store(&cfg.Past)
	p.ctx, p.ending = context.WithCancel(context.Background())
	mayWrite := func() error { return nil }
	if cfg.Lease > 0 {
		p.election = election.New(p.identity.Name()+" "+rand.Text()[:8], cfg.Lease)
		place := cfg.Place
		place.Retry = objectstore.Retry{InitialInterval: cfg.Lease / 50, MaxInterval: cfg.Lease / 10, MaxElapsed: cfg.Lease / 3}
		if p.election.Store, err = place.Connect(p.election.MayWriteLease, &p.server); err != nil {
			return nil, err
		}
		mayWrite = p.election.MayUpload
	}
	p.store, err = texts.Connect(cfg.Place, mayWrite, &p.server)
	return p, err
}

// Close gives the lease back and ends what goes on in the background.
func (p *Publisher) Close() {
	if p == nil {
		return
	}
	p.ending()
	p.background.Wait()
}

// lead begins the election, which publishes when this publisher gets the lease.
func (p *Publisher) lead() {
	p.starting.Do(func() {
		p.background.Go(func() {
			p.election.Run(p.ctx, p.leastFence, func() {
				p.background.Go(func() { p.uploadGained() })
			})
			p.cfg.Observer.Leads(false)
		})
	})
}

func (p *Publisher) uploadGained() {
	p.cfg.Log.Info().Int64("fence", p.election.Fence()).Msg("this publisher holds the lease")
	p.cfg.Observer.Leads(true)
	if _, err := p.Upload(p.ctx, Request{}); err != nil && p.ctx.Err() == nil {
		p.cfg.Log.Error().Err(err).Msg("publishing to the bucket failed; the next sync tries again")
	}
}

// leastFence is the fence of what is in the bucket.
func (p *Publisher) leastFence(ctx context.Context) (int64, error) {
	at, err := p.store.ReadCurrent(ctx, &p.cfg.Log)
	return at.Fence, err
}

// Request says how to publish.
type Request struct {
	DryRun  bool // only say what would be done
	Collect bool // delete what nothing names, even if nothing new is published
	Check   bool // look at the bucket, even if it needs nothing
	Force   bool // replace what another publisher has newer, in a new epoch

	mend *verification.Verification // found what is to be uploaded again
}

// And is a request for both.
func (r Request) And(other Request) Request {
	return Request{Collect: r.Collect || other.Collect, Check: r.Check || other.Check, Force: r.Force || other.Force, mend: cmp.Or(r.mend, other.mend)}
}

// maxRounds bounds the attempts against publishers that are faster.
const maxRounds = 20

// Upload makes the bucket show what the mirror serves. A publisher that does not hold the
// lease does nothing and reports standby. A call that a newer one makes needless, because
// the bucket is slow, reports pending.
func (p *Publisher) Upload(ctx context.Context, req Request) (report.Upload, error) {
	publish := p.queue.Do
	if req.DryRun { // it changes nothing, so it needs no turn
		publish = func(ctx context.Context, req Request, work turns.Work[Request]) (report.Upload, error) {
			return work(ctx, req)
		}
	}
	done, err := publish(ctx, req, p.attempt)
	if err != nil || done.Result == report.Standby || done.Result == report.UploadPending {
		return done, err
	}
	if !req.DryRun {
		p.patched.bring(ctx, p)
	}
	return p.tidy(ctx, req, done)
}

// attempt publishes and notes the outcome.
func (p *Publisher) attempt(ctx context.Context, req Request) (report.Upload, error) {
	job, end := objectstore.Within(ctx, "publishing", objectstore.Limits{Requests: limitsOfPublication.Requests, Bytes: limitsOfPublication.Bytes, Time: limitsOfPublication.Time + 2*p.cfg.Place.Retry.MaxElapsed})
	defer end()
	done, err := p.upload(job, req)
	if errors.Is(err, election.ErrLost) {
		p.cfg.Observer.Leads(false)
		done, err = report.Upload{Result: report.Standby}, nil
	}
	if err != nil {
		done.Result, done.Error = report.UploadFailed, report.OneLine(err.Error())
	}
	if !req.DryRun && done.Error != "" {
		p.seen = sighting{}
	}
	if !req.DryRun && ctx.Err() == nil {
		p.note(done, time.Now())
	}
	return done, err
}

func (p *Publisher) note(done report.Upload, at time.Time) {
	p.cfg.Observer.UploadEnded(string(done.Result), done.Generation, at)
	if err := p.cfg.Keep(done, at); err != nil {
		p.cfg.Log.Warn().Err(err).Msg("saving the outcome of publishing failed; syncd status may show an older one")
	}
}

// Holder names the publisher that holds the lease, and says whether it is this one. The
// name is "" without an election, and before the first look at the lease.
func (p *Publisher) Holder() (name string, own bool) {
	if p.election == nil {
		return "", false
	}
	return p.election.Leader()
}

func (p *Publisher) upload(ctx context.Context, req Request) (done report.Upload, err error) {
	if req == (Request{}) && p.isConfirmed() && p.election.Holds() && !p.cfg.isDue(p.statement, p.stands) && !p.isReplaced(ctx) {
		done = p.last
		if !done.Superseded { // it may be another generation of this host with the same data
			done.Served = p.cfg.Mirror.Current().Number
		}
		return done, nil
	}
	if err := p.store.CheckCredentials(); err != nil {
		return done, err
	}
	if !req.DryRun {
		if err := p.begin(ctx, req); err != nil {
			return done, err
		}
	}
	if req.mend != nil {
		p.seen = sighting{}
		if err := req.mend.Repair(ctx); err != nil {
			return done, err
		}
	}
	for range maxRounds {
		done, err = p.round(ctx, req)
		if !errors.Is(err, objectstore.ErrChanged) {
			break
		}
	}
	return done, err
}

// lookPatience is how long a publisher without news waits for the bucket.
const lookPatience = 15 * time.Second

// isReplaced is true if current.json names another generation than the one that this
// publisher left. A server that does not answer is no reason to fail, because there is
// nothing to publish.
func (p *Publisher) isReplaced(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	at, err := p.store.Standing(ctx)
	return errors.Is(err, objectstore.ErrNotThere) || err == nil && (at.ID() != p.stands || p.cfg.Signer != nil && at.Statement != p.statement)
}

// isConfirmed is true when the bucket was seen not long ago to show what is served.
func (p *Publisher) isConfirmed() bool {
	return p.wish != "" && p.wish == p.cfg.wishOf(p.cfg.Mirror.Current()) && time.Since(p.confirmed) < p.cfg.Recheck
}

// begin makes sure that this publisher may write.
func (p *Publisher) begin(ctx context.Context, req Request) error {
	if err := p.probe(ctx); err != nil {
		return err
	}
	if p.election == nil {
		return nil
	}
	if req.Force {
		p.election.Demand()
	}
	p.lead()
	return p.election.Await(ctx)
}

// round publishes once. objectstore.ErrChanged says that another publisher was faster.
func (p *Publisher) round(ctx context.Context, req Request) (report.Upload, error) {
	served := p.cfg.Mirror.Current()
	at, err := p.store.ReadCurrent(ctx, &p.cfg.Log)
	if err != nil {
		return report.Upload{}, err
	}
	if err := p.checkFence(ctx, at); err != nil {
		return report.Upload{}, err
	}
	if err := p.followTrust(ctx, at.Shown.Trust); err != nil {
		return report.Upload{}, err
	}
	if req.mend != nil {
		req.mend.Rename(&at.Present)
	}
	p.distrust(&at)
	p.statement = at.Statement
	done := report.Upload{Result: report.UploadUnchanged, Generation: at.Generation, Epoch: at.NextEpoch(), Began: at.BeganAt(), Publisher: at.Present.Publisher, PublishedAt: at.Present.PublishedAt}
	next, err := p.compose(served, at, req.Force)
	if err != nil {
		return report.Upload{}, err
	}
	if !req.Force && p.isTaken(at, next) {
		done.Superseded = true
		return done, nil
	}
	done.Kept = next.kept
	if (at.Generation == 0 || at.IsCut) && len(next.manifests) == 0 {
		return done, nil
	}
	done.Superseded = len(next.kept) > 0 && !p.identity.Wrote(at.SHA256)
	if !req.Force && p.waits(at, next) {
		return p.confirm(served, at.ID(), done), nil
	}
	if err := p.checkRecords(ctx, at, &next); err != nil {
		return done, err
	}
	if !req.Force && next.isShown(at) {
		isTrustDue := p.cfg.Signer != nil && p.trustText() != at.Shown.Trust
		if at.Generation != 0 && (at.Fence != p.fenceFor(at) || p.cfg.isDue(at.Statement, at.ID()) || isTrustDue) && !req.DryRun {
			err = p.writeCurrent(ctx, at, at.ID(), bucket.Generation{Epoch: at.NextEpoch(), Began: at.BeganAt()})
		}
		if err == nil && !req.DryRun {
			done = p.confirm(served, at.ID(), done)
		}
		return done, err
	}
	done.Result, done.Superseded, done.Replaced = report.Uploaded, false, next.replaces
	since, isSeen := time.Now(), false
	if !req.DryRun { // which has no turn
		since, isSeen = p.seen.since(at.ID(), p.cfg.Recheck)
	}
	if done.Objects, done.Bytes, err = p.bring(ctx, next, at, isSeen, req.DryRun); err != nil || req.DryRun {
		return done, err
	}
	g, written, err := p.writeGeneration(ctx, at, next, req.Force)
	if err != nil {
		return done, err
	}
	p.seen = sighting{written, since}
	if req.mend != nil {
		req.mend.Published()
	}
	done.Generation, done.Epoch, done.Began, done.Publisher, done.PublishedAt = g.Number, g.Epoch, g.Began, g.Publisher, g.PublishedAt
	done = p.confirm(served, written, done)
	p.cfg.Log.Info().Ctx(ctx).Int("generation", done.Generation).Int("objects", done.Objects).Int64("bytes", done.Bytes).Str("replaced", done.Replaced).Msg("published to the bucket")
	return done, nil
}

// bring brings into the bucket what the next generation needs of this host. It returns how many
// objects were not there, and their bytes.
func (p *Publisher) bring(ctx context.Context, n next, at texts.State, isSeen, dryRun bool) (int, int64, error) {
	u := contents.New(p.contents())
	u.DryRun, u.IsSeen, u.IsWary = dryRun, isSeen, destroysNow(at.Present)
	return u.Bring(ctx, n.own, n.manifests, at.Present)
}

func (p *Publisher) contents() contents.Config {
	return contents.Config{
		Store: p.store, Server: &p.server, Objects: p.cfg.Objects, Patches: p.cfg.Patches,
		Grace: p.cfg.Grace, Rate: p.cfg.Place.Rate, Uploaded: p.cfg.Observer.Uploaded,
	}
}

// sighting is a generation of which this publisher looked for everything in the bucket, and
// had no error since.
type sighting struct {
	generation texts.ID
	at         time.Time // of the first look
}

// since returns when the contents of a generation were looked for. It is false, and returns
// the present time, if they have to be looked for again: the bucket may have lost some.
func (s sighting) since(generation texts.ID, recheck time.Duration) (time.Time, bool) {
	if s.generation == generation && time.Since(s.at) < recheck {
		return s.at, true
	}
	return time.Now(), false
}

// isTaken is true if the operator of another publisher took the place, which this one had.
// With an election, the lease decides. A publisher whose signature is asked for besides that
// of the other one gives it, if it would show the same: nobody else could end the wait.
func (p *Publisher) isTaken(at texts.State, n next) bool {
	past := p.past.Load()
	isOther := p.election == nil && past.Wrote && at.NextEpoch() > past.epochIn(at.BeganAt()) && !p.identity.Wrote(at.SHA256)
	signsToo := p.cfg.Signer != nil && p.cfg.Signer.Chain().Newest().Threshold > 1
	return isOther && !(signsToo && n.isShown(at))
}

// isShown is true when the generation in the bucket is the next one already.
func (n next) isShown(at texts.State) bool {
	return !at.IsCut && bucket.SameManifests(n.manifests, at.Present.Manifests) && bucket.SameOrders(n.destruction, at.Present.Destruction)
}

// confirm remembers what the bucket shows.
func (p *Publisher) confirm(served mirror.Generation, id texts.ID, done report.Upload) report.Upload {
	if !done.Superseded {
		done.Served = served.Number
	}
	done.Signed = p.cfg.signedBy(p.statement, id)
	p.left.Store(&left{id, p.statement})
	p.wish, p.confirmed, p.stands, p.last = p.cfg.wishOf(served), time.Now(), id, done
	p.last.Result, p.last.Objects, p.last.Bytes, p.last.Replaced = report.UploadUnchanged, 0, 0, ""
	past := p.past.Load()
	p.past.Store(past.after(done))
	return done
}

// checkFence refuses to write where another publisher has a newer lease, or has one and
// this host takes part in no election.
func (p *Publisher) checkFence(ctx context.Context, at texts.State) error {
	if p.election != nil {
		if at.Fence > p.election.Fence() && p.election.MayUpload() == nil {
			if lease, err := texts.LookAt(ctx, p.store, bucket.LeaseName, bucket.ParseLease); err == nil && lease.Fence > p.election.Fence() {
				return election.ErrLost // another publisher's operator took it
			}
			return fmt.Errorf("%s has fence %d, the lease of this publisher %d: delete %s to begin a new election", bucket.CurrentName, at.Fence, p.election.Fence(), bucket.LeaseName)
		}
		return nil
	}
	if at.Fence == 0 {
		return nil
	}
	text, _, err := p.store.ReadText(ctx, bucket.LeaseName)
	if errors.Is(err, objectstore.ErrNotThere) {
		return nil
	}
	if err != nil {
		return err
	}
	if lease, err := bucket.ParseLease(text); err == nil && lease.Holder != "" {
		return fmt.Errorf("publisher %q of this bucket takes part in an election: set election here, too, or delete %s if this is the only publisher left", lease.Holder, bucket.LeaseName)
	}
	return nil
}

func (p *Publisher) fenceFor(at texts.State) int64 {
	if p.election == nil {
		return at.Fence
	}
	return p.election.Fence()
}
