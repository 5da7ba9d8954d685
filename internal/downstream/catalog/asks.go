package catalog

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// ask is when followers asked about a revision. All snapshots share it.
type ask struct {
	at      atomic.Int64 // the last time, in nanoseconds since 1970; 0 for never
	saved   atomic.Int64 // the last time that the state knows
	retired atomic.Bool  // the revision leaves the disk
}

// asks remembers what followers asked about, across restarts.
type asks struct {
	saving chan struct{} // holds a token while the state is written

	mu sync.Mutex // guards of; never held across the disk
	of map[string]*ask
}

// slack is how much later the last question may be than its saved time, because the state is
// not written for each question.
func slack(keep time.Duration) time.Duration { return min(keep/8, time.Hour) }

// restore takes over what the state knows. A time in the future counts as now: the clock
// was ahead.
func (a *asks) restore(saved map[string]time.Time, keep time.Duration, now time.Time) {
	for key, at := range saved {
		if at.After(now) {
			at = now
		}
		entry := a.get(key)
		entry.saved.Store(at.UnixNano())
		entry.at.Store(min(at.Add(slack(keep)).UnixNano(), now.UnixNano()))
	}
}

func (a *asks) get(key string) *ask {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of[key] == nil {
		a.of[key] = &ask{}
	}
	return a.of[key]
}

// has is true for a revision that a follower asked about.
func (a *asks) has(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.of[key] != nil && a.of[key].at.Load() > 0
}

// Asked notes that a follower asked about a revision, before it is answered. When it
// returns true, the revision stays on disk for the time of Config.Keep, also after a kill.
// False means that it is being removed: the answer is that there is no such release.
func (c *Catalog) Asked(ctx context.Context, r *Revision) bool {
	keep, now := time.Duration(c.keep.Load()), time.Now()
	if keep > 0 {
		r.ask.at.Store(now.UnixNano())
	}
	if r.ask.retired.Load() && c.isGone(r) {
		return false
	}
	isFresh := func() bool { return now.UnixNano()-r.ask.saved.Load() < int64(slack(keep)) }
	if keep <= 0 || isFresh() {
		return true
	}
	select {
	case c.asks.saving <- struct{}{}:
		defer func() { <-c.asks.saving }()
	case <-ctx.Done():
		return true // nobody waits for the answer
	}
	if !isFresh() {
		c.save(r, now)
	}
	return true
}

// isGone waits until Retire has decided about a revision.
func (c *Catalog) isGone(r *Revision) bool {
	c.building.Lock()
	defer c.building.Unlock()
	return r.ask.retired.Load()
}

// save writes a question to the state. After an error it is tried again only after slack,
// so that a broken disk does not slow every answer.
func (c *Catalog) save(r *Revision, now time.Time) {
	if err := c.cfg.Store.SetAsked(r.Key(), now, now.Add(-2*time.Duration(c.keep.Load()))); err != nil {
		c.cfg.Warn("saving which revision followers use failed; a restart may prune it", err)
	}
	r.ask.saved.Store(now.UnixNano())
}

// Kept returns until when revisions must stay on disk, by key; the zero time for as long as
// a ring of followers sees no newer one.
func (c *Catalog) Kept(now time.Time) map[string]time.Time {
	kept := c.asks.kept(time.Duration(c.keep.Load()), now)
	if needed := c.needed.Load(); needed != nil {
		for _, r := range (*needed)(c.Snapshot()) {
			kept[r.Key()] = time.Time{}
		}
	}
	return kept
}

func (a *asks) kept(keep time.Duration, now time.Time) map[string]time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := map[string]time.Time{}
	for key, entry := range a.of {
		at := time.Unix(0, entry.at.Load())
		if until := at.Add(keep); entry.at.Load() > 0 && now.Before(until) {
			kept[key] = until
		}
	}
	return kept
}

// Retire tells the catalog which revisions stay on disk, before the others are removed. It
// is false, and changes nothing, if a follower asked about one of the others meanwhile:
// then Kept has it.
func (c *Catalog) Retire(stays func(key string) bool, now time.Time) bool {
	c.building.Lock()
	defer c.building.Unlock()
	snapshot := c.Snapshot()
	var leaving []*Revision
	for key, r := range snapshot.byKey {
		if !stays(key) {
			leaving = append(leaving, r)
		}
	}
	for _, r := range leaving {
		r.ask.retired.Store(true)
	}
	kept := c.asks.kept(time.Duration(c.keep.Load()), now)
	for _, r := range leaving {
		if _, asked := kept[r.Key()]; asked {
			for _, r := range leaving {
				r.ask.retired.Store(false)
			}
			return false
		}
	}
	for _, r := range leaving {
		c.leaving[r.Key()] = true
	}
	if len(leaving) > 0 {
		c.rebuildLocked()
	}
	c.asks.forget(leaving)
	return true
}

// forget drops what is known of revisions that left the disk. If a revision with the same
// content comes later, no question about it is known.
func (a *asks) forget(revisions []*Revision) {
	a.mu.Lock()
	defer a.mu.Unlock()
	gone := map[string]bool{}
	for _, r := range revisions {
		gone[r.Key()] = true
	}
	maps.DeleteFunc(a.of, func(key string, _ *ask) bool { return gone[key] })
}
