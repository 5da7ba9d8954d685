package syncer

import (
	"context"
	"sync"

	"syncd/internal/mirror"
	"syncd/internal/syncer/source"
)

// describeServed completes the records of what is served, such as that from before other
// hosts were served. It publishes a generation with the same revisions.
func (r *run) describeServed(ctx context.Context) {
	if !r.source.Describes() || ctx.Err() != nil {
		return
	}
	var described []mirror.Record
	current := r.cfg.Mirror.Current().Records
	for _, j := range r.jobs {
		record, served := current[j.target.Name]
		if !served || record.Described || j.isUpdated() {
			continue // the next sync asks again about what this one has asked
		}
		if record, err := r.complete(ctx, j, record); err == nil {
			described = append(described, record)
		}
	}
	if len(described) == 0 || ctx.Err() != nil {
		return
	}
	if err := r.tree.Describe(ctx, described); err != nil && ctx.Err() == nil {
		r.cfg.Log.Warn().Err(err).Msg("keeping the provider's descriptions failed; the next sync asks again")
	}
}

// describeEarlier completes the records of earlier revisions that other hosts may ask
// about, each once while the process runs.
func (r *run) describeEarlier(ctx context.Context) {
	if !r.source.DescribesEarlier() || r.cfg.Followers == nil {
		return
	}
	for _, j := range r.jobs {
		for _, id := range r.cfg.Mirror.RevisionIDs(j.target.Name) {
			key := j.target.Name + "/" + id
			if ctx.Err() != nil || id == r.cfg.Mirror.Current().Records[j.target.Name].ID() || !r.cfg.Shared.described.claim(key) {
				continue
			}
			if err := r.describeRevision(ctx, j, id); err != nil {
				r.cfg.Shared.described.release(key)
			}
		}
	}
}

// describeRevision completes the record of an earlier revision. The error says that the
// next sync must try again.
func (r *run) describeRevision(ctx context.Context, j *job, id string) error {
	record, err := r.cfg.Mirror.Revision(j.target.Name, id)
	if err != nil || record.Described {
		return nil //nolint:nilerr // followers do not see staged or incomplete revisions
	}
	if record, err = r.complete(ctx, j, record); err != nil {
		return err
	}
	if err := r.tree.Change(ctx, func() error { return r.cfg.Mirror.Describe(record) }); err != nil {
		return err
	}
	r.cfg.Followers.Refresh()
	if !record.Described {
		return source.ErrNothingLearned
	}
	return nil
}

// keys is a set of names. Safe for concurrent use.
type keys struct {
	mu  sync.Mutex
	has map[string]bool
}

// claim is true for the first caller with a key.
func (k *keys) claim(key string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.has == nil {
		k.has = map[string]bool{}
	}
	first := !k.has[key]
	k.has[key] = true
	return first
}

// release lets the next caller claim the key again.
func (k *keys) release(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.has, key)
}

// complete asks what a record lacks.
func (r *run) complete(ctx context.Context, j *job, record mirror.Record) (mirror.Record, error) {
	kept, err := r.cfg.Mirror.Revision(record.Manifest, record.ID()) // an earlier generation may have less
	if err != nil {
		kept = mirror.Record{}
	}
	return j.entry.Complete(ctx, record, kept)
}
