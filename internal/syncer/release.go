package syncer

import (
	"context"
	"errors"
	"time"

	"syncd/internal/host/clock"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
)

// chooseRelease resolves the configured release once, so that all steps of the sync
// use the same one. It settles the job when the release is the served one, the entry has
// no news, and no full check is due.
func (r *run) chooseRelease(ctx context.Context, j *job) error {
	r.progress.SetPhase(j.target.Name, report.PhaseChecking)
	answer, err := j.entry.Release(ctx)
	j.release, j.news, j.state = answer.Release, answer.News, answer.Saved
	if err != nil {
		return err
	}
	if err := r.checkAhead(j.release); err != nil {
		return err
	}
	if r.ordersKeep(j) {
		j.settle(report.Unchanged)
		return nil
	}
	if err := j.entry.CheckDowngrade(j.active); err != nil {
		return err
	}
	heldBack := j.active.Held != nil && !r.endsHold(j)
	if !r.fullCheckDue(j) && (r.isKnown(j) || heldBack) {
		j.settle(report.Unchanged)
	}
	return nil
}

// checkAhead refuses a release that cannot exist yet. If it were served, every later one
// would be a downgrade.
func (r *run) checkAhead(release manifest.Release) error {
	if !r.tooFarAhead(release) {
		return nil
	}
	return refusal.New(refusal.BadRelease, "release %s is more than two months ahead of this machine's clock (%s): the provider made a mistake, or the clock is slow",
		release, r.started.UTC().Format(time.DateOnly))
}

// tooFarAhead is true when the clock says that no such release can exist yet.
func (r *run) tooFarAhead(release manifest.Release) bool {
	return release.TooFarAhead(r.started, r.cfg.Built)
}

// endsHold is true when the chosen release is newer than the one that a rollback left.
// If the rollback left a release that cannot exist yet, any release newer than the served
// one ends the hold.
func (r *run) endsHold(j *job) bool {
	left := j.active.Held.Release
	return j.release.Newer(left) || r.tooFarAhead(left) && j.release.Newer(j.active.Release)
}

// fullCheckDue is true when a sync must ask for the Manifest and its digests even
// though the release may be the served one.
func (r *run) fullCheckDue(j *job) bool {
	return !j.served && j.staged.Manifest == "" || j.news || j.state.Served != "" && j.state.Served != j.active.ID() || r.req.Demand || r.req.Force ||
		!r.sameConfig(j) ||
		j.state.FullAt.After(r.started) || // the clock was set back
		r.deadlines.Passed("recheck of "+j.target.Name, j.state.FullAt.Add(r.cfg.Recheck), clock.Now())
}

// sameConfig is true when the state is of the same source and selection: another source
// has other validators.
func (r *run) sameConfig(j *job) bool { return j.state.Config == r.tree.Fingerprint(j.target) }

// waitAfterFailure repeats the result of a release that failed before, until its
// backoff ends.
func (r *run) waitAfterFailure(_ context.Context, j *job) error {
	failure := j.state.Failure
	if failure == nil || failure.Release != string(j.release) || r.req.Demand || r.req.Force ||
		!r.sameConfig(j) || r.deadlines.Passed("retry of "+j.target.Name, failure.NextTry, clock.Now()) ||
		failure.NextTry.Sub(r.started) > r.cfg.Recheck { // the clock was set back
		return nil
	}
	j.repeat(report.Result(failure.Result), errors.New(failure.Error))
	return nil
}
