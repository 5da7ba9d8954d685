package syncer

import (
	"context"
	"errors"
	"slices"
	"sync"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// describeServed completes the records of what is served, such as that from before other
// hosts were served. It publishes a generation with the same revisions.
func (r *run) describeServed(ctx context.Context) {
	if !r.mayDescribe() || ctx.Err() != nil {
		return
	}
	learn := r.describeRecord
	if r.cfg.Bucket != nil {
		learn = r.describeByBucket
	}
	var described []mirror.Record
	current := r.cfg.Mirror.Current().Records
	for _, j := range r.jobs {
		record, served := current[j.target.Name]
		if !served || record.Described || j.isUpdated() {
			continue // the next sync asks again about what this one has asked
		}
		if record, err := learn(ctx, j, record); err == nil {
			described = append(described, record)
		}
	}
	if len(described) == 0 || ctx.Err() != nil {
		return
	}
	err := r.cfg.Shared.change(ctx, func() error {
		_, err := r.cfg.Mirror.Publish(ctx, mirror.Change{Described: described})
		r.cfg.Shared.room.RequestPrune()
		return err
	})
	if err != nil && ctx.Err() == nil {
		r.cfg.Log.Warn().Err(err).Msg("keeping the provider's descriptions failed; the next sync asks again")
	}
}

// describeByBucket takes what the bucket's record has by now: its publisher may have
// published the revision before it was told everything.
func (r *run) describeByBucket(ctx context.Context, j *job, record mirror.Record) (mirror.Record, error) {
	if !j.offer.Described || record.ID() != j.offer.id() {
		return record, errNothingLearned
	}
	defer j.share.Release()
	files, err := r.provider.record(ctx, j)
	if err != nil {
		return record, err
	}
	told := &telling{complete: true}
	for _, f := range files {
		told.take(f)
	}
	record.Files = slices.Clone(record.Files)
	told.fill(&record)
	return record, nil
}

// describeEarlier completes the records of earlier revisions that other hosts may ask
// about, each once while the process runs.
func (r *run) describeEarlier(ctx context.Context) {
	if !r.describes() || r.cfg.Followers == nil {
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
		return nil //nolint:nilerr // it is staged, or not whole: nobody can ask about it
	}
	if record, err = r.describeRecord(ctx, j, record); err != nil {
		return err
	}
	if err := r.cfg.Shared.change(ctx, func() error { return r.cfg.Mirror.Describe(record) }); err != nil {
		return err
	}
	r.cfg.Followers.Refresh()
	if !record.Described {
		return errNothingLearned
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

// describeRecord asks what a record lacks.
func (r *run) describeRecord(ctx context.Context, j *job, record mirror.Record) (mirror.Record, error) {
	before := record
	record.Files = slices.Clone(record.Files)
	of := release{target: j.target, name: record.Release}
	if len(j.target.Files) == 0 {
		links, list, err := r.listOf(ctx, j.target.Name, record.Release, j.share)
		if err != nil {
			return record, err
		}
		of.links = links
		placeInList(record.Files, list)
	}
	for _, f := range record.Files {
		if ref, err := manifest.ParseReference(f.Reference); err == nil {
			of.files = append(of.files, manifest.File{Reference: ref, Path: f.Path, Expected: f.Expected})
		}
	}
	told := &telling{}
	told.reuse(of.files, before)
	if kept, err := r.cfg.Mirror.Revision(record.Manifest, record.ID()); err == nil { // an earlier generation may have less
		told.reuse(of.files, kept)
	}
	if err := r.learn(ctx, told, of, j.share); err != nil {
		return record, err
	}
	told.fill(&record)
	record.Chosen = len(j.target.Files) > 0
	if !told.complete && slices.Equal(record.Files, before.Files) {
		return record, errNothingLearned
	}
	return record, nil
}

var errNothingLearned = errors.New("the provider told nothing new")

// placeInList notes the positions of files in the provider's list.
func placeInList(files []mirror.File, list []manifest.File) {
	positions := make(map[string]manifest.File, len(list))
	for _, f := range list {
		positions[f.Reference.String()] = f
	}
	for i := range files {
		if f, found := positions[files[i].Reference]; found {
			files[i].Position, files[i].Slash = f.Position, f.Slash
		}
	}
}
