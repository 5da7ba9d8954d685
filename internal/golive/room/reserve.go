package room

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
	"syncd/internal/report"
)

// Overhead is what any work takes beside its files, in bytes: records, sums and the state.
const Overhead, overheadPerFile = 64 << 10, 1 << 10

// revisionInodes are a revision's directory and its parent, its record and the two
// directories above that.
const revisionInodes = 5

// Plan is what a sync will make of one manifest.
type Plan struct {
	Manifest string
	manifest.Plan
	Sizes   *manifest.Table[int64] // of missing contents, as far as they are known
	Assumed int64                  // size to assume of the others; 0 to assume nothing
}

// size is the size of a missing content, as far as it is known or assumed.
func (p Plan) size(content manifest.Digest) int64 {
	if size, known := p.Sizes.Get(content); known {
		return size
	}
	return p.Assumed
}

// Reservation adds up the space that the manifests of one sync will take. It refuses each
// that does not fit in addition to those before it, even after pruning. Its methods need
// the turn.
type Reservation struct {
	cfg        *Config // of the sync
	room       *Room
	dryRun     bool
	open       func() map[string]int
	others     space.Amount // that running work will still take for other manifests
	taken      space.Amount
	needed     space.Amount     // as taken, with what did not fit
	displaced  map[string]bool  // manifests that lose an old revision before the new one is there
	yield      int              // revisions that give way although followers use them
	unfinished map[string]int64 // sizes of unfinished downloads, by file name
}

// NewReservation begins a reservation for the named manifests by the configuration of their
// sync. open returns the manifests of the sync that may still go live, with the number of
// files that each serves now. A dry run changes nothing on disk.
func (r *Room) NewReservation(cfg Config, manifests []string, open func() map[string]int, dryRun bool) *Reservation {
	return &Reservation{
		cfg: &cfg, room: r, dryRun: dryRun, open: open, others: r.Reserved(manifests),
		displaced: map[string]bool{}, unfinished: unfinishedSizes(cfg.Mirror.Objects.Partial()),
	}
}

// Take reserves the need of a manifest, as Need has computed it. It returns the reserved
// space, or the refusal.
func (s *Reservation) Take(ctx context.Context, name string, need space.Amount) (space.Amount, error) {
	if s.taken == (space.Amount{}) { // all manifests share one generation
		need = need.Plus(s.needOfGeneration())
	}
	s.needed = s.needed.Plus(need)
	free, err := s.free()
	if err == nil && !space.Fits(need, free) {
		free, err = s.afterPatches(ctx, need, free)
	}
	if err == nil && !space.Fits(need, free) {
		free, err = s.makeRoom(ctx, name, need)
	}
	if err != nil {
		return need, err
	}
	if !space.Fits(need, free) {
		return need, space.Refuse(need, free, s.outlook(ctx, name, need, free))
	}
	s.taken = s.taken.Plus(need)
	return need, nil
}

// free is the disk's free space without the space of the manifests before. A dry run counts
// the patches, which would go first.
func (s *Reservation) free() (space.Amount, error) {
	free, err := s.cfg.Mirror.Free()
	if s.dryRun && s.cfg.Patches != nil {
		free.Bytes += s.cfg.Patches.Bytes()
	}
	return free.Minus(s.others).Minus(s.taken), err
}

// afterPatches removes patches, so that a need fits, and returns the space that is free
// afterwards.
func (s *Reservation) afterPatches(ctx context.Context, need, free space.Amount) (space.Amount, error) {
	if s.dryRun || s.cfg.Patches == nil {
		return free, nil
	}
	s.cfg.yieldPatches(ctx, need, free)
	return s.free()
}

// yieldPatches removes patches, so that a need fits in what is free.
func (c *Config) yieldPatches(ctx context.Context, need, free space.Amount) {
	lacking := need.Bytes - free.Bytes
	if space.Lacking(need, free) == space.LacksInodes {
		lacking = space.Max
	}
	if err := c.Patches.Yield(lacking); err != nil {
		c.Log.Warn().Ctx(ctx).Err(err).Msg("removing patches to make room failed")
	}
}

// FreeFor returns the space that is free for a need beside what running work will still take
// for other manifests than those named. Patches give way if the need fits then.
func (r *Room) FreeFor(ctx context.Context, need space.Amount, manifests []string) (space.Amount, error) {
	others := r.Reserved(manifests)
	free, err := r.cfg().Mirror.Free()
	free = free.Minus(others)
	patches := r.cfg().Patches
	if err != nil || patches == nil || space.Fits(need, free) || need.Bytes > free.Bytes+patches.Bytes() {
		return free, err
	}
	r.cfg().yieldPatches(ctx, need, free)
	free, err = r.cfg().Mirror.Free()
	return free.Minus(others), err
}

// makeRoom prunes what nothing keeps. If the manifest still does not fit, makeRoom also
// prunes revisions that followers use, the oldest first, and then the revision that the new
// one will displace from `retain`, but only if that makes it fit. It returns the space that
// is free afterwards.
func (s *Reservation) makeRoom(ctx context.Context, name string, need space.Amount) (space.Amount, error) {
	pruned, err := s.afterPruning(ctx)
	if err != nil || space.Fits(need, pruned) {
		return pruned, err
	}
	free, err := s.free()
	if err != nil {
		return free, err
	}
	fits := func() bool {
		return space.Fits(need, free.Plus(s.room.freeable(ctx, s.yielding).Amount))
	}
	before, used := s.yield, s.used()
	for s.yield < used {
		if s.yield = min(max(2*s.yield, 1), used); fits() {
			return s.afterPruning(ctx)
		}
	}
	s.displaced[name] = true
	if !fits() {
		delete(s.displaced, name)
		s.yield = before
		return pruned, nil
	}
	return s.afterPruning(ctx)
}

// used is how many revisions followers use.
func (s *Reservation) used() int {
	if s.cfg.Followers == nil {
		return 0
	}
	return len(s.cfg.Followers.Kept(time.Now()))
}

// yielding is the retention that makes room for this reservation.
func (s *Reservation) yielding(keep *mirror.Retention) {
	keep.Displaced, keep.Yield = s.displaced, s.yield
}

// afterPruning prunes and returns the space that is free afterwards. A dry run only
// computes it.
func (s *Reservation) afterPruning(ctx context.Context) (space.Amount, error) {
	if !s.dryRun {
		s.room.Prune(ctx, s.displaced, s.yield)
		return s.free()
	}
	free, err := s.free()
	return free.Plus(s.room.freeable(ctx, s.yielding).Amount), err
}

// outlook says how much more pruning could free later, and with a lower `retain`.
func (s *Reservation) outlook(ctx context.Context, name string, need, free space.Amount) string {
	freeable := func(change func(*mirror.Retention)) mirror.Freed {
		return s.room.freeable(ctx, func(keep *mirror.Retention) {
			s.yielding(keep)
			keep.Yield = len(keep.Asked)
			change(keep)
		})
	}
	now := freeable(func(*mirror.Retention) {})
	s.displaced[name] = true
	defer delete(s.displaced, name)
	last := freeable(func(*mirror.Retention) {}).Last
	later := freeable(func(keep *mirror.Retention) { keep.For, keep.Asked = 0, nil })
	most := freeable(func(keep *mirror.Retention) { keep.For, keep.Asked, keep.Revisions = 0, nil, 0 })
	text := ""
	if amount := space.Lacking(need, free).Text(later.Minus(now.Amount)); amount != "" {
		text = "; " + amount + " more could be freed"
		if !last.IsZero() {
			text += " at " + report.Moment(last.UTC()) + ", when `retain_for` is over"
		}
	}
	if amount := space.Lacking(need, free).Text(most.Minus(later.Amount)); amount != "" {
		text += "; " + amount + " more with `retain: 0`"
	}
	return text
}

// Need is the space that a manifest will take: the missing bytes that are not in
// unfinished downloads yet, and an inode for each name that it makes. It counts
// links too: without hard links a file is copied, and tmpfs counts links as inodes.
func (s *Reservation) Need(p Plan) space.Amount {
	var need space.Amount
	for _, f := range p.Missing {
		kept, found := s.unfinished[fetcher.Name(f.Expected)]
		if !found {
			need.Inodes++
		}
		size := p.size(f.Expected)
		need.Bytes = min(need.Bytes+space.OfContent(size-min(size, kept)).Bytes, space.Max)
	}
	missing := len(p.Missing)
	need.Inodes += int64(min(missing, s.cfg.Transfers)) // their .validator files
	dirs := int64(min(missing, max(256-s.cfg.Mirror.Objects.Directories(), 0)) + directories(p.Files) + revisionInodes)
	need.Inodes += dirs + int64(len(p.Files))
	need.Bytes += Overhead + dirs*space.BlockSize + int64(len(p.Files))*overheadPerFile
	return need.Plus(s.needOfTrees(p))
}

// needOfTrees is the space for the links to the files of a manifest in views, and for the
// copies that stand in for links where the file system has none.
func (s *Reservation) needOfTrees(p Plan) (need space.Amount) {
	trees, files := int64(1), int64(len(p.Files))
	for _, v := range s.cfg.Views {
		if !slices.Contains(v.Manifests, p.Manifest) {
			continue
		}
		trees++
		need.Inodes += 2 * files // links, and at most as many directories
		need.Bytes += Overhead + files*overheadPerFile
		if v.HashFiles {
			need.Inodes += files
			need.Bytes += files * (space.BlockSize + overheadPerFile)
		}
	}
	if !s.cfg.Mirror.CopiesBytes() {
		return need
	}
	for _, f := range p.Files {
		object, known := p.Known.Get(f.Expected)
		size := object.Size
		if !known {
			size = p.size(f.Expected)
		}
		need.Bytes = min(need.Bytes+trees*space.OfContent(size).Bytes, space.Max)
	}
	return need
}

// needOfGeneration is the space for the names of all manifests in the next generation,
// and for the link that replaces `current`.
func (s *Reservation) needOfGeneration() space.Amount {
	names := map[string]bool{}
	for _, v := range s.cfg.Views {
		names[v.Name] = true
	}
	for name := range s.cfg.Mirror.Current().Records {
		names[name] = true
	}
	var need space.Amount
	for name, files := range s.open() {
		names[name] = true
		need.Bytes -= int64(files) * overheadPerFile // Need counts its new record
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
