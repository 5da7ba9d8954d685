package syncer

import (
	"context"
	"maps"
	"slices"
	"time"

	"syncd/internal/fetcher"
	"syncd/internal/inventory"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/space"
	"syncd/internal/store"
)

// pruneSchedule says when pruning may find something to remove. It outlives a sync
// and belongs to the Syncer, whose caller runs one operation at a time.
type pruneSchedule struct {
	next time.Time // zero means after the next publish
}

// request makes pruning due now.
func (s *pruneSchedule) request() { s.next = time.Now() }

func (s *pruneSchedule) isDue() bool { return !s.next.IsZero() && !time.Now().Before(s.next) }

// pruner removes generations, revisions, objects and unfinished downloads that
// nothing keeps, for one sync.
type pruner struct {
	cfg       *Config
	inventory *inventory.Inventory
	schedule  *pruneSchedule
	started   time.Time
	jobs      []*job // the objects of unfinished ones stay
}

func (p *pruner) pruneIfDue(ctx context.Context) {
	if p.schedule.isDue() {
		p.prune(ctx, nil)
	}
}

// prune removes what retention does not keep. For the manifests in displaced, it also
// removes the old revision that a new one will displace. If pruning fails, the next
// sync prunes again.
func (p *pruner) prune(ctx context.Context, displaced map[string]bool) {
	now := time.Now()
	p.schedule.next = now
	keep, partials, err := p.retention(ctx)
	if err == nil {
		keep.Displaced = displaced
		var next time.Time
		if next, err = p.cfg.Mirror.Prune(keep, now); err == nil && !keep.Unknown {
			p.schedule.next, err = next, fetcher.Sweep(p.cfg.Mirror.Partial(), partials)
		}
	}
	if err != nil {
		p.schedule.next = now
		p.cfg.Log.Warn().Err(err).Msg("pruning is incomplete; the next sync tries again")
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
		more, last, err = p.cfg.Mirror.Freeable(keep, time.Now())
	}
	if err != nil {
		p.cfg.Log.Warn().Err(err).Msg("computing the space that pruning would free failed")
	}
	return more, last
}

// retention says what pruning keeps: the configured number of revisions, and the
// contents that unfinished syncs want. Those are in the plans of this sync and, for
// other syncs, in the state. partials are the names of their unfinished downloads.
func (p *pruner) retention(ctx context.Context) (keep mirror.Retention, partials map[string]bool, err error) {
	wanted, err := p.wanted()
	if err != nil {
		return keep, nil, err
	}
	keep = mirror.Retention{Revisions: p.cfg.Retain, For: p.cfg.RetainFor, Objects: map[manifest.ObjectID]bool{}}
	partials = map[string]bool{}
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
	saved, err := p.cfg.Store.Wanted()
	if err != nil {
		return nil, err
	}
	wanted := map[string][]store.Wanted{}
	for _, t := range p.cfg.Targets { // manifests that left the configuration want nothing
		wanted[t.Name] = saved[t.Name]
	}
	for _, j := range p.jobs {
		if len(j.plan.Files) > 0 && j.isUnfinished() {
			wanted[j.target.Name] = j.wanted()
		}
	}
	return wanted, nil
}

// stateIsNew is true while the state has no record of a manifest, perhaps because it
// was lost. Any object may then belong to an unfinished sync of that manifest. After
// the recheck interval such a sync counts as abandoned.
func (p *pruner) stateIsNew(wanted map[string][]store.Wanted) (bool, error) {
	created, err := p.cfg.Store.Created()
	if err != nil || p.started.Sub(created).Abs() >= p.cfg.Recheck {
		return false, err
	}
	states, err := p.cfg.Store.Manifests()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(p.cfg.Targets, func(t Target) bool {
		return states[t.Name].SyncedAt.IsZero() && len(wanted[t.Name]) == 0
	}), nil
}
