package syncer

import (
	"context"
	"slices"

	"syncd/internal/golive/destroyer"
	"syncd/internal/manifest/destruction"
	"syncd/internal/mirror/destroy"
)

// obey destroys what the upstream of this host has destroyed, of the manifests of the sync.
// It then tells the upstream that this host does not hold it any more. The upstream may be
// hostile: package destroy says what its order can reach.
func (r *run) obey(ctx context.Context) {
	for _, j := range r.jobs {
		told := j.state.Destruction
		if told == nil || told.Source != r.cfg.Source || ctx.Err() != nil {
			continue
		}
		by := destroyer.Destroyer{Tree: r.tree}
		orders := slices.DeleteFunc(destroy.Ordered(r.cfg.Mirror, j.target.Name, *told), by.IsWayBack)
		orders = append(orders, r.fragments(j, *told)...)
		for _, o := range orders {
			if _, err := by.Destroy(ctx, o); err != nil {
				r.cfg.Log.Error().Ctx(ctx).Err(err).Str("manifest", o.Manifest).Str("release", string(o.Release)).Str("revision", o.Revision).
					Msg("destroying what the publisher destroyed failed; the next sync tries again")
			}
		}
		if len(orders) > 0 {
			r.confirm(ctx, j)
		}
	}
}

// fragments are releases that a sync began to fetch from the upstream, which has destroyed all
// of them since.
func (r *run) fragments(j *job, told destruction.Told) (orders []destroy.Order) {
	planned, err := r.cfg.Store.Planned()
	if err != nil || !r.sameConfig(j) {
		return nil
	}
	for _, w := range planned[j.target.Name] {
		switch {
		case w.Adopted:
			return nil
		case len(orders) == 0 && w.Release != "" && told.Names(w.Release, "") && r.cfg.Mirror.Current().Records[j.target.Name].Release != w.Release:
			orders = append(orders, destroy.Order{Manifest: j.target.Name, Release: w.Release, Cause: destroy.Publisher})
		}
	}
	return orders
}

// confirm asks for news once more, and so tells what this host holds now.
func (r *run) confirm(ctx context.Context, j *job) {
	q := r.questionOf(j)
	q.Served, q.Staged = r.cfg.Mirror.Current().Records[j.target.Name], r.cfg.Staging.Get(j.target.Name)
	if err := r.source.Entry(q).Confirm(ctx); err != nil && ctx.Err() == nil {
		r.cfg.Log.Warn().Ctx(ctx).Err(err).Str("manifest", j.target.Name).Msg("telling the upstream what was destroyed failed; the next poll tells it")
	}
}
