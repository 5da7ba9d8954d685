package room

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/store"
)

// Prune removes generations, revisions, objects and unfinished downloads that retention
// does not keep. For the manifests in displaced, it also removes the old revision that a
// new one will displace, and so many of the revisions that followers use as yield says. If
// pruning fails, or a repair reads the published files, the next
// sync prunes again. The caller has the turn.
func (r *Room) Prune(ctx context.Context, displaced map[string]bool, yield int) {
	now := time.Now()
	r.setDue(now)
	if r.isRead() {
		return
	}
	keep, partials, err := r.retention(ctx)
	if err == nil {
		keep.Displaced, keep.Yield = displaced, yield
		if followers := r.cfg().Followers; followers != nil {
			keep.Retire = func(stays func(string) bool) bool { return followers.Retire(stays, keep.Asked, now) }
		}
		var next time.Time
		if next, err = r.cfg().Mirror.Prune(keep, now); err == nil && !keep.Unknown {
			if err = fetcher.Sweep(r.cfg().Mirror.Objects.Partial(), partials); err == nil {
				r.settle(now, next)
			}
		}
	}
	if err != nil {
		r.cfg().Log.Warn().Ctx(ctx).Err(err).Msg("pruning is incomplete; the next sync tries again")
	}
}

// errAsked says that a follower asked for other revisions while pruning was prepared.
var errAsked = errors.New("a follower asked for a revision meanwhile")

// PruneAll removes what nothing keeps, also what a sync may want of which the state knows
// nothing, and while a repair reads. Followers do not keep the revision with the given key.
// The caller has the turn.
func (r *Room) PruneAll(ctx context.Context, destroyed string) (err error) {
	for range 10 {
		if err = r.pruneAll(ctx, destroyed); !errors.Is(err, errAsked) {
			break
		}
	}
	return err
}

func (r *Room) pruneAll(ctx context.Context, destroyed string) error {
	now := time.Now()
	r.setDue(now)
	keep, partials, err := r.retention(ctx)
	if err != nil {
		return err
	}
	asked, retired := keep.Asked, true
	keep.Asked, keep.Unknown = maps.Clone(asked), false
	delete(keep.Asked, destroyed)
	if followers := r.cfg().Followers; followers != nil {
		keep.Retire = func(stays func(string) bool) bool {
			retired = followers.Retire(stays, asked, now)
			return retired
		}
	}
	next, err := r.cfg().Mirror.Prune(keep, now)
	if err == nil && !retired {
		return errAsked
	}
	if err = errors.Join(err, fetcher.Sweep(r.cfg().Mirror.Objects.Partial(), partials)); err == nil {
		r.settle(now, next)
	}
	return err
}

// freeable returns what pruning would free. change edits the retention first. Nothing on
// disk is changed.
func (r *Room) freeable(ctx context.Context, change func(*mirror.Retention)) (freed mirror.Freed) {
	keep, _, err := r.retention(ctx)
	change(&keep)
	if err == nil {
		freed, err = r.cfg().Mirror.Freeable(keep, time.Now())
	}
	if err != nil {
		r.cfg().Log.Warn().Ctx(ctx).Err(err).Msg("finding out how much space pruning would free failed")
	}
	return freed
}

// retention says what pruning keeps: the configured number of revisions, and the
// contents that unfinished syncs want. Those are in the plans of running syncs and, for
// ended ones, in the state. partials are the names of their unfinished downloads.
func (r *Room) retention(ctx context.Context) (keep mirror.Retention, partials map[string]bool, err error) {
	planned, partials, err := r.planned()
	if err != nil {
		return keep, nil, err
	}
	keep = mirror.Retention{Revisions: r.cfg().Retain, For: r.cfg().RetainFor, Objects: map[manifest.ObjectID]bool{}}
	for name, facts := range r.cfg().Lifespans.All() {
		if _, isServed := r.cfg().Mirror.Current().Records[name]; facts.Withdrawn != nil && !isServed {
			keep.Withdrawn = append(keep.Withdrawn, name)
		}
	}
	var unnamed []manifest.Digest // a killed sync could not save their objects
	for _, w := range slices.Concat(slices.Collect(maps.Values(planned))...) {
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
	if followers := r.cfg().Followers; followers != nil {
		keep.Asked = followers.Kept(time.Now())
		if keep.AskedBytes, err = r.keepMax(followers); err != nil {
			return keep, nil, err
		}
	}
	if err := r.cfg().Staging.Retain(&keep); err != nil {
		return keep, nil, err
	}
	keep.Staged = append(keep.Staged, r.cfg().Back()...)
	objects, err := r.cfg().Inventory.Identify(ctx, unnamed)
	if err != nil {
		return keep, nil, err
	}
	for _, id := range objects {
		keep.Objects[id] = true
	}
	keep.Unknown, err = r.stateIsNew(planned)
	return keep, partials, err
}

func (r *Room) keepMax(followers Followers) (int64, error) {
	most := followers.KeepMax()
	if most >= 0 {
		return most, nil
	}
	volume, err := r.cfg().Mirror.Volume()
	return max(volume/10, 1), err
}

// planned lists the contents that unfinished syncs want, by manifest, and the unfinished
// downloads that stay for other work.
func (r *Room) planned() (planned map[string][]store.Planned, partials map[string]bool, err error) {
	saved, err := r.cfg().Store.Planned()
	if err != nil {
		return nil, nil, err
	}
	planned = map[string][]store.Planned{}
	for _, name := range r.cfg().Manifests {
		planned[name] = saved[name]
	}
	return planned, r.keeper.Planned(planned), nil
}

// stateIsNew is true while the state has no record of a manifest, perhaps because it
// was lost. Any object may then belong to an unfinished sync of that manifest. After
// the recheck interval such a sync counts as abandoned.
func (r *Room) stateIsNew(planned map[string][]store.Planned) (bool, error) {
	created, err := r.cfg().Store.Created()
	if err != nil || time.Since(created).Abs() >= r.cfg().Recheck {
		return false, err
	}
	states, err := r.cfg().Store.Manifests()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(r.cfg().Manifests, func(name string) bool {
		return states[name].SyncedAt.IsZero() && len(planned[name]) == 0
	}), nil
}
