package syncer

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/dustin/go-humanize"

	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/refusal"
)

// checkListed refuses a list that would empty the mirror. Counts are before filters.
func (r *run) checkListed(j *job) error {
	if j.listed == 0 {
		return refusal.New(refusal.Empty, "release %s of %s lists no files", j.release, j.target.Name)
	}
	if j.served && !r.req.Force && float64(j.listed) < r.MinKeepRatio*float64(j.active.Listed) {
		return refusal.New(refusal.Shrink, "release %s of %s lists %d files, the served one had %d (guards.min_keep_ratio %g): `syncd sync --force` takes it",
			j.release, j.target.Name, j.listed, j.active.Listed, r.MinKeepRatio)
	}
	return nil
}

// Records, sums, folders and the state also take space.
const overhead, overheadPerFile = 64 << 10, 1 << 10

// maxSpace is more than any disk has, and so little that sums of it do not overflow.
const maxSpace = 1 << 60

// blockSize is what a small file costs on most file systems.
const blockSize = 4 << 10

// reserveSpace refuses, in the order of the configuration, the manifests that
// would not fit beside those before them.
func (r *run) reserveSpace(jobs []*job) {
	free, err := r.Mirror.Free()
	for _, j := range openJobs(jobs) {
		if err != nil {
			j.fail(err)
			continue
		}
		need := r.need(j)
		if refused := fits(need, free); refused != nil {
			j.fail(refused)
			continue
		}
		free.Bytes -= need.Bytes
		free.Inodes -= need.Inodes
	}
}

// need foresees what a job will take: the missing bytes that are not in partial
// files yet, an inode for each object and each folder of the new tree.
func (r *run) need(j *job) mirror.Space {
	var need mirror.Space
	for _, f := range j.plan.Missing {
		need.Inodes++
		size, told := j.sizes[f.Expected]
		if !told {
			continue
		}
		info, err := os.Stat(filepath.Join(r.Mirror.Partial(), fetcher.Name(f.Expected)))
		if err == nil {
			size -= min(size, info.Size())
		}
		need.Bytes = min(need.Bytes+spaceFor(size).Bytes, maxSpace)
	}
	need.Inodes += int64(folders(j.plan.Files))
	need.Bytes += overhead + int64(len(j.plan.Files))*overheadPerFile
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

func fits(need, free mirror.Space) error {
	if need.Bytes > free.Bytes {
		return refusal.New(refusal.NoSpace, "needs %s (%d bytes), %s (%d bytes) are free: free space in data_dir, or lower `retain`",
			humanize.IBytes(uint64(need.Bytes)), need.Bytes, humanize.IBytes(uint64(max(free.Bytes, 0))), free.Bytes)
	}
	if free.Inodes >= 0 && need.Inodes > free.Inodes {
		return refusal.New(refusal.NoSpace, "needs %d inodes, %d are free: free some in data_dir's file system, or lower `retain`", need.Inodes, free.Inodes)
	}
	return nil
}

// isMismatch is true for a refusal that the provider's own answers may explain:
// the file was replaced between its digest and its download.
func isMismatch(err error) bool { return refusal.ReasonOf(err) == refusal.HashMismatch }

// noSpace turns the disk's own word into a refusal.
func noSpace(err error) error {
	if refusal.ReasonOf(err) != "" {
		return err
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return refusal.New(refusal.NoSpace, "disk full: %w: free space in data_dir, or lower `retain`", err)
	}
	return err
}
