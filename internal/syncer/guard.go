package syncer

import "syncd/internal/refusal"

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

// isMismatch is true for a refusal that the provider's own answers may explain:
// the file was replaced between its digest and its download.
func isMismatch(err error) bool { return refusal.ReasonOf(err) == refusal.HashMismatch }
