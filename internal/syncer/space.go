package syncer

import (
	"context"
	"fmt"
	"os"
	"path"
	"time"

	"github.com/dustin/go-humanize"

	"syncd/internal/fetcher"
	"syncd/internal/fsops"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/refusal"
)

// Records, sums and the state also take space.
const overhead, overheadPerFile = 64 << 10, 1 << 10

// maxSpace is more than any disk has, and so little that sums of it do not overflow.
const maxSpace = 1 << 60

// blockSize is what a small file or a folder costs on most file systems.
const blockSize = 4 << 10

// reservation is the space that the manifests of one sync will take.
type reservation struct {
	*run
	taken      mirror.Space
	displaced  map[string]bool  // manifests of which an old revision goes before the new one is there
	unfinished map[string]int64 // sizes of the unfinished downloads, by their names
}

// reserveSpace refuses, in the order of the configuration, the manifests that
// would not fit beside those before them, even when pruning takes all that it may.
func (r *run) reserveSpace(ctx context.Context, jobs []*job) {
	s := &reservation{run: r, displaced: map[string]bool{}, unfinished: r.unfinished()}
	for _, j := range openJobs(jobs) {
		if ctx.Err() != nil {
			return // no old revision goes for a sync that ends
		}
		if err := s.reserve(ctx, j); err != nil {
			j.fail(err)
		}
	}
}

func (s *reservation) reserve(ctx context.Context, j *job) error {
	need := s.need(j)
	if !s.req.DryRun {
		s.Metrics.DiskNeeded(j.target.Name, need.Bytes)
	}
	if s.taken == (mirror.Space{}) { // the generation is for all
		need = plus(need, s.needOfGeneration())
	}
	free, err := s.free()
	if err == nil && !fits(need, free) {
		free, err = s.makeRoom(ctx, j.target.Name, need)
	}
	if err != nil {
		return err
	}
	if !fits(need, free) {
		return noRoom(need, free, s.outlook(ctx, j.target.Name, need, free))
	}
	s.taken = plus(s.taken, need)
	return nil
}

// free is what the manifests before leave of the disk's free space.
func (s *reservation) free() (mirror.Space, error) {
	free, err := s.Mirror.Free()
	return minus(free, s.taken), err
}

// makeRoom prunes what nothing keeps and, only if that makes the manifest fit, the
// revision that its new one is about to displace from `retain`. It returns what
// is free then.
func (s *reservation) makeRoom(ctx context.Context, name string, need mirror.Space) (mirror.Space, error) {
	pruned, err := s.afterPruning(ctx)
	if err != nil || fits(need, pruned) {
		return pruned, err
	}
	free, err := s.free()
	if err != nil {
		return free, err
	}
	s.displaced[name] = true
	if more, _ := s.freeable(ctx, nil); !fits(need, plus(free, more)) {
		delete(s.displaced, name)
		return pruned, nil
	}
	return s.afterPruning(ctx)
}

// afterPruning prunes and returns what is free then; a dry run foresees that.
func (s *reservation) afterPruning(ctx context.Context) (mirror.Space, error) {
	if !s.req.DryRun {
		s.pruneNow(ctx, s.displaced)
		return s.free()
	}
	free, err := s.free()
	more, _ := s.freeable(ctx, nil)
	return plus(free, more), err
}

// freeable is what pruning would free, under a changed retention if change is
// given, and when the last goes of what stays for a time only.
func (s *reservation) freeable(ctx context.Context, change func(*mirror.Retention)) (more mirror.Space, last time.Time) {
	keep, _, err := s.retention(ctx)
	keep.Displaced = s.displaced
	if change != nil {
		change(&keep)
	}
	if err == nil {
		more, last, err = s.Mirror.Freeable(keep, time.Now())
	}
	if err != nil {
		s.Log.Warn().Err(err).Msg("not known what pruning could free")
	}
	return more, last
}

// outlook tells what more could go later, and with a lower `retain`.
func (s *reservation) outlook(ctx context.Context, name string, need, free mirror.Space) string {
	now, _ := s.freeable(ctx, nil)
	s.displaced[name] = true
	defer delete(s.displaced, name)
	_, last := s.freeable(ctx, nil)
	later, _ := s.freeable(ctx, func(keep *mirror.Retention) { keep.For = 0 })
	least, _ := s.freeable(ctx, func(keep *mirror.Retention) { keep.For, keep.Revisions = 0, 0 })
	text := ""
	if amount := lacking(need, free).tell(minus(later, now)); amount != "" {
		text = "; " + amount + " more could be freed"
		if !last.IsZero() {
			text += " at " + last.UTC().Format("2006-01-02 15:04 UTC") + ", when `retain_for` is over"
		}
	}
	if amount := lacking(need, free).tell(minus(least, later)); amount != "" {
		text += "; " + amount + " more with `retain: 0`"
	}
	return text
}

// need foresees what a job will take: the missing bytes that are not in partial
// files yet, and an inode for each name that it makes. Links count, too: where
// none can be had a file is copied, and tmpfs counts them as inodes.
func (s *reservation) need(j *job) mirror.Space {
	var need mirror.Space
	for _, f := range j.plan.Missing {
		kept, there := s.unfinished[fetcher.Name(f.Expected)]
		if !there {
			need.Inodes++
		}
		if size, told := j.sizes[f.Expected]; told {
			need.Bytes = min(need.Bytes+spaceFor(size-min(size, kept)).Bytes, maxSpace)
		}
	}
	missing := len(j.plan.Missing)
	need.Inodes += int64(min(missing, s.Transfers)) // what unfinished downloads are continued by
	dirs := int64(min(missing, max(256-s.Mirror.ObjectFolders(), 0)) + folders(j.plan.Files) + revisionNames)
	need.Inodes += dirs + int64(len(j.plan.Files))
	need.Bytes += overhead + dirs*blockSize + int64(len(j.plan.Files))*overheadPerFile
	return need
}

// unfinished are the sizes of the unfinished downloads, by their names.
func (r *run) unfinished() map[string]int64 {
	entries, _ := os.ReadDir(r.Mirror.Partial()) // what is not known of counts as missing
	sizes := make(map[string]int64, len(entries))
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			sizes[entry.Name()] = info.Size()
		}
	}
	return sizes
}

// revisionNames are a revision's folder and the one that holds it, its record and
// the two that hold that.
const revisionNames = 5

// needOfGeneration is for the names of all manifests in the next generation, and
// the link that replaces `current`.
func (r *run) needOfGeneration() mirror.Space {
	names := map[string]bool{}
	for name := range r.Mirror.Current().Records {
		names[name] = true
	}
	var need mirror.Space
	for _, j := range openJobs(r.jobs) {
		names[j.target.Name] = true
		need.Bytes -= int64(len(j.active.Files)) * overheadPerFile // need counts its new record
	}
	for _, record := range r.Mirror.Current().Records {
		need.Bytes += int64(len(record.Files)) * overheadPerFile
	}
	need.Inodes = mirror.GenerationInodes(len(names)) + 1
	need.Bytes = max(need.Bytes, 0) + need.Inodes*blockSize
	return need
}

// spaceFor is what so many bytes of content take on disk.
func spaceFor(size int64) mirror.Space {
	return mirror.Space{Bytes: (min(size, maxSpace) + blockSize - 1) / blockSize * blockSize}
}

func folders(files []manifest.File) int {
	seen := map[string]bool{}
	for _, f := range files {
		for dir := path.Dir(f.Path); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
		}
	}
	return len(seen)
}

// plus and minus keep a number of inodes that is not limited as it is.
func plus(a, b mirror.Space) mirror.Space {
	sum := mirror.Space{Bytes: min(a.Bytes+b.Bytes, 2*maxSpace), Inodes: a.Inodes}
	if a.Inodes >= 0 {
		sum.Inodes += b.Inodes
	}
	return sum
}

func minus(a, b mirror.Space) mirror.Space {
	rest := mirror.Space{Bytes: max(a.Bytes-b.Bytes, 0), Inodes: a.Inodes}
	if a.Inodes >= 0 {
		rest.Inodes = max(a.Inodes-b.Inodes, 0)
	}
	return rest
}

func fits(need, free mirror.Space) bool { return lacking(need, free) == lacksNothing }

// lack is what is too little for a need.
type lack int

const (
	lacksNothing lack = iota
	lacksBytes
	lacksInodes
)

func lacking(need, free mirror.Space) lack {
	switch {
	case need.Bytes > free.Bytes:
		return lacksBytes
	case free.Inodes >= 0 && need.Inodes > free.Inodes:
		return lacksInodes
	}
	return lacksNothing
}

// tell is an amount of what is lacking, for people; "" for none.
func (l lack) tell(amount mirror.Space) string {
	switch {
	case l == lacksBytes && amount.Bytes > 0:
		return fmt.Sprintf("%s (%d bytes)", humanize.IBytes(uint64(amount.Bytes)), amount.Bytes)
	case l == lacksInodes && amount.Inodes > 0:
		return fmt.Sprintf("%d inodes", amount.Inodes)
	}
	return ""
}

// noRoom refuses with numbers what does not fit. outlook says what could change that.
func noRoom(need, free mirror.Space, outlook string) error {
	l := lacking(need, free)
	left := l.tell(free)
	if left == "" {
		left = "none"
	}
	return refusal.New(refusal.NoSpace, "needs %s, %s are free%s: free space in data_dir, or lower `retain`", l.tell(need), left, outlook)
}

// noSpace turns the disk's own word into a refusal.
func noSpace(err error) error {
	if refusal.ReasonOf(err) != "" {
		return err
	}
	if fsops.IsFull(err) {
		return refusal.New(refusal.NoSpace, "disk full: %w: free space in data_dir, or lower `retain`", err)
	}
	return err
}
