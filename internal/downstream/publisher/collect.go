package publisher

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
	"syncd/internal/report"
)

// kept is what the generations in use name.
type kept struct {
	number      int // the present generation
	generations map[int]bool
	records     map[string]bool
	objects     map[manifest.ObjectID]bool
}

// collect deletes what no kept generation names and what is older than the grace period.
// Lists may be stale, so they only say what to look at: the generations are found by
// their numbers, and each candidate is looked at again before it is deleted.
func (p *Publisher) collect(ctx context.Context, dryRun bool) (done report.Collection, err error) {
	k, err := p.inUse(ctx)
	if err != nil || k.number == 0 {
		return done, err
	}
	garbage, err := p.garbage(ctx, k)
	if err != nil {
		return done, err
	}
	var objects, bytes, texts atomic.Int64
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxRequests)
	for _, candidate := range garbage {
		group.Go(func() error {
			size, removed, err := p.removeOld(groupCtx, candidate, dryRun)
			if _, isObject := bucket.ParseObjectName(candidate); isObject && removed {
				objects.Add(1)
				bytes.Add(size)
			} else if removed {
				texts.Add(1)
			}
			return err
		})
	}
	err = group.Wait()
	done = report.Collection{Objects: int(objects.Load()), Bytes: bytes.Load(), Texts: int(texts.Load())}
	if err != nil {
		return done, err
	}
	done.Uploads, err = p.abortUploads(ctx, dryRun)
	return done, err
}

// inUse reads the generations that followers may still read: the present one, and each
// that was present less than the grace period ago.
func (p *Publisher) inUse(ctx context.Context) (kept, error) {
	k := kept{generations: map[int]bool{}, records: map[string]bool{}, objects: map[manifest.ObjectID]bool{}}
	at, err := p.readCurrent(ctx)
	if err != nil || at.Generation == 0 {
		return k, err
	}
	k.number = at.Generation
	for number := at.Generation; number > 0; {
		g, found, err := p.readGeneration(ctx, number, manifest.ObjectID{})
		if errors.Is(err, errNotThere) && number != at.Generation {
			return k, nil // it was deleted before
		}
		if err == nil {
			err = p.keep(ctx, &k, g)
		}
		if err != nil {
			return k, fmt.Errorf("nothing is deleted: %w", err)
		}
		if p.now().Sub(found.written) >= p.cfg.Grace {
			return k, nil // the one before was replaced longer ago than that
		}
		number = g.Previous
	}
	return k, nil
}

// keep adds what a generation names.
func (p *Publisher) keep(ctx context.Context, k *kept, g bucket.Generation) error {
	k.generations[g.Number] = true
	for _, m := range g.Manifests {
		if k.records[m.Record()] {
			continue
		}
		record, err := p.readRecord(ctx, m)
		if err != nil {
			return err
		}
		k.records[m.Record()] = true
		for _, f := range record.Files {
			k.objects[f.Object] = true
		}
	}
	return nil
}

// names is true for what is in use, and for what is not the mirror's.
func (k kept) names(name string) bool {
	if id, ok := bucket.ParseObjectName(name); ok {
		return k.objects[id]
	}
	if number, ok := bucket.ParseGenerationName(name); ok {
		return k.generations[number]
	}
	if bucket.IsRecordName(name) {
		return k.records[name]
	}
	return !bucket.IsProbeName(name)
}

// garbage lists what is not in use and seems to be old.
func (p *Publisher) garbage(ctx context.Context, k kept) ([]string, error) {
	var names []string
	for _, folder := range []string{bucket.Objects, bucket.Records, bucket.Generations, bucket.Probes} {
		err := p.store.list(ctx, folder, func(o listed) {
			if !k.names(o.name) && p.isOld(o.written) {
				names = append(names, o.name)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

func (p *Publisher) isOld(written time.Time) bool { return p.now().Sub(written) >= p.cfg.Grace }

// removeOld deletes a candidate if it is still old: a publisher may have written it again.
func (p *Publisher) removeOld(ctx context.Context, name string, dryRun bool) (size int64, removed bool, err error) {
	found, err := p.store.head(ctx, name)
	if errors.Is(err, errNotThere) || err == nil && !p.isOld(found.written) {
		return 0, false, nil
	}
	if err != nil || dryRun {
		return found.size, err == nil, err
	}
	return found.size, true, p.store.remove(ctx, name)
}

// abortUploads ends old uploads in parts, which take space that no list of objects shows.
func (p *Publisher) abortUploads(ctx context.Context, dryRun bool) (count int, err error) {
	old, err := p.store.unfinished(ctx, bucket.Objects)
	if err != nil {
		return 0, err
	}
	for _, u := range old {
		if !p.isOld(u.Initiated) {
			continue
		}
		if !dryRun {
			err = p.store.do(ctx, "end an unfinished upload", func(ctx context.Context) error {
				return p.store.core.AbortMultipartUpload(ctx, p.store.bucket, u.Key, u.UploadID)
			})
		}
		if err != nil && !errors.Is(err, errNoUpload) {
			return count, err
		}
		count++
	}
	return count, nil
}
