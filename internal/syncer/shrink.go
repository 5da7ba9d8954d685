package syncer

import (
	"slices"

	"github.com/dustin/go-humanize"

	"syncd/internal/disk/space"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
)

// checkBytes refuses a release whose files have far fewer bytes than those of the served
// one, which is how a provider's empty or cut files look. While the size of a file is not
// known, it accepts the release; publish checks it again with the true sizes.
func (r *run) checkBytes(j *job) error {
	ratio := r.cfg.MinBytesRatio
	if ratio == 0 || !j.served || r.req.Force || r.lock != nil {
		return nil
	}
	planned, known := plannedBytes(j)
	served := r.comparableBytes(j)
	if !known || float64(planned) >= ratio*float64(served) {
		return nil
	}
	return refusal.New(refusal.Shrink, "release %s shrank from %s to %s, below guards.min_bytes_ratio %g: check it with `syncd files %s`; `syncd sync --force %s` accepts it",
		j.release, humanize.IBytes(uint64(served)), humanize.IBytes(uint64(planned)), ratio, j.target.Name, j.target.Name)
}

// plannedBytes adds up the sizes of the planned files, by their objects, else by
// Metadata. It returns false when one is not known.
func plannedBytes(j *job) (sum int64, known bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, f := range j.plan.Files {
		object, proven := j.plan.Known[f.Expected]
		size, told := j.sizes[f.Expected]
		if !proven && !told {
			return 0, false
		}
		if proven {
			size = object.Size
		}
		sum = min(sum+size, space.Max)
	}
	return sum, true
}

// comparableBytes adds up the sizes of the served files that the present configuration
// chooses, so that a narrower filter is no shrinking.
func (r *run) comparableBytes(j *job) (sum int64) {
	for _, f := range j.active.Files {
		if j.chooses(f) {
			sum = min(sum+f.Size, space.Max)
		}
	}
	return sum
}

// chooses is true when the configuration chooses a served file today.
func (j *job) chooses(f mirror.File) bool {
	if len(j.target.Files) > 0 {
		return slices.ContainsFunc(j.plan.Files, func(planned manifest.File) bool { return planned.Path == f.Path })
	}
	ref, err := manifest.ParseReference(f.Reference)
	return err == nil && j.target.Filter.Passes(ref)
}
