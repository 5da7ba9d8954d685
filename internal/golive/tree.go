package golive

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"syncd/internal/disk/durable"
	"syncd/internal/golive/exporter"
	"syncd/internal/golive/gate"
	"syncd/internal/golive/probe"
	"syncd/internal/golive/room"
	"syncd/internal/golive/rows"
	"syncd/internal/hooks/outbox"
	"syncd/internal/manifest"
	"syncd/internal/manifest/expiry"
	"syncd/internal/manifest/layout"
	"syncd/internal/metrics"
	"syncd/internal/mirror"
	"syncd/internal/mirror/audit"
	"syncd/internal/mirror/destroy"
	"syncd/internal/mirror/export"
	"syncd/internal/mirror/inventory"
	"syncd/internal/mirror/lifespan"
	"syncd/internal/mirror/staging"
	"syncd/internal/store"
)

// Followers are other hosts that take the data from this one. Safe for concurrent use.
type Followers interface {
	room.Followers
	// Refresh is called when more is known of an earlier revision.
	Refresh()
}

// Running is what runs beside changes of the tree. Safe for concurrent use.
type Running interface {
	room.Keeper
	// Abandon ends the work that fetches a release, and waits until nothing writes the given
	// contents any more, unless other work wants them.
	Abandon(ctx context.Context, name string, release manifest.Release, contents []manifest.Digest) error
}

// Config is what New needs; every field is required unless it says so.
type Config struct {
	Mirror  *mirror.Mirror // recovered, and locked by this process
	Staging *staging.Area  // of Mirror
	Store   *store.Store
	Outbox  *outbox.Outbox // of Store
	Probes  *probe.Notes   // of Mirror; nil if nothing is probed
	Metrics *metrics.Metrics
	Log     zerolog.Logger
	Version string // of syncd, for records

	Lifespans *lifespan.Register    // of Mirror
	Present   func() expiry.Present // what the clock and the provider say; safe for concurrent use
	Audit     *audit.Log            // of what was served when; nil for none

	Source      string   // base URL as records show it
	Sources     []string // of all sources of a list, in the same form
	Algorithm   manifest.Algorithm
	Targets     Targets
	Groups      Groups
	Views       []ViewTarget
	Exports     []export.Target
	Access      mirror.Access       // of all that readers see
	DropRemoved bool                // what left the configuration goes at once
	Followers   Followers           // nil if this host serves no others
	Patches     Patches             // nil for none
	Redact      func(string) string // removes the Customer ID from the output of a gate

	Transfers int // large files at once
	Retain    int
	RetainFor time.Duration
	Recheck   time.Duration // between checks of the digests of an unchanged release
}

// Patches are what other hosts may take in the place of whole contents. Safe for concurrent use.
type Patches interface {
	room.Patches
	// Destroy removes those that were made of contents, durably, and counts them.
	Destroy(contents []manifest.ObjectID) (removed int, err error)
}

// Directory is what all Trees of a data directory share. It outlives them: after a reload,
// syncs by the earlier configuration still run beside those by the new one. Safe for
// concurrent use.
type Directory struct {
	turn    chan struct{} // holds one token while nothing changes the tree
	check   func() error  // fails when the data directory must not be changed
	newest  atomic.Pointer[Tree]
	running Running
	room    *room.Room
	docket  *gate.Docket
	rows    *rows.Docket
	probing probe.Docket
	folders *exporter.Folders
}

// NewDirectory returns the Directory of a data directory. check is called before each
// change; an error prevents it.
func NewDirectory(check func() error, running Running) *Directory {
	d := &Directory{turn: make(chan struct{}, 1), check: check, running: running, room: room.New(running), docket: gate.NewDocket(), rows: rows.NewDocket(), folders: exporter.NewFolders()}
	d.turn <- struct{}{}
	return d
}

// Change runs work that changes the tree, or that must not overlap with such work. It
// waits for the turn, so that one such work runs at a time. Downloads never run in it,
// which keeps the wait short.
func (d *Directory) Change(ctx context.Context, work func() error) error {
	select {
	case <-d.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { d.turn <- struct{}{} }()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := d.check(); err != nil {
		return err
	}
	return work()
}

// Rows returns what compares the rows of revisions.
func (d *Directory) Rows() *rows.Docket { return d.rows }

// Newest returns the Tree of the configuration in force.
func (d *Directory) Newest() *Tree { return d.newest.Load() }

// Probing returns the watches that ask consumers.
func (d *Directory) Probing() *probe.Docket { return &d.probing }

// Running returns what runs beside changes of the tree.
func (d *Directory) Running() Running { return d.running }

// Room returns what decides about the space of the directory.
func (d *Directory) Room() *room.Room { return d.room }

// Folders returns the exported folders of the directory.
func (d *Directory) Folders() *exporter.Folders { return d.folders }

// PruneIfDue removes what retention does not keep, if there may be something. At the
// context's end the next sync prunes.
func (d *Directory) PruneIfDue(ctx context.Context) {
	if !d.room.IsPruneDue() {
		return
	}
	_ = d.Change(ctx, func() error {
		d.room.Prune(ctx, nil, 0)
		return nil
	})
}

// Tree is what is served, as one configuration wants it. Safe for concurrent use.
type Tree struct {
	Config
	*Directory

	Inventory *inventory.Inventory // of Mirror
	Destroyed *destroy.Ledger      // of Mirror
}

// New returns the Tree of a configuration, which becomes the newest of its directory.
func New(cfg Config, d *Directory) *Tree {
	t := &Tree{Config: cfg, Directory: d, Inventory: inventory.New(inventory.Config{
		Mirror: cfg.Mirror, Store: cfg.Store, Algorithm: cfg.Algorithm, Log: cfg.Log, Damaged: cfg.Metrics.VerifyFailed,
	}), Destroyed: destroy.NewLedger(cfg.Mirror.Root(), cfg.Disk())}
	d.newest.Store(t)
	d.probing.Overtake() // their probes may have changed
	d.room.Configure(t.RoomConfig())
	return t
}

// From returns the tree of a sync from another source than the configured one. Everything
// else is the same.
func (t *Tree) From(source string) *Tree {
	other := *t
	other.Source = source
	return &other
}

// Disk makes changes of the data directory outside of Mirror.
func (cfg Config) Disk() *durable.Disk {
	return &durable.Disk{Warn: func(text string) { cfg.Log.Warn().Msg(text) }}
}

// RoomConfig is what the configuration says about the disk.
func (t *Tree) RoomConfig() room.Config {
	cfg := room.Config{
		Mirror: t.Mirror, Store: t.Store, Staging: t.Staging, Lifespans: t.Lifespans, Inventory: t.Inventory, Log: t.Log,
		Back: func() []mirror.Record { return WaysBack(t) }, Manifests: t.Targets.Names(), Transfers: t.Transfers, Retain: t.Retain, RetainFor: t.RetainFor, Recheck: t.Recheck,
	}
	if t.Followers != nil { // a nil Followers in the other interface would not be nil
		cfg.Followers = t.Followers
	}
	if t.Patches != nil {
		cfg.Patches = t.Patches
	}
	for _, v := range t.Views {
		cfg.Views = append(cfg.Views, layout.View{Name: v.View.Name, Manifests: v.View.Manifests, HashFiles: v.View.HashFiles})
	}
	return cfg
}

// Exporter returns what makes the configured folders follow what is served.
func (t *Tree) Exporter() exporter.Exporter {
	return exporter.Exporter{Folders: t.folders, Targets: t.Exports, Mirror: t.Mirror, Metrics: t.Metrics, Log: t.Log}
}

// Refresh compares the mirror with the disk, and the permissions with the newest
// configuration.
func (t *Tree) Refresh(ctx context.Context) error { return t.Change(ctx, t.RefreshLocked) }

// RefreshLocked is Refresh for a caller that has the turn.
func (t *Tree) RefreshLocked() error {
	if err := t.Mirror.Refresh(); err != nil {
		return err
	}
	return t.Mirror.Grant(t.Newest().Access)
}
