package syncer

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"syncd/internal/clients/releases"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// ask fills in the digests that the provider promises for a manifest's files, and
// asks for the sizes of those that must be fetched. Each file's questions follow
// one another by themselves: nobody waits until the last digest is known.
func (r *run) ask(ctx context.Context, j *job, files []manifest.File) error {
	isNew := r.newContent(ctx, j)
	return forAll(ctx, len(files), lookups, func(ctx context.Context, i int) error {
		err := r.lookup(ctx, func() (err error) {
			files[i].Expected, err = r.Provider.Hash(ctx, r.Algorithm, files[i].Reference)
			return err
		})
		if err == nil && isNew(files[i]) {
			err = r.askSize(ctx, j, files[i])
		}
		return err
	})
}

// newContent tells, before there is a plan, which contents a plan is sure to
// miss. In doubt it says no, and size asks later: a check that finds nothing new
// must not ask for sizes.
func (r *run) newContent(ctx context.Context, j *job) func(manifest.File) bool {
	served := j.active.Files // sorted by path
	if len(served) > 0 && (j.active.Held != nil || served[0].Expected.Algorithm != r.Algorithm) {
		return func(manifest.File) bool { return false }
	}
	return func(f manifest.File) bool {
		i, found := slices.BinarySearchFunc(served, f.Path, func(s mirror.File, path string) int { return strings.Compare(s.Path, path) })
		if found && served[i].Expected == f.Expected {
			return false
		}
		_, there := r.onDisk(ctx, f.Expected)
		return !there
	}
}

// sizes are what Metadata says of contents that are to be fetched: each is asked
// for once, however many files and manifests have it.
type sizes struct {
	mu sync.Mutex
	of map[manifest.Digest]int64 // unknownSize while it is asked for
}

const unknownSize = -1

// claim is true for the first who wants to ask for a content's size.
func (s *sizes) claim(content manifest.Digest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, claimed := s.of[content]; claimed {
		return false
	}
	if s.of == nil {
		s.of = map[manifest.Digest]int64{}
	}
	s.of[content] = unknownSize
	return true
}

// tell notes the answer, and after a failure that somebody else may ask.
func (s *sizes) tell(content manifest.Digest, size int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		delete(s.of, content)
		return
	}
	s.of[content] = size
}

// told returns a size that Metadata has told.
func (s *sizes) told(content manifest.Digest) (size int64, told bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size, claimed := s.of[content]
	return size, claimed && size != unknownSize
}

// metadataPatience bounds one Metadata request: sizes help to foresee a full
// disk, and a sync goes on without them.
const metadataPatience = 10 * time.Second

// askSize asks for the size of a content that nobody has asked for yet. The first
// lasting failure ends the asking for the manifest: then the sizes come with the
// downloads. The error is for the context's end alone.
func (r *run) askSize(ctx context.Context, j *job, f manifest.File) error {
	if j.noSizes.Load() || !r.sizes.claim(f.Expected) {
		return nil
	}
	var meta releases.Metadata
	err := r.lookup(ctx, func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, metadataPatience)
		defer cancel()
		meta, err = r.Provider.Metadata(ctx, f.Reference)
		return err
	})
	r.sizes.tell(f.Expected, meta.Size, err)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && !j.noSizes.Swap(true) {
		r.Log.Warn().Err(err).Str("manifest", j.target.Name).Msg("no metadata: sizes come with the downloads")
	}
	return nil
}

// size asks for the sizes of what the plans miss and ask was not sure of, and
// gives each job those of its files: one job may have asked for another's.
func (r *run) size(ctx context.Context, jobs []*job) {
	r.each(ctx, jobs, func(ctx context.Context, j *job) error {
		return forAll(ctx, len(j.plan.Missing), lookups, func(ctx context.Context, i int) error {
			return r.askSize(ctx, j, j.plan.Missing[i])
		})
	})
	for _, j := range openJobs(jobs) {
		j.sizes = make(map[manifest.Digest]int64, len(j.plan.Missing))
		var total int64
		for _, f := range j.plan.Missing {
			if size, told := r.sizes.told(f.Expected); told {
				j.sizes[f.Expected] = size
				total = min(total+size, maxSpace)
			}
		}
		r.progress.SetBytes(j.target.Name, total)
	}
	r.sizes = sizes{} // a plan that starts over asks anew
}
