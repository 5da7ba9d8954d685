package syncer

import (
	"context"
	"path"
	"slices"
	"time"

	"syncd/internal/disk/fsops"
	"syncd/internal/disk/space"
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// Records, sums and the state also take space.
const overhead, overheadPerFile = 64 << 10, 1 << 10

// revisionInodes are a revision's directory and its parent, its record and the two
// directories above that.
const revisionInodes = 5

// reservation adds up the space that the manifests of one sync will take.
type reservation struct {
	cfg        *Config
	pruner     *pruner
	jobs       []*job // all of the sync
	dryRun     bool
	others     space.Amount // that running syncs will still take for other manifests
	taken      space.Amount
	displaced  map[string]bool  // manifests that lose an old revision before the new one is there
	unfinished map[string]int64 // sizes of unfinished downloads, by file name
}

// reserveSpace goes through the manifests in the order of the configuration. It
// refuses each that does not fit in addition to those before it, even after pruning.
func (r *run) reserveSpace(ctx context.Context, jobs []*job) {
	_ = r.cfg.Shared.change(ctx, func() error { // it may prune; the error is the context's
		r.newReservation(jobs).reserveAll(ctx, jobs)
		return nil
	})
}

func (r *run) newReservation(jobs []*job) *reservation {
	return &reservation{
		cfg: r.cfg, pruner: r.pruner, jobs: r.jobs, dryRun: r.req.DryRun, others: r.cfg.Shared.reserved(jobs),
		displaced: map[string]bool{}, unfinished: unfinishedSizes(r.cfg.Mirror.Partial()),
	}
}

func (s *reservation) reserveAll(ctx context.Context, jobs []*job) {
	for _, j := range openJobs(jobs) {
		if ctx.Err() != nil {
			return // a sync that ends must not displace an old revision
		}
		if err := s.reserve(ctx, j); err != nil {
			j.fail(err)
		}
	}
}

func (s *reservation) reserve(ctx context.Context, j *job) error {
	need := s.need(j)
	if !s.dryRun {
		s.cfg.Metrics.DiskNeeded(j.target.Name, need.Bytes)
	}
	if s.taken == (space.Amount{}) { // all manifests share one generation
		need = need.Plus(s.needOfGeneration())
	}
	free, err := s.free()
	if err == nil && !space.Fits(need, free) {
		free, err = s.makeRoom(ctx, j.target.Name, need)
	}
	if err != nil {
		return err
	}
	if !space.Fits(need, free) {
		return space.Refuse(need, free, s.outlook(ctx, j.target.Name, need, free))
	}
	s.taken = s.taken.Plus(need)
	if !s.dryRun {
		j.reserve(need)
	}
	return nil
}

// free is the disk's free space without the space of the manifests before.
func (s *reservation) free() (space.Amount, error) {
	free, err := s.cfg.Mirror.Free()
	return free.Minus(s.others).Minus(s.taken), err
}

// makeRoom prunes what nothing keeps. If the manifest still does not fit, makeRoom
// also prunes the revision that the new one will displace from `retain`, but only if
// that makes it fit. It returns the space that is free afterwards.
func (s *reservation) makeRoom(ctx context.Context, name string, need space.Amount) (space.Amount, error) {
	pruned, err := s.afterPruning(ctx)
	if err != nil || space.Fits(need, pruned) {
		return pruned, err
	}
	free, err := s.free()
	if err != nil {
		return free, err
	}
	s.displaced[name] = true
	if more, _ := s.pruner.freeable(ctx, s.displaced, nil); !space.Fits(need, free.Plus(more)) {
		delete(s.displaced, name)
		return pruned, nil
	}
	return s.afterPruning(ctx)
}

// afterPruning prunes and returns the space that is free afterwards. A dry run only
// computes it.
func (s *reservation) afterPruning(ctx context.Context) (space.Amount, error) {
	if !s.dryRun {
		s.pruner.prune(ctx, s.displaced)
		return s.free()
	}
	free, err := s.free()
	more, _ := s.pruner.freeable(ctx, s.displaced, nil)
	return free.Plus(more), err
}

// outlook says how much more pruning could free later, and with a lower `retain`.
func (s *reservation) outlook(ctx context.Context, name string, need, free space.Amount) string {
	now, _ := s.pruner.freeable(ctx, s.displaced, nil)
	s.displaced[name] = true
	defer delete(s.displaced, name)
	_, last := s.pruner.freeable(ctx, s.displaced, nil)
	later, _ := s.pruner.freeable(ctx, s.displaced, func(keep *mirror.Retention) { keep.For, keep.Asked = 0, nil })
	most, _ := s.pruner.freeable(ctx, s.displaced, func(keep *mirror.Retention) { keep.For, keep.Asked, keep.Revisions = 0, nil, 0 })
	text := ""
	if amount := space.Lacking(need, free).Text(later.Minus(now)); amount != "" {
		text = "; " + amount + " more could be freed"
		if !last.IsZero() {
			text += " at " + last.UTC().Format("2006-01-02 15:04 UTC") + ", when `" + s.waitsFor() + "` is over"
		}
	}
	if amount := space.Lacking(need, free).Text(most.Minus(later)); amount != "" {
		text += "; " + amount + " more with `retain: 0`"
	}
	return text
}

// waitsFor names the setting for which pruning waits.
func (s *reservation) waitsFor() string {
	if s.cfg.Followers != nil && len(s.cfg.Followers.Kept(time.Now())) > 0 {
		return "serve.keep"
	}
	return "retain_for"
}

// need is the space that a job will take: the missing bytes that are not in
// unfinished downloads yet, and an inode for each name that it makes. It counts
// links too: without hard links a file is copied, and tmpfs counts links as inodes.
func (s *reservation) need(j *job) space.Amount {
	var need space.Amount
	for _, f := range j.plan.Missing {
		kept, found := s.unfinished[fetcher.Name(f.Expected)]
		if !found {
			need.Inodes++
		}
		if size, known := j.sizes[f.Expected]; known {
			need.Bytes = min(need.Bytes+space.OfContent(size-min(size, kept)).Bytes, space.Max)
		}
	}
	missing := len(j.plan.Missing)
	need.Inodes += int64(min(missing, s.cfg.Transfers)) // their .validator files
	dirs := int64(min(missing, max(256-s.cfg.Mirror.ObjectDirs(), 0)) + directories(j.plan.Files) + revisionInodes)
	need.Inodes += dirs + int64(len(j.plan.Files))
	need.Bytes += overhead + dirs*space.BlockSize + int64(len(j.plan.Files))*overheadPerFile
	return need.Plus(s.needOfTrees(j))
}

// needOfTrees is the space for the links to the files of a job in views, and for the
// copies that stand in for links where the file system has none.
func (s *reservation) needOfTrees(j *job) (need space.Amount) {
	trees, files := int64(1), int64(len(j.plan.Files))
	for _, v := range s.cfg.Views {
		if !slices.Contains(v.View.Manifests, j.target.Name) {
			continue
		}
		trees++
		need.Inodes += 2 * files // links, and at most as many directories
		need.Bytes += overhead + files*overheadPerFile
		if v.View.HashFiles {
			need.Inodes += files
			need.Bytes += files * (space.BlockSize + overheadPerFile)
		}
	}
	if !s.cfg.Mirror.CopiesBytes() {
		return need
	}
	for _, f := range j.plan.Files {
		size := j.plan.Known[f.Expected].Size + j.sizes[f.Expected]
		need.Bytes = min(need.Bytes+trees*space.OfContent(size).Bytes, space.Max)
	}
	return need
}

// needOfGeneration is the space for the names of all manifests in the next generation,
// and for the link that replaces `current`.
func (s *reservation) needOfGeneration() space.Amount {
	names := map[string]bool{}
	for _, v := range s.cfg.Views {
		names[v.View.Name] = true
	}
	for name := range s.cfg.Mirror.Current().Records {
		names[name] = true
	}
	var need space.Amount
	for _, j := range openJobs(s.jobs) {
		names[j.target.Name] = true
		need.Bytes -= int64(len(j.active.Files)) * overheadPerFile // need counts its new record
	}
	for _, record := range s.cfg.Mirror.Current().Records {
		need.Bytes += int64(len(record.Files)) * overheadPerFile
	}
	need.Inodes = mirror.GenerationInodes(len(names)) + 1
	need.Bytes = max(need.Bytes, 0) + need.Inodes*space.BlockSize
	return need
}

// unfinishedSizes returns the sizes of the files in a directory, by name. A file
// that cannot be looked at counts as missing.
func unfinishedSizes(dir *fsops.Dir) map[string]int64 {
	entries, _ := dir.ReadDir(".")
	sizes := make(map[string]int64, len(entries))
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			sizes[entry.Name()] = info.Size()
		}
	}
	return sizes
}

// directories is how many directories hold the files.
func directories(files []manifest.File) int {
	seen := map[string]bool{}
	for _, f := range files {
		for dir := path.Dir(f.Path); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
		}
	}
	return len(seen)
}
