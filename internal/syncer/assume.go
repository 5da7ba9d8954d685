package syncer

import (
	"syncd/internal/disk/space"
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
)

// Of a long list of small files, only a sample is asked for its sizes. The others are assumed
// to have at most assumedTimes the largest size of the sample, and no less than assumedLeast.
// A file that is larger all the same is noticed before its bytes arrive, see askUnforeseen.
const (
	leastSampled = 128 // sizes that must be known
	leastAssumed = 256 // below that, asking costs little
	assumedTimes = 4
	assumedLeast = 64 << 10
	// roomTimes is how many times the assumed bytes must fit the free space, so that no
	// assumption decides whether there is room.
	roomTimes = 10
)

// assumeSizes decides for which manifests the sizes that are not known need not be asked for.
// A dry run asks for all, because it tells how many bytes a sync would fetch.
func (w wave) assumeSizes() {
	if w.req.DryRun || w.source.AllOrNothing() {
		return
	}
	free, err := w.cfg.Mirror.Free()
	if err != nil {
		return // reserveSpace has the same error
	}
	left := free.Minus(w.cfg.Shared.Reserved(namesOfJobs(w.jobs))).Bytes / roomTimes
	for _, j := range openJobs(w.jobs) {
		if size, bytes := w.assume(j.plan()); size > 0 && bytes <= left {
			left -= bytes
			j.setSizes(nil, size)
		}
	}
}

// assume returns the size to assume of contents whose size is not known, and all bytes that
// the plan then needs. The size is 0 if the sizes must be asked for.
func (w wave) assume(p *planned) (size, bytes int64) {
	var known, largest int64
	for _, f := range p.missing {
		if is, found := w.source.KnownSize(f.Expected); found {
			known, largest, bytes = known+1, max(largest, is), bytes+is
		}
	}
	unknown := int64(len(p.missing)) - known
	size = max(assumedTimes*largest, assumedLeast)
	if p.mixed || known < leastSampled || unknown < leastAssumed || !fetcher.IsSmall(size) {
		return 0, 0
	}
	return size, bytes + unknown*size
}

// sizesOf returns the sizes of the missing contents of a plan as far as they are known, and
// their sum with the assumed ones.
func (w wave) sizesOf(p *planned) (sizes *manifest.Table[int64], total int64) {
	sizes = manifest.NewTable[int64](p.contents)
	for _, f := range p.missing {
		size, known := w.source.KnownSize(f.Expected)
		if known {
			sizes.Put(f.Expected, size)
		} else {
			size = p.assumed
		}
		total = min(total+size, space.Max)
	}
	return sizes, total
}
