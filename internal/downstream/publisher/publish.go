package publisher

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
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

	Ring  string // that sees Mirror, the last one; "" without rings
	Rings []Ring // before it, in their order

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
	collecting  chan struct{}       // has a value while a collection runs
	collectedAt atomic.Int64        // when the last collection of this process began that ended well, in Unix nanoseconds; 0 for none
	collectAt   atomic.Int64        // when the next collection begins without news, in Unix seconds; 0 for not
	verifying   *semaphore.Weighted // one verification has it
	starting    sync.Once
	ending      context.CancelFunc
	background  sync.WaitGroup
	ctx         context.Context // of the background

	lines []*line // one for each ring, in their order; one without rings
	main  *line   // the last one, which writes current.json

	past atomic.Pointer[Past] // only the publication that runs changes it

	// Of the publication that runs.
	probed *bool  // whether the server has conditional writes; nil before the probe
	newest int    // the highest number of a generation that this process wrote
	epoch  int64  // that this publication begins; 0 before its first generation
	copied copied // to rings that see what the last one sees
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
	for _, ring := range cfg.Rings {
		p.lines = append(p.lines, &line{Publisher: p, ring: ring.Name, current: bucket.RingCurrentName(ring.Name), mirror: ring.Mirror, identity: p.identity.In(ring.Name)})
	}
	p.main = &line{Publisher: p, ring: cfg.Ring, current: bucket.CurrentName, mirror: cfg.Mirror, identity: p.identity}
	p.lines = append(p.lines, p.main)
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

// leastFence is the highest fence of what is in the bucket.
func (p *Publisher) leastFence(ctx context.Context) (fence int64, err error) {
	for _, l := range p.lines {
		at, readErr := p.store.ReadCurrent(ctx, l.current, &p.cfg.Log)
		fence, err = max(fence, at.Fence), cmp.Or(err, readErr)
	}
	return fence, err
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
		for _, l := range p.lines {
			l.patched.bring(ctx, l)
		}
	}
	return p.tidy(ctx, req, done)
}

// attempt publishes and notes the outcome.
func (p *Publisher) attempt(ctx context.Context, req Request) (report.Upload, error) {
	job, end := objectstore.Within(ctx, "publishing", objectstore.Limits{Requests: limitsOfPublication.Requests, Bytes: limitsOfPublication.Bytes, Time: limitsOfPublication.Time + 2*p.cfg.Place.Retry.MaxElapsed})
	defer end()
	done, err := p.publish(job, req)
	if errors.Is(err, election.ErrLost) {
		p.cfg.Observer.Leads(false)
		done, err = report.Upload{Result: report.Standby}, nil
	}
	if err != nil {
		done.Result, done.Error = report.UploadFailed, report.OneLine(err.Error())
	}
	if !req.DryRun && done.Error != "" {
		p.forgetSeen()
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

// forgetSeen makes the next publication look for everything in the bucket.
func (p *Publisher) forgetSeen() {
	for _, l := range p.lines {
		l.seen = sighting{}
	}
}

// publish makes the bucket show to each ring what it sees.
func (p *Publisher) publish(ctx context.Context, req Request) (done report.Upload, err error) {
	if req == (Request{}) && p.election.Holds() && !slices.ContainsFunc(p.lines, func(l *line) bool { return l.needsPublication(ctx) }) {
		done = p.main.last
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
		p.forgetSeen()
		if err := req.mend.Repair(ctx); err != nil {
			return done, err
		}
	}
	p.epoch = 0
	return p.publishRings(ctx, req)
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

func (p *Publisher) contents() contents.Config {
	return contents.Config{
		Store: p.store, Server: &p.server, Objects: p.cfg.Objects, Patches: p.cfg.Patches,
		Grace: p.cfg.Grace, Rate: p.cfg.Place.Rate, Uploaded: p.cfg.Observer.Uploaded,
	}
}

func (p *Publisher) fenceFor(at texts.State) int64 {
	if p.election == nil {
		return at.Fence
	}
	return p.election.Fence()
}
