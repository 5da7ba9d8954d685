package room

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"syncd/internal/disk/space"
	"syncd/internal/manifest"
	"syncd/internal/manifest/layout"
	"syncd/internal/mirror"
	"syncd/internal/mirror/lifespan"
	"syncd/internal/mirror/staging"
	"syncd/internal/store"
)

// Keeper knows what running work needs of the disk. Safe for concurrent use.
type Keeper interface {
	// Planned adds the contents that running work wants to those that the state has of
	// unfinished syncs, by manifest. It returns the names of the files in the folder of
	// unfinished downloads that stay in addition, in a new map.
	Planned(saved map[string][]store.Planned) (partials map[string]bool)
	// Reserved is the space that running work will still take for other manifests than
	// those named.
	Reserved(except []string) space.Amount
}

// Followers are other hosts that take the data from this one. Safe for concurrent use.
type Followers interface {
	// Kept returns the revisions that they use, by mirror.Record.Key.
	Kept(now time.Time) map[string]mirror.Asked
	// KeepMax is how many bytes these may take beside all else: 0 for no limit, below 0 for
	// a tenth of the file system.
	KeepMax() int64
	// Retire is called before the revisions that do not stay are removed. False means that
	// Kept has others than known meanwhile.
	Retire(stays func(key string) bool, known map[string]mirror.Asked, now time.Time) bool
}

// Patches are made for other hosts, and are the first to go. Safe for concurrent use.
type Patches interface {
	// Bytes is how much Yield can give back, and Yield removes so many bytes.
	Bytes() int64
	Yield(bytes int64) error
}

// Inventory finds the objects of digests of other algorithms.
type Inventory interface {
	Identify(ctx context.Context, digests []manifest.Digest) (map[manifest.Digest]manifest.ObjectID, error)
}

// Config is what a configuration says about the disk. Every field is required unless it
// says so.
type Config struct {
	Mirror    *mirror.Mirror
	Store     *store.Store
	Staging   *staging.Area
	Lifespans *lifespan.Register
	Inventory Inventory
	Followers Followers // nil if this host serves no others
	Patches   Patches   // nil for none

	// Back returns the revisions that a rollback by itself may go back to.
	Back func() []mirror.Record
	Log  zerolog.Logger

	Manifests []string      // configured ones; those that left want nothing
	Views     []layout.View // without maps
	Transfers int           // large files at once
	Retain    int
	RetainFor time.Duration
	Recheck   time.Duration // after which an unfinished sync counts as abandoned
}

// Room is what is kept of one data directory, by the newest configuration. Safe for
// concurrent use, apart from the methods that need the turn.
type Room struct {
	keeper Keeper
	newest atomic.Pointer[Config]

	mu      sync.Mutex // guards what follows
	due     time.Time  // of the next pruning; zero means after the next publish
	readers int        // of published files that must stay
}

// New returns a Room without a configuration. keeper is asked about running work.
func New(keeper Keeper) *Room { return &Room{keeper: keeper} }

// Configure puts a configuration in force, also for syncs that run. It makes pruning due.
func (r *Room) Configure(cfg Config) {
	r.newest.Store(&cfg)
	r.RequestPrune()
}

func (r *Room) cfg() *Config { return r.newest.Load() }

// Reserved is the space that running work will still take for other manifests than those
// named.
func (r *Room) Reserved(except []string) space.Amount { return r.keeper.Reserved(except) }

// RequestPrune makes pruning due now.
func (r *Room) RequestPrune() { r.setDue(time.Now()) }

func (r *Room) setDue(due time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due = due
}

// settle sets the next time after pruning, unless it was requested again since it began
// at began.
func (r *Room) settle(began, next time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.due == began {
		r.due = next
	}
}

// IsPruneDue is true if pruning may find something to remove.
func (r *Room) IsPruneDue() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.due.IsZero() && !time.Now().Before(r.due)
}

// Read notes that the published files are read and must not be pruned meanwhile, until
// done is called.
func (r *Room) Read() (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readers++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.readers--
	}
}

func (r *Room) isRead() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.readers > 0
}
