package syncer

import (
	"context"
	"sync"

	"syncd/internal/mirror"
	"syncd/internal/syncer/source"
)

// describer completes the records of what was published before it could be described.
type describer struct{ *run }

// completeServed completes the records of what is served, such as that from before other
// hosts were served. It publishes a generation with the same revisions.
func (d describer) completeServed(ctx context.Context) {
	if !d.source.Describes() || ctx.Err() != nil {
		return
	}
	var described []mirror.Record
	current := d.cfg.Mirror.Current().Records
	for _, j := range d.jobs {
		record, served := current[j.target.Name]
		if !served || record.Described || j.isUpdated() {
			continue // the next sync asks again about what this one has asked
		}
		if record, err := d.complete(ctx, j, record); err == nil {
			described = append(described, record)
		}
	}
	if len(described) == 0 || ctx.Err() != nil {
		return
	}
	if err := d.tree.Describe(ctx, described); err != nil && ctx.Err() == nil {
		d.cfg.Log.Warn().Err(err).Msg("keeping the provider's descriptions failed; the next sync asks again")
	}
}

// completeEarlier completes the records of earlier revisions that other hosts may ask
// about, each once while the process runs.
func (d describer) completeEarlier(ctx context.Context) {
	if !d.source.DescribesEarlier() || d.cfg.Followers == nil {
		return
	}
	for _, j := range d.jobs {
		for _, id := range d.cfg.Mirror.Records.RevisionIDs(j.target.Name) {
			key := j.target.Name + "/" + id
			if ctx.Err() != nil || id == d.cfg.Mirror.Current().Records[j.target.Name].ID() || !d.cfg.Shared.described.add(key) {
				continue
			}
			if err := d.completeRevision(ctx, j, id); err != nil {
				d.cfg.Shared.described.remove(key)
			}
		}
	}
}

// completeRevision completes the record of an earlier revision. The error says that the
// next sync must try again.
func (d describer) completeRevision(ctx context.Context, j *job, id string) error {
	record, err := d.cfg.Mirror.Records.Revision(j.target.Name, id)
	if err != nil || record.Described {
		return nil //nolint:nilerr // followers do not see staged or incomplete revisions
	}
	if record, err = d.complete(ctx, j, record); err != nil {
		return err
	}
	if err := d.tree.Change(ctx, func() error { return d.cfg.Mirror.Records.Describe(record) }); err != nil {
		return err
	}
	d.cfg.Followers.Refresh()
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

// add is true for the first caller with a key.
func (k *keys) add(key string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.has == nil {
		k.has = map[string]bool{}
	}
	first := !k.has[key]
	k.has[key] = true
	return first
}

// remove lets the next caller claim the key again.
func (k *keys) remove(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.has, key)
}

// complete asks what a record lacks.
func (d describer) complete(ctx context.Context, j *job, record mirror.Record) (mirror.Record, error) {
	kept, err := d.cfg.Mirror.Records.Revision(record.Manifest, record.ID()) // an earlier generation may have less
	if err != nil {
		kept = mirror.Record{}
	}
	return j.entry.Complete(ctx, record, kept)
}
