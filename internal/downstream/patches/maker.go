package patches

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// Mirror is what a Maker needs of a mirror.Mirror, as others may see it.
type Mirror interface {
	Current() mirror.Generation
}

// Records is what a Maker needs of mirror.Records.
type Records interface {
	RevisionIDs(name string) []string
	Revision(name, id string) (mirror.Record, error)
}

// Objects is what a Maker needs of mirror.Objects.
type Objects interface {
	Find(id manifest.ObjectID) (manifest.Object, bool)
	Path(id manifest.ObjectID) string
}

// Config is what NewMaker needs; every field is required.
type Config struct {
	Store   *Store
	Mirror  Mirror
	Records Records
	Objects Objects
	// Live returns when each revision of a manifest first went live, by ID. Others were never
	// served.
	Live func(name string) map[string]time.Time
	// Settings are those in force.
	Settings func() Settings
	// Room is how many bytes patches may still take; below 0 if they take too many.
	Room func() int64
	// Syncing is true while a sync will still write contents.
	Syncing func() bool
	Log     zerolog.Logger
}

// Maker makes patches in the background. Safe for concurrent use.
type Maker struct {
	cfg   Config
	woken chan struct{}
	tell  atomic.Pointer[func(context.Context)]

	made, failed atomic.Int64

	mu     sync.Mutex // guards making
	making *making    // nil for none

	settled string         // the state of a round that left nothing to do; only Run uses it
	lacked  map[Pair]int64 // patches that need more room than so much; only Run uses it
}

// making is a patch that is being made.
type making struct {
	Pair
	stop context.CancelCauseFunc
	over chan struct{} // closed when nothing of it is left but the patch
}

// NewMaker returns a Maker, which makes nothing before Run.
func NewMaker(cfg Config) *Maker {
	return &Maker{cfg: cfg, woken: make(chan struct{}, 1), lacked: map[Pair]int64{}}
}

// Store has what was made.
func (m *Maker) Store() *Store { return m.cfg.Store }

// OnNews sets what is called when there are other patches than before, such as the upload of
// a publisher. Run waits for it. A long round calls it several times.
func (m *Maker) OnNews(tell func(context.Context)) { m.tell.Store(&tell) }

// Wake has a round begin soon: something new is live, or another configuration is in force.
func (m *Maker) Wake() {
	select {
	case m.woken <- struct{}{}:
	default:
	}
}

// interval is how often a Maker looks for changes of which nobody told it, such as a revision
// that was pruned, and tries again what had no room.
const interval = 10 * time.Minute

// Run makes patches until the context ends.
func (m *Maker) Run(ctx context.Context) {
	failed := "" // the last error, so that a lasting one is logged once
	for ctx.Err() == nil {
		err := m.round(ctx)
		switch {
		case errors.Is(err, errWoken):
			continue
		case err != nil && ctx.Err() == nil && err.Error() != failed:
			m.cfg.Log.Warn().Err(err).Msg("making patches is incomplete; the next attempt comes within 10 minutes")
			failed = err.Error()
		case err == nil:
			failed = ""
		}
		select {
		case <-ctx.Done():
		case <-m.woken:
		case <-time.After(interval):
		}
	}
}

// The reasons why a patch or a round ends early.
var (
	errNoRoom   = errors.New("there is no room for more patches, which leave free as much as all that is served takes, or a tenth of the file system: make room, or lower publish.patches.max_share")
	errTooLarge = errors.New("the patch needs more room")
	errWoken    = errors.New("something new is live")
)

// Yield removes patches, so that a sync has more room. What is being made goes, too.
func (m *Maker) Yield(bytes int64) error {
	m.interrupt(errNoRoom, func(Pair) bool { return true })
	return m.cfg.Store.yield(bytes)
}

// Counts returns how many patches were made since the start, and how many attempts failed.
func (m *Maker) Counts() (made, failed int) { return int(m.made.Load()), int(m.failed.Load()) }

// Bytes is how much Yield can give back.
func (m *Maker) Bytes() int64 {
	_, bytes := m.cfg.Store.Kept()
	return bytes
}

// Destroy removes the patches that hold parts of contents, durably, and counts them. The
// contents themselves are gone already.
func (m *Maker) Destroy(ids []manifest.ObjectID) (removed int, err error) {
	gone := make(map[manifest.ObjectID]bool, len(ids))
	for _, id := range ids {
		gone[id] = true
	}
	names := func(p Pair) bool { return gone[p.Old] || gone[p.New] }
	m.interrupt(errGone, names)
	return m.cfg.Store.remove(names)
}

// interrupt ends the making of some patches, and waits until nothing of it is on disk.
func (m *Maker) interrupt(cause error, some func(Pair) bool) {
	m.mu.Lock()
	now := m.making
	m.mu.Unlock()
	if now != nil && some(now.Pair) {
		now.stop(cause)
		<-now.over
	}
}

// begin notes what is being made, until end.
func (m *Maker) begin(ctx context.Context, p Pair) (context.Context, *making) {
	ctx, stop := context.WithCancelCause(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.making = &making{Pair: p, stop: stop, over: make(chan struct{})}
	return ctx, m.making
}

func (m *Maker) end(now *making) {
	m.mu.Lock()
	m.making = nil
	m.mu.Unlock()
	now.stop(nil)
	close(now.over)
}

// earlier names the revisions of a manifest that were served before, the newest first.
func (m *Maker) earlier(name, newest string) []string {
	live := m.cfg.Live(name)
	ids := slices.DeleteFunc(m.cfg.Records.RevisionIDs(name), func(id string) bool {
		_, wasLive := live[id]
		return !wasLive || id == newest
	})
	slices.SortFunc(ids, func(a, b string) int { return live[b].Compare(live[a]) })
	return ids
}
