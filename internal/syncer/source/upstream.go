package source

import (
	"cmp"
	"context"

	"syncd/internal/clients/releases"
	"syncd/internal/downstream/rings"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// Context returns a context whose requests tell an upstream that is a syncd what this host
// serves and holds of the manifest, and which release it could not take.
func (e *Entry) Context(ctx context.Context) context.Context {
	return releases.WithState(ctx, e.state(e.cfg.Follower.Holding(e.cfg.Held(e.Target.Name))).Header())
}

func (q *Question) state(s rings.State) rings.State {
	if q.isServed() {
		s.Release, s.Revision = q.Served.Release, q.Served.Revision
	}
	failure := q.Saved.Failure
	isGate := failure == nil || failure.Reason == string(refusal.Gate)
	switch {
	case isGate && q.Staged.IsQuarantined():
		s.Refused, s.RefusedRevision, s.Reason, s.Attempts = q.Staged.Release, q.Staged.Revision, string(refusal.Gate), 1
	case failure != nil && failure.Release != "":
		s.Refused, s.Reason, s.Attempts = manifest.Release(failure.Release), cmp.Or(failure.Reason, rings.ReasonFailed), failure.Count
	}
	return s
}
