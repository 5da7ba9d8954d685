package syncer

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"syncd/internal/disk/space"
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/inventory"
	"syncd/internal/store"
)

// pruneSchedule says when pruning may find something to remove. Safe for concurrent
// use.
type pruneSchedule struct {
	mu   sync.Mutex
	next time.Time // zero means after the next publish
}

// request makes pruning due now.
func (s *pruneSchedule) request() { s.set(time.Now()) }

func (s *pruneSchedule) set(next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = next
}

// settle sets the next time after pruning, unless it was requested again since it
// began at began.
func (s *pruneSchedule) settle(began, next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == began {
		s.next = next
	}
}

func (s *pruneSchedule) isDue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.next.IsZero() && !time.Now().Before(s.next)
}

// pruner removes generations, revisions, objects and unfinished downloads that
// nothing keeps, for one sync and by the newest configuration.
type pruner struct {
	shared    *Shared
	inventory *inventory.Inventory
	started   time.Time
}

func (p *pruner) cfg() *Config { return p.shared.newest.Load() }

func (p *pruner) pruneIfDue(ctx context.Context) {
	if !p.shared.pruning.isDue() {
		return
	}
	_ = p.shared.change(ctx, func() error { // at the context's end the next sync prunes
		p.prune(ctx, nil)
		return nil
	})
}

// prune removes what retention does not keep. For the manifests in displaced, it also
// removes the old revision that a new one will displace. If pruning fails, or a repair
// reads the published files, the next sync prunes again. The caller has the turn.
func (p *pruner) prune(ctx context.Context, displaced map[string]bool) {
	now := time.Now()
	p.shared.pruning.set(now)
	if p.shared.isVerifying() {
		return
	}
	keep, partials, err := p.retention(ctx)
	if err == nil {
		keep.Displaced = displaced
		if followers := p.cfg().Followers; followers != nil {
			keep.Retire = func(stays func(string) bool) bool { return followers.Retire(stays, now) }
		}
		var next time.Time
		if next, err = p.cfg().Mirror.Prune(keep, now); err == nil && !keep.Unknown {
			if err = fetcher.Sweep(p.cfg().Mirror.Partial(), partials); err == nil {
				p.shared.pruning.settle(now, next)
			}
		}
	}
	if err != nil {
		p.cfg().Log.Warn().Err(err).Msg("pruning is incomplete; the next sync tries again")
	}
}

// freeable returns the space that pruning would free, and when the last generation
// that waits for the end of `retain_for` can be pruned. change, which may be nil,
// edits the retention first. Nothing on disk is changed.
func (p *pruner) freeable(ctx context.Context, displaced map[string]bool, change func(*mirror.Retention)) (more space.Amount, last time.Time) {
	keep, _, err := p.retention(ctx)
	keep.Displaced = displaced
	if change != nil {
		change(&keep)
	}
	if err == nil {
		more, last, err = p.cfg().Mirror.Freeable(keep, time.Now())
	}
	if err != nil {
		p.cfg().Log.Warn().Err(err).Msg("finding out how much space pruning would free failed")
	}
	return more, last
}

// retention says what pruning keeps: the configured number of revisions, and the
// contents that unfinished syncs want. Those are in the plans of running syncs and, for
// ended ones, in the state. partials are the names of their unfinished downloads.
func (p *pruner) retention(ctx context.Context) (keep mirror.Retention, partials map[string]bool, err error) {
	wanted, err := p.wanted()
	if err != nil {
		return keep, nil, err
	}
	keep = mirror.Retention{Revisions: p.cfg().Retain, For: p.cfg().RetainFor, Objects: map[manifest.ObjectID]bool{}}
	partials = p.shared.adopting.partials()
	var unnamed []manifest.Digest // a killed sync could not save their objects
	for _, w := range slices.Concat(slices.Collect(maps.Values(wanted))...) {
		if w.Expected.IsZero() {
			continue
		}
		id, named := w.Expected.ObjectID()
		switch {
		case !w.Object.IsZero():
			keep.Objects[w.Object] = true
		case named:
			keep.Objects[id] = true
		default:
			unnamed = append(unnamed, w.Expected)
		}
		partials[fetcher.Name(w.Expected)] = true
	}
	if followers := p.cfg().Followers; followers != nil {
		keep.Asked = followers.Kept(time.Now())
	}
	if err := p.cfg().Staging.Retain(&keep); err != nil {
		return keep, nil, err
	}
	objects, err := p.inventory.Identify(ctx, unnamed)
	if err != nil {
		return keep, nil, err
	}
	for _, id := range objects {
		keep.Objects[id] = true
	}
	keep.Unknown, err = p.stateIsNew(wanted)
	return keep, partials, err
}

// wanted lists the contents that unfinished syncs want, by manifest.
func (p *pruner) wanted() (map[string][]store.Wanted, error) {
	saved, err := p.cfg().Store.Wanted()
	if err != nil {
		return nil, err
	}
	wanted := map[string][]store.Wanted{}
	for _, t := range p.cfg().Targets { // manifests that left the configuration want nothing
		wanted[t.Name] = saved[t.Name]
	}
	p.shared.addWanted(wanted)
	return wanted, nil
}

// stateIsNew is true while the state has no record of a manifest, perhaps because it
// was lost. Any object may then belong to an unfinished sync of that manifest. After
// the recheck interval such a sync counts as abandoned.
func (p *pruner) stateIsNew(wanted map[string][]store.Wanted) (bool, error) {
	created, err := p.cfg().Store.Created()
	if err != nil || p.started.Sub(created).Abs() >= p.cfg().Recheck {
		return false, err
	}
	states, err := p.cfg().Store.Manifests()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(p.cfg().Targets, func(t Target) bool {
		return states[t.Name].SyncedAt.IsZero() && len(wanted[t.Name]) == 0
	}), nil
}
