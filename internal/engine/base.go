package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"syncd/internal/config"
	"syncd/internal/disk/flock"
	"syncd/internal/disk/fsops"
	"syncd/internal/engine/orders"
	"syncd/internal/golive/probe"
	"syncd/internal/host/clock"
	"syncd/internal/metrics"
	"syncd/internal/mirror"
	"syncd/internal/mirror/lifespan"
	"syncd/internal/mirror/staging"
	"syncd/internal/store"
)

// base is what all parts of an engine share: the data directory, the configuration in
// force and the count of the running work.
type base struct {
	options   Options
	dirLock   *flock.Lock
	store     *store.Store
	mirror    *mirror.Mirror
	staging   *staging.Area
	notes     *probe.Notes
	lifespans *lifespan.Register
	witness   *clock.Witness
	metrics   *metrics.Metrics
	running   *semaphore.Weighted // of maxWork; one for each piece of work
	active    atomic.Pointer[active]
	orders    *orders.Orders
	users     sync.Mutex // guards the users of each active
}

// Config returns the configuration in force, nil before the first.
func (b *base) Config() *config.Config {
	if a := b.active.Load(); a != nil {
		return a.config
	}
	return nil
}

// begin returns the configuration in force for a piece of work, which must end with finish.
func (b *base) begin() *active {
	b.users.Lock()
	defer b.users.Unlock()
	a := b.active.Load()
	a.users++
	return a
}

// replace puts next in force. The connections of the configuration before close with the
// last work that uses them.
func (b *base) replace(next *active) (before *active) {
	b.users.Lock()
	defer b.users.Unlock()
	before = b.active.Swap(next)
	b.closeUnusedLocked(before)
	return before
}

// closeUnusedLocked closes the connections of a configuration that is not in force and that no
// work uses.
func (b *base) closeUnusedLocked(a *active) {
	if a != nil && a.users == 0 && b.active.Load() != a {
		a.close()
	}
}

// checkDataDir is nil while the path of the data directory still leads to the one
// that this process has locked. An unmounted directory leaves an empty folder
// behind, and no second mirror must begin in there.
func (b *base) checkDataDir() error {
	if err := b.dirLock.Check(); err != nil {
		return fmt.Errorf("data_dir %s vanished or was replaced while syncd was running: put it back, or restart syncd: %w", b.mirror.Dir(), err)
	}
	return nil
}

// checkWritable is nil while files can be made by the path of the data directory. A
// read-only mount over it does not change the directory that this process holds open.
func (b *base) checkWritable() error {
	dir := b.mirror.Dir()
	if err := fsops.CheckWritable(dir); err != nil {
		return openError(&fs.PathError{Op: "write to", Path: dir, Err: err})
	}
	return nil
}

// mayChange is nil while the data directory is there and can be changed.
func (b *base) mayChange() error { return errors.Join(b.checkDataDir(), b.checkWritable()) }

// intact is nil when readers find the served generation in its place.
func (b *base) intact() error {
	if err := b.checkDataDir(); err != nil {
		return err
	}
	return b.mirror.Generations.Intact()
}

// usable is nil while nothing below the data directory was taken away that this process holds
// open. Until it restarts, no sync works without that, and readers notice nothing.
func (b *base) usable() error {
	return cmp.Or(b.checkDataDir(), b.mirror.Objects.InPlace())
}

// maxWork is more work than can run at once.
const maxWork = math.MaxInt64

// work runs f, for which Close waits. It refuses while the data directory is gone, and
// works again once it is back.
func (b *base) work(ctx context.Context, f func() error) error {
	if err := b.running.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	defer b.running.Release(1)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := b.mayChange(); err != nil {
		return err
	}
	return f()
}
