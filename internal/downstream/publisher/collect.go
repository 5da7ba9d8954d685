package publisher

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher/contents"
	"syncd/internal/downstream/publisher/election"
	"syncd/internal/downstream/publisher/texts"
	"syncd/internal/manifest"
	"syncd/internal/report"
)

// kept is what the generations in use name.
type kept struct {
	number      int // the present generation
	generations map[int]bool
	records     map[string]bool
	objects     map[uint64]struct{} // and packs; beginnings of their digests: two that are equal keep garbage
	unsigned    error               // why something stays that the present generation says was destroyed; nil for nothing

	stands           texts.ID             // the present generation
	destroyed        map[uint64]time.Time // when a publisher destroyed an object or a pack; those in use stay
	destroyedRecords map[string]time.Time // by name
}

// Limits of a collection's memory. A bucket with more in use is not collected.
const (
	maxKeptObjects = 4 << 20
	maxKeptTexts   = 200_000
	maxCandidates  = 10_000 // that are looked at before the list goes on
)

// collectAgain is how long after one that failed the next collection begins.
const collectAgain = time.Hour

// tidy collects garbage after a publication, as a job of its own beside the publications
// that follow. It does so if garbage is new, or if the last collection failed. A failed
// collection fails no publication, because followers can use what was published.
func (p *Publisher) tidy(ctx context.Context, req Request, done report.Upload) (report.Upload, error) {
	due := p.collectAt.Load()
	if !req.Collect && done.Result != report.Uploaded && (due == 0 || time.Now().Unix() < due) && !p.owesDestruction() {
		return done, nil
	}
	select {
	case p.collecting <- struct{}{}:
	default:
		if !req.Collect {
			return done, nil // one runs
		}
		select {
		case p.collecting <- struct{}{}:
		case <-ctx.Done():
			return done, context.Cause(ctx)
		}
	}
	defer func() { <-p.collecting }()
	collected, err := p.collectWithin(ctx, req.DryRun)
	if err != nil && !req.Collect && ctx.Err() == nil && !errors.Is(err, election.ErrLost) {
		p.cfg.Log.Warn().Ctx(ctx).Err(err).Msg("deleting garbage from the bucket failed; it is tried again in an hour")
	}
	switch {
	case errors.Is(err, election.ErrLost):
		return report.Upload{Result: report.Standby}, nil
	case err != nil && !req.Collect:
		return done, nil
	}
	done.Collected = &collected
	return done, err
}

// collectWithin is collect with a budget. It notes the outcome.
func (p *Publisher) collectWithin(ctx context.Context, dryRun bool) (report.Collection, error) {
	job, end := objectstore.Within(ctx, "deleting garbage from the bucket", limitsOfCollection)
	defer end()
	began := time.Now()
	done, err := p.collect(job, dryRun)
	for rounds := 1; errors.Is(err, errOtherGeneration) && rounds < maxRounds; rounds++ {
		done, err = p.collect(job, dryRun)
	}
	if dryRun || ctx.Err() != nil || errors.Is(err, election.ErrLost) {
		return done, err
	}
	text, next := "", int64(0)
	if err == nil {
		p.collectedAt.Store(began.UnixNano())
	} else {
		text, next = report.OneLine(err.Error()), time.Now().Add(collectAgain).Unix()
	}
	p.collectAt.Store(next)
	now := time.Now()
	p.cfg.Observer.CollectionEnded(err != nil, now)
	if err := p.cfg.KeepCollection(text, now); err != nil {
		p.cfg.Log.Warn().Ctx(ctx).Err(err).Msg("saving the outcome of a collection failed; syncd status may show an older one")
	}
	return done, err
}

// collect deletes what no kept generation names and what is older than the grace period.
// Lists may be stale, so they only say what to look at: the generations are found by
// their numbers, and each candidate is looked at again before it is deleted.
func (p *Publisher) collect(ctx context.Context, dryRun bool) (report.Collection, error) {
	c := &collection{Publisher: p, dryRun: dryRun, kept: kept{
		generations: map[int]bool{}, records: map[string]bool{}, objects: map[uint64]struct{}{}, destroyed: map[uint64]time.Time{}, destroyedRecords: map[string]time.Time{},
	}}
	err := c.inUse(ctx)
	if err == nil && c.number != 0 {
		err = c.run(ctx)
	}
	return c.done, cmp.Or(err, c.unsigned)
}

// collection deletes once what is not in use.
type collection struct {
	*Publisher
	kept
	dryRun bool
	done   report.Collection
}

func (c *collection) run(ctx context.Context) (err error) {
	for _, folder := range []string{bucket.Patches, bucket.Objects, bucket.Packs, bucket.Records, bucket.Generations, bucket.Probes} {
		for last, isMore := "", true; isMore; {
			var candidates []string
			if candidates, last, err = c.candidates(ctx, folder, last); err != nil {
				return err
			}
			if err := c.removeAll(ctx, candidates); err != nil {
				return err
			}
			isMore = last != ""
		}
	}
	c.done.Uploads, err = c.abortUploads(ctx)
	return err
}

// maxRemoved is how many candidates are deleted until the publisher looks again whether the
// bucket has another generation, which may name some of them.
const maxRemoved = 500

// removeAll deletes candidates.
func (c *collection) removeAll(ctx context.Context, candidates []string) error {
	for some := range slices.Chunk(candidates, maxRemoved) {
		if len(c.destroyedRecords) > 0 {
			if at, err := c.store.Standing(ctx, c.main.current); err != nil || at.ID() != c.kept.stands {
				return cmp.Or(err, errOtherGeneration)
			}
		}
		if err := c.removeSome(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

func (c *collection) removeSome(ctx context.Context, candidates []string) error {
	var objects, bytes, texts atomic.Int64
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(contents.MaxRequests)
	for _, candidate := range candidates {
		group.Go(func() error {
			size, removed, err := c.removeOld(groupCtx, candidate)
			if _, isObject := bucket.ParseObjectName(candidate); isObject && removed {
				objects.Add(1)
				bytes.Add(size)
			} else if removed {
				texts.Add(1)
			}
			return err
		})
	}
	err := group.Wait()
	c.done.Objects += int(objects.Load())
	c.done.Bytes += bytes.Load()
	c.done.Texts += int(texts.Load())
	return err
}

// inUse reads the generations that followers may still read: the present one, and each
// that was present less than the grace period ago.
func (c *collection) inUse(ctx context.Context) error {
	at, err := c.store.ReadCurrent(ctx, c.main.current, &c.cfg.Log)
	if err != nil || at.Generation == 0 {
		return err
	}
	if past := c.past.Load(); at.Generation < past.Generation && at.NextEpoch() <= past.Epoch {
		return fmt.Errorf("nothing is deleted: the bucket answers with generation %d, and had %d when this host last published", at.Generation, past.Generation)
	}
	c.number, c.kept.stands = at.Generation, at.ID()
	if err := c.keepAll(ctx, at); err != nil {
		return err
	}
	rings, err := c.ringsInBucket(ctx)
	if err != nil {
		return fmt.Errorf("nothing is deleted: %w", err)
	}
	for _, ring := range rings {
		if err := c.keepRing(ctx, ring); err != nil {
			return err
		}
	}
	return nil
}

// keepAll adds what the generations name that lead to one.
func (c *collection) keepAll(ctx context.Context, at texts.State) error {
	err := c.keepShown(ctx, at)
	if err == nil {
		err = c.store.EachKept(ctx, at, func(written time.Time) bool { return c.server.LeastAge(written) >= c.cfg.Grace }, func(g bucket.Generation) error {
			return c.keep(ctx, at.Present, g)
		})
	}
	if errors.Is(err, texts.ErrUnusable) {
		return fmt.Errorf("nothing is deleted: %w: `syncd publish --verify --repair` mends it", err)
	}
	if err != nil {
		return fmt.Errorf("nothing is deleted: %w", err)
	}
	return nil
}

// keepRing adds what a ring has. It may be a ring of another publisher.
func (c *collection) keepRing(ctx context.Context, ring string) error {
	at, err := c.store.ReadCurrent(ctx, bucket.RingCurrentName(ring), &c.cfg.Log)
	if err != nil {
		return fmt.Errorf("nothing is deleted: %w", err)
	}
	for _, l := range c.lines {
		if last := l.left.Load(); l.ring == ring && l != c.main && last != nil && at.Generation < last.id.Number && at.NextEpoch() <= c.past.Load().Epoch {
			return fmt.Errorf("nothing is deleted: ring %s of the bucket answers with generation %d, and had %d when this host last published", ring, at.Generation, last.id.Number)
		}
	}
	if at.Generation == 0 || at.ID() == c.kept.stands {
		return nil
	}
	return c.keepAll(ctx, at)
}

// keepShown adds what followers mirror while another generation waits for signatures, also if
// that one says that it was destroyed: it may never be signed.
func (c *collection) keepShown(ctx context.Context, at texts.State) error {
	if !at.IsWaiting() {
		return nil
	}
	shown, _, err := c.store.ReadGeneration(ctx, at.Shown.Generation, at.Shown.SHA256)
	if err == nil {
		err = c.keep(ctx, shown, shown)
	}
	for _, m := range shown.Manifests {
		if at.Present.IsDestroyed(m) {
			c.unsigned = fmt.Errorf("%s of %s was destroyed, and stays in the bucket until enough keys have signed generation %d: followers mirror it in generation %d", m.Release, m.Name, at.Generation, shown.Number)
		}
	}
	return err
}

// keep adds what a generation names. What a publisher destroyed since is not kept, unless the
// present generation names it: the grace period does not outlive it.
func (c *collection) keep(ctx context.Context, present, g bucket.Generation) error {
	c.generations[g.Number] = true
	if err := c.check(g); err != nil {
		return err
	}
	for _, m := range g.Manifests {
		if c.records[m.Record()] {
			continue
		}
		if present.IsDestroyed(m) {
			if err := c.noteDestroyed(ctx, present, m); err != nil {
				return err
			}
			continue
		}
		record, err := c.store.ReadRecord(ctx, m)
		if err != nil {
			return err
		}
		c.records[m.Record()] = true
		for _, f := range record.Files {
			c.objects[shortOf(f.Object)] = struct{}{}
		}
		for _, p := range bucket.PacksOf(record.Files) {
			c.objects[shortOf(p.ID)] = struct{}{}
		}
		if err := c.check(g); err != nil {
			return err
		}
	}
	return nil
}

func (k *kept) check(g bucket.Generation) error {
	if len(k.objects)+len(k.destroyed) > maxKeptObjects || len(k.records)+len(k.generations) > maxKeptTexts {
		return fmt.Errorf("the generations from %d on name over %d objects or %d texts: %w", g.Number, maxKeptObjects, maxKeptTexts, objectstore.ErrOverrun)
	}
	return nil
}

func shortOf(id manifest.ObjectID) uint64 { return binary.BigEndian.Uint64(id[:8]) }

// names is true for what is in use, and for what is not the mirror's.
func (k kept) names(name string) bool {
	if id, ok := contentsIn(name); ok {
		return k.has(id)
	}
	if before, after, ok := bucket.ParsePatchName(name); ok {
		_, isGone := k.destroyed[shortOf(before)]
		return k.has(after) && (!isGone || k.has(before))
	}
	if record, ok := bucket.PatchListRecord(name); ok {
		return k.records[record]
	}
	if number, ok := bucket.ParseGenerationName(name); ok {
		return k.generations[number]
	}
	if bucket.IsRecordName(name) {
		return k.records[name]
	}
	return !bucket.IsProbeName(name)
}

func (k kept) has(id manifest.ObjectID) bool {
	_, isKept := k.objects[shortOf(id)]
	return isKept
}

// contentsIn is the digest in the name of an object or a pack.
func contentsIn(name string) (manifest.ObjectID, bool) {
	id, ok := bucket.ParseObjectName(name)
	if !ok {
		id, ok = bucket.ParsePackName(name)
	}
	return id, ok
}

// candidates lists what is not in use and seems to be old, after a name. last is where the
// list goes on, "" at its end.
func (c *collection) candidates(ctx context.Context, folder, after string) (names []string, last string, err error) {
	err = c.store.ListAfter(ctx, folder, after, func(o objectstore.Listed) bool {
		if !c.names(o.Name) && (c.isOld(o.Written) || c.isDestroyed(o.Name, o.Written)) {
			names = append(names, o.Name)
		}
		if len(names) == maxCandidates {
			last = o.Name
		}
		return last == ""
	})
	return names, last, err
}

func (c *collection) isOld(written time.Time) bool { return c.server.LeastAge(written) >= c.cfg.Grace }

// removeOld deletes a candidate if it is still old, or destroyed: a publisher may have
// written it again.
func (c *collection) removeOld(ctx context.Context, name string) (size int64, removed bool, err error) {
	found, err := c.store.Head(ctx, name)
	if errors.Is(err, objectstore.ErrNotThere) || err == nil && !c.isOld(found.Written) && !c.isDestroyed(name, found.Written) {
		return 0, false, nil
	}
	if err != nil || c.dryRun {
		return found.Size, err == nil, err
	}
	return found.Size, true, c.store.Remove(ctx, name)
}

// abortUploads ends old uploads in parts, which take space that no list of objects shows, and
// those of destroyed objects.
func (c *collection) abortUploads(ctx context.Context) (count int, err error) {
	var found []objectstore.Upload
	for _, folder := range []string{bucket.Objects, bucket.Patches} {
		of, err := c.store.Uploads(ctx, folder)
		if err != nil {
			return 0, err
		}
		found = append(found, slices.DeleteFunc(of, func(u objectstore.Upload) bool { return !strings.HasPrefix(u.Name, folder) })...)
	}
	for _, u := range found {
		_, isObject := bucket.ParseObjectName(u.Name)
		_, _, isPatch := bucket.ParsePatchName(u.Name)
		if !isObject && !isPatch || !c.isOld(u.Began) && (c.names(u.Name) || !c.isDestroyed(u.Name, u.Began)) {
			continue
		}
		if !c.dryRun {
			err = c.store.Abort(ctx, u)
		}
		if err != nil && !errors.Is(err, objectstore.ErrNoUpload) {
			return count, err
		}
		count++
	}
	return count, nil
}
