package syncer

import (
	"cmp"

	"syncd/internal/downstream/rings"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// stateOf is what an upstream that is a syncd is told of a manifest: what this host
// serves, and which release it could not take.
func (r *run) stateOf(j *job) rings.State {
	s := r.cfg.Follower
	if j.served {
		s.Release, s.Revision = j.active.Release, j.active.Revision
	}
	failure := j.state.Failure
	isGate := failure == nil || failure.Reason == string(refusal.Gate)
	switch {
	case isGate && j.staged.IsQuarantined():
		s.Refused, s.Reason, s.Attempts = j.staged.Release, string(refusal.Gate), 1
	case failure != nil && failure.Release != "":
		s.Refused, s.Reason, s.Attempts = manifest.Release(failure.Release), cmp.Or(failure.Reason, rings.ReasonFailed), failure.Count
	}
	return s
}
