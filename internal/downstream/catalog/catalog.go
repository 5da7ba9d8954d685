package catalog

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// Mirror is what the catalog needs of a mirror.Mirror.
type Mirror interface {
	Current() mirror.Generation
}

// Records is what the catalog needs of mirror.Records.
type Records interface {
	RevisionIDs(name string) []string
	Revision(name, id string) (mirror.Record, error)
}

// Objects is what the catalog needs of mirror.Objects.
type Objects interface {
	Open(id manifest.ObjectID) (*os.File, error)
}

// Store keeps which revisions followers asked about, by name and ID. A change is durable
// when SetAsked returns nil. Safe for concurrent use.
type Store interface {
	Asked() (map[string]time.Time, error)
	SetAsked(key string, at, horizon time.Time) error
}

// Config is what New needs; every field is required.
type Config struct {
	Mirror  Mirror
	Records Records
	Objects Objects
	Store   Store
	Warn    func(message string, err error)
	// Live returns when each revision of a manifest first went live, by ID. Other
	// revisions on disk count as never served, unless `current` shows them.
	Live func(name string) map[string]time.Time
	// Left returns the revisions of a manifest from which the operator went back, by ID. No
	// list shows them, also when something newer is served.
	Left func(name string) map[string]bool
	// IsStaged is true for a revision that is staged or quarantined.
	IsStaged func(name, id string) bool
}

// Catalog is safe for concurrent use.
type Catalog struct {
	cfg      Config
	keep     atomic.Int64 // a time.Duration
	keepMax  atomic.Int64 // bytes
	snapshot atomic.Pointer[Snapshot]

	building sync.Mutex // held while a snapshot is made; guards the following
	isBuilt  bool
	leaving  map[string]bool // keys of revisions that are being removed from the disk

	asks   asks
	needed atomic.Pointer[func(*Snapshot) []*Revision]
}

// New returns a catalog that is empty until the first Rebuild. Revisions that followers
// asked about are known at once.
func New(cfg Config, keep time.Duration) *Catalog {
	c := &Catalog{cfg: cfg, leaving: map[string]bool{}}
	c.snapshot.Store(newBuilder().snapshot())
	c.SetKeep(keep)
	c.asks.saving = make(chan struct{}, 1)
	c.asks.of = map[string]*ask{}
	saved, err := cfg.Store.Asked()
	if err != nil {
		cfg.Warn("reading which revisions followers use failed; they may be pruned", err)
	}
	c.asks.restore(saved, keep, time.Now())
	return c
}

// SetKeep changes how long a revision stays on disk after a follower asked about it.
func (c *Catalog) SetKeep(keep time.Duration) { c.keep.Store(int64(keep)) }

// Snapshot returns what may be served now.
func (c *Catalog) Snapshot() *Snapshot { return c.snapshot.Load() }

// Open opens the content of a file. The error is fs.ErrNotExist if it was pruned since
// the snapshot.
func (c *Catalog) Open(f File) (*os.File, error) { return c.cfg.Objects.Open(f.Object()) }

// SetNeeded sets a function that returns revisions which pruning must keep, because some
// followers see no newer one.
func (c *Catalog) SetNeeded(needed func(*Snapshot) []*Revision) { c.needed.Store(&needed) }

// Rebuild makes a new snapshot of what is served and on disk. It is called at start and
// after each swap, by one goroutine that no change of the tree runs beside.
func (c *Catalog) Rebuild() {
	c.building.Lock()
	defer c.building.Unlock()
	c.isBuilt = true
	c.rebuildLocked()
}

// Refresh is Rebuild after a swap or a change of what is staged, if there was a first one:
// a command that only syncs needs no snapshot.
func (c *Catalog) Refresh() {
	c.building.Lock()
	defer c.building.Unlock()
	if c.isBuilt {
		c.rebuildLocked()
	}
}

// rebuildLocked takes revisions over from the snapshot before, and reads the others.
func (c *Catalog) rebuildLocked() {
	before, current, b := c.Snapshot(), c.cfg.Mirror.Current(), newBuilder()
	live := map[string]past{}
	for _, name := range current.Names() {
		live[name] = past{c.cfg.Live(name), c.cfg.Left(name)}
		r := c.revisionOf(current.Records[name], live[name], before)
		b.add(r, true)
		delete(c.leaving, r.Key()) // it came back
	}
	for _, name := range current.Names() {
		served := current.Records[name].ID()
		for _, id := range c.cfg.Records.RevisionIDs(name) {
			_, wasLive := live[name].first[id]
			wasLive = wasLive || c.asks.has(Key(name, id)) // the record of what was live may be kept for a shorter time
			if id == served || !wasLive || c.cfg.IsStaged(name, id) || c.leaving[Key(name, id)] {
				continue
			}
			if r := c.earlier(name, id, live[name], before, b); r != nil {
				b.add(r, false)
			}
		}
	}
	now := b.snapshot()
	c.snapshot.Store(now)
	c.warnOfMixed(before, now)
}

// earlier returns a revision that is no longer served; nil if it is to be left out.
func (c *Catalog) earlier(name, id string, live past, before *Snapshot, b *builder) *Revision {
	if known := before.byKey[Key(name, id)]; known != nil && known.described { // else more may be known by now
		return b.earlier(known.with(live.firstLive(id, known.PublishedAt), live.left[id]))
	}
	record, err := c.cfg.Records.Revision(name, id)
	if err != nil {
		c.cfg.Warn("reading an earlier revision failed; followers cannot take it", err)
		return nil
	}
	if len(b.entries)+len(record.Files) > maxFiles {
		c.cfg.Warn("followers cannot take revision "+id+" of "+name+": the catalog is full", nil)
		return nil
	}
	return b.earlier(c.revisionOf(record, live, before))
}

// maxFiles bounds the memory of a snapshot. What is served is always in it.
const maxFiles = 1_000_000

// revisionOf makes a revision of a record, with the record's files. One that has these already
// stays the same.
func (c *Catalog) revisionOf(record mirror.Record, live past, before *Snapshot) *Revision {
	at, left := live.firstLive(record.ID(), record.PublishedAt), live.left[record.ID()]
	known := before.byKey[Key(record.Manifest, record.ID())]
	if known != nil && known.described == record.Described && known.of != nil && known.of == first(record.Files) {
		next := known.with(at, left)
		if !next.PublishedAt.Equal(record.PublishedAt) {
			next = next.clone()
			next.PublishedAt = record.PublishedAt
		}
		return next
	}
	return &Revision{
		Manifest: record.Manifest, Release: record.Release, ID: record.ID(), Description: record.Description,
		LiveAt: at, PublishedAt: record.PublishedAt, aliases: record.Aliases, isChosen: record.Chosen, isLeft: left, described: record.Described,
		ask: c.asks.get(Key(record.Manifest, record.ID())), files: filesOf(record), of: first(record.Files),
	}
}

// first names the memory of a record's files.
func first(files []mirror.File) *mirror.File {
	if len(files) == 0 {
		return nil
	}
	return &files[0]
}

// past is what is known of the revisions of a manifest that were served.
type past struct {
	first map[string]time.Time
	left  map[string]bool
}

// firstLive is when a revision first went live. Other bytes of the same release have a time of
// their own: rings see them like a new release.
func (p past) firstLive(id string, otherwise time.Time) time.Time {
	if at, known := p.first[id]; known {
		return at
	}
	return otherwise
}

// Key names a revision: the path of its tree below `revisions`.
func Key(name, id string) string { return name + "/" + id }
