package syncer

import (
	"context"
	"maps"
	"slices"
	"time"

	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/store"
)

// prune removes what nothing keeps, when there may be something.
func (r *run) prune(ctx context.Context) {
	if now := time.Now(); r.pruneAt.IsZero() || now.Before(r.pruneAt) {
		return
	}
	r.pruneNow(ctx, nil)
}

// pruneNow also takes what the revisions about to be published displace, of the
// manifests named in displaced. What it could not finish the next sync does.
func (r *run) pruneNow(ctx context.Context, displaced map[string]bool) {
	now := time.Now()
	r.pruneAt = now
	keep, partials, err := r.retention(ctx)
	if err == nil {
		keep.Displaced = displaced
		var next time.Time
		if next, err = r.Mirror.Prune(keep, now); err == nil && !keep.Unknown {
			r.pruneAt, err = next, fetcher.Sweep(r.Mirror.Partial(), partials)
		}
	}
	if err != nil {
		r.pruneAt = now
		r.Log.Warn().Err(err).Msg("pruning left something behind: tried again at the next sync")
	}
}

// retention is what stays: as configured, and what unfinished syncs of configured
// manifests want, as the plans of this sync and the state have it. partials are
// the names of their unfinished downloads.
func (r *run) retention(ctx context.Context) (keep mirror.Retention, partials map[string]bool, err error) {
	wanted, err := r.wantedNow()
	if err != nil {
		return keep, nil, err
	}
	keep = mirror.Retention{Revisions: r.Retain, For: r.RetainFor, Objects: map[manifest.ObjectID]bool{}}
	partials = map[string]bool{}
	unnamed := map[manifest.Algorithm][]manifest.Digest{}
	for _, p := range slices.Concat(slices.Collect(maps.Values(wanted))...) {
		id, isID := p.Expected.ObjectID()
		switch {
		case p.Expected.IsZero():
			continue
		case !p.Object.IsZero():
			keep.Objects[p.Object] = true
		case isID:
			keep.Objects[id] = true
		default:
			unnamed[p.Expected.Algorithm] = append(unnamed[p.Expected.Algorithm], p.Expected)
		}
		partials[fetcher.Name(p.Expected)] = true
	}
	for algorithm, digests := range unnamed {
		if err := r.holdUnnamed(ctx, keep.Objects, algorithm, digests); err != nil {
			return keep, nil, err
		}
	}
	keep.Unknown, err = r.stateIsNew(wanted)
	return keep, partials, err
}

// wantedNow is what unfinished syncs want, by manifest.
func (r *run) wantedNow() (map[string][]store.Wanted, error) {
	stored, err := r.Store.Wanted()
	if err != nil {
		return nil, err
	}
	wanted := map[string][]store.Wanted{}
	for _, t := range r.Targets { // what others want has left with them
		wanted[t.Name] = stored[t.Name]
	}
	for _, j := range r.jobs {
		if len(j.plan.Files) > 0 && j.wants() {
			wanted[j.target.Name] = j.wanted()
		}
	}
	return wanted, nil
}

// holdUnnamed adds the objects with certain digests, of which a sync that was
// killed could not say whether they are there and under which name.
func (r *run) holdUnnamed(ctx context.Context, objects map[manifest.ObjectID]bool, algorithm manifest.Algorithm, digests []manifest.Digest) error {
	index, err := r.indexObjects(ctx, algorithm)
	for _, digest := range digests {
		if id, found := index[digest]; found {
			objects[id] = true
		}
	}
	return err
}

// stateIsNew is true while the state says nothing yet of a manifest and may have
// been lost: then any object may be one that this manifest's unfinished sync has
// proven. After the recheck interval it will not be heard of any more.
func (r *run) stateIsNew(wanted map[string][]store.Wanted) (bool, error) {
	created, err := r.Store.Created()
	if err != nil || r.started.Sub(created).Abs() >= r.Recheck {
		return false, err
	}
	states, err := r.Store.Manifests()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(r.Targets, func(t Target) bool {
		return states[t.Name].SyncedAt.IsZero() && len(wanted[t.Name]) == 0
	}), nil
}
