package catalog

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"syncd/internal/mirror"
)

// ask is when followers asked about a revision. All snapshots share it.
type ask struct {
	retired atomic.Bool // the revision leaves the disk

	mu    sync.Mutex       // guards what follows
	by    map[string]int64 // the last time by each follower's name, in nanoseconds since 1970
	saved int64            // the last time that the state knows
	saver string           // whose question the state knows
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

// askedKey names a revision and a follower in the state. Those of an earlier version name
// no follower.
func askedKey(revision, follower string) string {
	if follower == "" {
		return revision
	}
	return revision + "\x00" + follower
}

// restore takes over what the state knows. A time in the future counts as now: the clock
// was ahead.
func (a *asks) restore(saved map[string]time.Time, keep time.Duration, now time.Time) {
	for key, at := range saved {
		if at.After(now) {
			at = now
		}
		revision, follower, _ := strings.Cut(key, "\x00")
		entry := a.get(revision)
		entry.by[follower] = min(at.Add(slack(keep)).UnixNano(), now.UnixNano())
		if at.UnixNano() > entry.saved {
			entry.saved, entry.saver = at.UnixNano(), follower
		}
	}
}

func (a *asks) get(key string) *ask {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of[key] == nil {
		a.of[key] = &ask{by: map[string]int64{}}
	}
	return a.of[key]
}

// note notes a question.
func (a *ask) note(follower string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.by[follower] = now.UnixNano()
}

// isSaved is true while the state knows a question that is new enough.
func (a *ask) isSaved(now time.Time, keep time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return now.UnixNano()-a.saved < int64(slack(keep))
}

// has is true for a revision that a follower asked about.
func (a *asks) has(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	entry := a.of[key]
	if entry == nil {
		return false
	}
	entry.mu.Lock()
	defer entry.mu.Unlock()
	return len(entry.by) > 0
}

// Asked notes that a follower asked about a revision, before it is answered. When it
// returns true, the revision stays on disk for the time of Config.Keep, also after a kill,
// unless SetKeepMax or a new release leaves no room for it. False means that it is being
// removed: the answer is that there is no such release.
func (c *Catalog) Asked(ctx context.Context, r *Revision, follower string) bool {
	keep, now := time.Duration(c.keep.Load()), time.Now()
	if keep > 0 {
		r.ask.note(follower, now)
	}
	if r.ask.retired.Load() && c.isGone(r) {
		return false
	}
	if keep <= 0 || r.ask.isSaved(now, keep) {
		return true
	}
	select {
	case c.asks.saving <- struct{}{}:
		defer func() { <-c.asks.saving }()
	case <-ctx.Done():
		return true // nobody waits for the answer
	}
	if !r.ask.isSaved(now, keep) {
		c.save(r, follower, now)
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
func (c *Catalog) save(r *Revision, follower string, now time.Time) {
	if err := c.cfg.Store.SetAsked(askedKey(r.Key(), follower), now, now.Add(-2*time.Duration(c.keep.Load()))); err != nil {
		c.cfg.Warn("saving which revision followers use failed; a restart may prune it", err)
	}
	r.ask.mu.Lock()
	defer r.ask.mu.Unlock()
	r.ask.saved, r.ask.saver = now.UnixNano(), follower
}

// Kept returns the revisions that must stay on disk, by key; those that a ring of followers
// needs, whatever they take. The others take turns: the one that each follower asked about
// last comes before all that are older, so that a follower that asks about everything pushes
// out only its own.
func (c *Catalog) Kept(now time.Time) map[string]mirror.Asked {
	kept := c.asks.kept(time.Duration(c.keep.Load()), now)
	if needed := c.needed.Load(); needed != nil {
		for _, r := range (*needed)(c.Snapshot()) {
			kept[r.Key()] = mirror.Asked{}
		}
	}
	return kept
}

func (a *asks) kept(keep time.Duration, now time.Time) map[string]mirror.Asked {
	type question struct {
		key   string
		until time.Time
	}
	kept, of := map[string]mirror.Asked{}, map[string][]question{}
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, entry := range a.of {
		entry.mu.Lock()
		for follower, at := range entry.by {
			if until := time.Unix(0, at).Add(keep); now.Before(until) {
				of[follower] = append(of[follower], question{key, until})
			}
		}
		entry.mu.Unlock()
	}
	for _, questions := range of {
		slices.SortFunc(questions, func(a, b question) int { return b.until.Compare(a.until) })
		for turn, q := range questions {
			before, found := kept[q.key]
			if !found {
				before.Turn = turn
			}
			if q.until.After(before.Until) {
				before.Until = q.until
			}
			kept[q.key] = mirror.Asked{Until: before.Until, Turn: min(before.Turn, turn)}
		}
	}
	return kept
}

// KeepMax is how many bytes the revisions of Kept may take beside all else: 0 for no limit,
// below 0 for a share of the file system.
func (c *Catalog) KeepMax() int64 { return c.keepMax.Load() }

// SetKeepMax changes it.
func (c *Catalog) SetKeepMax(bytes int64) { c.keepMax.Store(bytes) }

// KeepOnly forgets what followers asked about whose ids were removed. Clients without an id are
// never forgotten.
func (c *Catalog) KeepOnly(ids map[string]string) {
	isKnown := func(follower string) bool {
		_, isNamed := ids[follower]
		return follower == "" || isNamed
	}
	c.asks.mu.Lock()
	defer c.asks.mu.Unlock()
	for _, entry := range c.asks.of {
		entry.mu.Lock()
		maps.DeleteFunc(entry.by, func(follower string, _ int64) bool { return !isKnown(follower) })
		if !isKnown(entry.saver) {
			entry.saved, entry.saver = 0, "" // the state is to know another follower
		}
		entry.mu.Unlock()
	}
}

// Retire tells the catalog which revisions stay on disk, before the others are removed. It
// is false, and changes nothing, if Kept has one of the others that is not known: a follower
// asked about it meanwhile.
func (c *Catalog) Retire(stays func(key string) bool, known map[string]mirror.Asked, now time.Time) bool {
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
		_, asked := kept[r.Key()]
		if _, wasKnown := known[r.Key()]; asked && !wasKnown {
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
