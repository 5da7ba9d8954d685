package syncer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"syncd/internal/golive"
	"syncd/internal/host/clock"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/mirror/destroy"
	"syncd/internal/mirror/inventory"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
)

// asking asks about one manifest until there is a plan. Its steps return an end when there
// is nothing left to do.
type asking struct {
	*run
	job *job
}

// ask takes the steps. A poll with nothing new ends after the first one.
func (a asking) ask(ctx context.Context) error {
	if a.source.AllOrNothing() {
		found, err := a.takeLocked(ctx)
		if err != nil {
			return err
		}
		_, err = a.plan(ctx, found)
		return err
	}
	ctx = a.job.entry.Context(ctx)
	if err := a.traced(ctx, "poll", a.choose); err != nil { // asks ManifestReleases, one request
		return err
	}
	if err := a.waitAfterFailure(); err != nil {
		return err
	}
	return a.traced(ctx, "questions", a.askAll)
}

// askAll asks what a poll with news must know.
func (a asking) askAll(ctx context.Context) error {
	found, err := a.list(ctx) // asks Manifest, one request; Hash of every file, and Metadata of the surely new ones
	if err != nil {
		return err
	}
	if err := a.compare(found); err != nil {
		return err
	}
	if err := a.checkExpired(found); err != nil {
		return err
	}
	p, err := a.plan(ctx, found)
	if err != nil || p.delisted {
		return err
	}
	return a.describe(ctx, p) // asks Metadata of the other files, if this host serves others
}

// choose resolves the configured release once, so that all steps of the sync use the same
// one. It ends the job when the release is the served one, the entry has no news, and no
// full check is due.
func (a asking) choose(ctx context.Context) error {
	j := a.job
	a.progress.SetPhase(j.target.Name, report.PhaseChecking)
	answer, err := j.entry.Release(ctx)
	j.release, j.state, j.replaced = answer.Release, answer.Saved, answer.Replaced
	if err != nil {
		return err
	}
	if err := a.checkAhead(j.release); err != nil {
		return err
	}
	if a.ordersKeep() {
		return unchanged()
	}
	if err := j.entry.CheckDowngrade(j.active); err != nil {
		return err
	}
	heldBack := j.active.Held != nil && !a.endsHold()
	if !j.entry.Full && !answer.News && !answer.Replaced && (a.isKnown() || heldBack) {
		return unchanged()
	}
	return nil
}

// ordersKeep is true when an order keeps a manifest from the chosen release.
func (a asking) ordersKeep() bool {
	j, orders := a.job, a.job.active.Orders
	return !a.req.Force && orders.Holds(a.started) || j.served && j.release != j.active.Release && orders.Skips(j.release)
}

// newOrdersKeep is true if orders came while the sync ran that keep a ready job from
// going on. Such a hold also binds a forced sync.
func (a asking) newOrdersKeep(served mirror.Record) bool {
	before, now, release := a.job.active.Orders, served.Orders, a.job.release
	return !before.Equal(now) &&
		(now.Holds(time.Now()) || now.Skips(release) || now.Pin != before.Pin && now.Pin != release)
}

// checkAhead refuses a release that cannot exist yet. If it were served, every later one
// would be a downgrade.
func (a asking) checkAhead(release manifest.Release) error {
	if !a.tooFarAhead(release) {
		return nil
	}
	return refusal.New(refusal.BadRelease, "release %s is more than two months ahead of this machine's clock (%s): the provider made a mistake, or the clock is slow",
		release, a.started.UTC().Format(time.DateOnly))
}

// checkExpired refuses a release that may be used no more, before it is downloaded.
func (a asking) checkExpired(found *listed) error {
	if a.req.Force {
		return nil
	}
	return golive.CheckRelease(a.tree, a.job.target.Name, a.job.release, manifest.Fingerprint(found.files))
}

// tooFarAhead is true when the clock says that no such release can exist yet.
func (a asking) tooFarAhead(release manifest.Release) bool {
	return release.TooFarAhead(a.started, a.cfg.Built)
}

// endsHold is true when the chosen release is newer than the one that a rollback left.
// If the rollback left a release that cannot exist yet, any release newer than the served
// one ends the hold.
func (a asking) endsHold() bool {
	j, left := a.job, a.job.active.Held.Release
	return j.release.Newer(left) || a.tooFarAhead(left) && j.release.Newer(j.active.Release)
}

// isKnown is true if a poll that finds the job's release can end at once: it is the
// served one, or staged with nothing left to do.
func (a asking) isKnown() bool {
	j, e := a.job, a.job.staged
	if _, found, _ := a.tree.Destroyed.Last(j.target.Name, j.release); found {
		return !a.req.Force // a full check compares the list
	}
	if e.Manifest == "" {
		return j.release == j.active.Release
	}
	return j.release == e.Release && (j.target.IsLeft(e, a.tree.Fingerprint(j.target)) || !e.Dropped && e.Passes(j.target.Gate.Identity(), j.active.ID()))
}

// waitAfterFailure repeats the result of a release that failed before, until its
// backoff ends or it has other bytes.
func (a asking) waitAfterFailure() error {
	j, failure := a.job, a.job.state.Failure
	if failure == nil || failure.Release != string(j.release) || j.replaced || a.req.Demand || a.req.Force ||
		!a.sameConfig(j) || a.deadlines.Passed("retry of "+j.target.Name, failure.NextTry, clock.Now()) ||
		failure.NextTry.Sub(a.started) > a.cfg.Recheck { // the clock was set back
		return nil
	}
	err := errors.New(failure.Error)
	if failure.Local {
		err = refusal.Local(failure.Error)
	}
	return repeated(report.Result(failure.Result), err)
}

// list asks for the manifest's files, applies the guards to all of them, keeps those that
// pass the filter, and finds their digests.
func (a asking) list(ctx context.Context) (*listed, error) {
	j := a.job
	found, err := j.entry.List(ctx)
	if err != nil {
		return nil, err
	}
	if err := j.entry.CheckCount(a.cfg.Guards, found.Count, j.active); err != nil {
		return nil, err
	}
	if len(found.Planned) > 0 {
		a.noteDelisted()
		return &listed{files: found.Planned, count: found.Count, told: found.Description, delisted: true}, nil
	}
	chosen := j.target.Filter.Choose(found.Files)
	if chosen.Len() == 0 {
		return nil, fmt.Errorf("the filters of %s leave none of the %d files of release %s: check os, compiler, language, architecture, include and exclude", j.target.Name, found.Count, j.release)
	}
	if err := a.checkMemory(chosen.Len()); err != nil {
		return nil, err
	}
	if err := chosen.CheckPaths(); err != nil {
		return nil, err
	}
	l := &listed{files: chosen.Files(), count: found.Count, links: found.Links, told: found.Description}
	if err := j.entry.Digests(ctx, l.files, a.surelyNew(ctx)); err != nil {
		return nil, err
	}
	a.noteDelisted()
	return l, nil
}

// noteDelisted notes whether the provider still has the wanted release, and says once if
// not.
func (a asking) noteDelisted() {
	j, before := a.job, a.job.state.Delisted
	if j.state.Delisted = string(j.entry.Delisted()); j.state.Delisted != "" && j.state.Delisted != before {
		a.cfg.Log.Warn().Str("manifest", j.target.Name).Str("release", j.state.Delisted).Msg("the provider has the wanted release no more; keeping what is on disk")
	}
}

// surelyNew returns a function that is true for a content that the plan will miss for
// certain. It is false in doubt, because a check without news must not ask for sizes;
// a wave asks for those sizes later.
func (a asking) surelyNew(ctx context.Context) func(manifest.File) bool {
	active := a.job.active
	if len(active.Files) > 0 && (active.Held != nil || active.Files[0].Expected.Algorithm != a.cfg.Algorithm) {
		return func(manifest.File) bool { return false }
	}
	return func(f manifest.File) bool {
		if then, found := active.File(f.Path); found && then.Expected == f.Expected {
			return false
		}
		return !a.session.Has(ctx, f.Expected)
	}
}

// compare ends the job when the served or the staged revision has the expected digests,
// or a hold keeps it.
func (a asking) compare(found *listed) error {
	a.job.checked = found.compared()
	switch {
	case a.isCurrent(found.files):
		a.job.withdrawn = true
		return unchanged()
	case !a.req.Force && a.holdKeeps(found.files):
		if e := a.staged(found.files); a.req.Demand && e.IsUndone() && !e.Dropped { // who asks hears why
			return repeated(report.Refused, e.Verdict.Refusal())
		}
		return unchanged()
	}
	return a.compareStaged(found.files)
}

// isCurrent is true when the served revision has exactly the expected digests.
func (a asking) isCurrent(files []manifest.File) bool {
	j := a.job
	if !j.served || j.active.Held != nil || j.release != j.active.Release {
		return false
	}
	same := func(f manifest.File, served mirror.File) bool {
		return f.Path == served.Path && f.Expected == served.Expected
	}
	if slices.EqualFunc(files, j.active.Files, same) {
		return true
	}
	fingerprint := manifest.Fingerprint(files)
	return fingerprint == j.active.Fingerprint() || matchOf(fingerprint, j.active) == j.state.Matches
}

// matchOf is the text that the state keeps when a set of expected digests turned out
// to be a revision whose record has other digests, such as those of another algorithm.
func matchOf(fingerprint string, record mirror.Record) string { return fingerprint + " " + record.ID() }

// holdKeeps is true when a rollback keeps the manifest from the chosen release.
func (a asking) holdKeeps(files []manifest.File) bool {
	j, hold := a.job, a.job.active.Held
	if !j.served || hold == nil || hold.Setting != j.target.Release {
		return false
	}
	if j.release != hold.Release {
		return !a.endsHold()
	}
	if hold.Selection != a.tree.Selection(j.target) { // digests of other files cannot be compared
		a.cfg.Log.Warn().Str("manifest", j.target.Name).Msg("filters changed while held after a rollback: `syncd sync --force` ends the hold")
		return true
	}
	return manifest.Fingerprint(files) == hold.Fingerprint
}

// compareStaged ends the job when the staged revision has the expected digests, and no
// gate must run.
func (a asking) compareStaged(files []manifest.File) error {
	j, e := a.job, a.staged(files)
	if e.Manifest == "" {
		return nil
	}
	switch verdict := e.Judged(j.target.Gate.Identity(), j.active.ID()); {
	case e.Dropped && (a.req.Force || a.req.Demand && !e.IsQuarantined() || !j.target.IsLeft(e, a.tree.Fingerprint(j.target))): // wanted again
	case a.req.Force && j.active.Held != nil && !e.IsQuarantined() && e.Forced != j.active.ID(): // it may go live now
	case e.Dropped, e.Passes(j.target.Gate.Identity(), j.active.ID()):
		return unchanged()
	case verdict != nil:
		return repeated(report.Refused, verdict.Refusal())
	}
	return nil
}

// staged is what is staged of the manifest, if it has the expected digests.
func (a asking) staged(files []manifest.File) staging.Revision {
	e := a.cfg.Staging.Get(a.job.target.Name)
	if e.Release != a.job.release || e.Expected != manifest.Fingerprint(files) {
		return staging.Revision{}
	}
	return e
}

// takeLocked takes everything from the lock file.
func (a asking) takeLocked(ctx context.Context) (*listed, error) {
	j := a.job
	answer, err := j.entry.Release(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.checkAhead(answer.Release); err != nil {
		return nil, err
	}
	found, err := j.entry.List(ctx)
	if err != nil {
		return nil, err
	}
	same := func(locked manifest.File, served mirror.File) bool {
		return locked.Path == served.Path && locked.Expected == served.Object.Digest()
	}
	if j.served && j.active.Held == nil && answer.Release == j.active.Release && slices.EqualFunc(found.Planned, j.active.Files, same) {
		return nil, unchanged()
	}
	if orders := j.active.Orders; !a.req.Force && orders.Holds(a.started) {
		return nil, fmt.Errorf("%s is held until %s, also from a lock file: `syncd hold %s --for 0s` ends that, and so does --force", j.target.Name, report.Moment(orders.HoldUntil.Local()), j.target.Name)
	}
	j.release = answer.Release
	l := &listed{files: found.Planned, count: found.Count, links: found.Links, told: found.Description}
	return l, a.checkExpired(l)
}

// plan finds the contents that are on disk and proven. The second plan of a sync
// reuses those of the first. No pruning may run between the look at the disk and the
// moment from which the job keeps the contents, so that moment comes first.
func (a asking) plan(ctx context.Context, found *listed) (*planned, error) {
	j := a.job
	var proven *manifest.Table[manifest.Object]
	err := a.tree.Change(ctx, func() error {
		if err := a.staysDestroyed(found.files); err != nil {
			return err
		}
		proven = j.startPlan(found.files)
		return nil
	})
	if err != nil {
		return nil, err
	}
	split, err := a.session.Plan(ctx, inventory.Query{
		Manifest: j.target.Name, Files: found.files, Served: j.active, Proven: proven,
		GoesBack: j.served && j.release != j.active.Release && !j.release.Newer(j.active.Release),
	})
	if err != nil {
		return nil, err
	}
	p := &planned{listed: *found, contents: split.Contents, missing: split.Missing}
	p.files = split.Files
	j.setPlan(p, split.Known)
	a.progress.SetFiles(j.target.Name, len(p.missing))
	return p, nil
}

// staysDestroyed ends the job if the files were destroyed here, unless the operator forces
// the sync. The caller has the turn, so that no destruction begins meanwhile.
func (a asking) staysDestroyed(files []manifest.File) error {
	j := a.job
	if a.req.Force && !a.req.DryRun {
		return a.tree.Destroyed.Allow(j.target.Name, j.release, time.Now())
	}
	by, found, err := a.destroyed(files)
	switch {
	case err != nil || !found || a.req.Force:
		return err
	case a.source.AllOrNothing():
		return fmt.Errorf("release %s of %s was destroyed here at %s: `syncd sync --force %s` fetches it again", j.release, j.target.Name, report.Moment(by.BegunAt), j.target.Name)
	}
	a.cfg.Log.Debug().Str("manifest", j.target.Name).Str("release", string(j.release)).Msg("the release was destroyed here and is not fetched again")
	return unchanged()
}

// destroyed returns the destruction that keeps the files out.
func (a asking) destroyed(files []manifest.File) (by destroy.Note, found bool, err error) {
	if _, found, err = a.tree.Destroyed.Last(a.job.target.Name, a.job.release); err != nil || !found {
		return by, false, err
	}
	expected := make([]manifest.Digest, len(files))
	for i, f := range files {
		expected[i] = f.Expected
	}
	return a.tree.Destroyed.KeepsOut(a.job.target.Name, a.job.release, expected)
}

// describe asks what other hosts will want to know about the planned release.
func (a asking) describe(ctx context.Context, p *planned) error {
	return a.job.entry.Describe(ctx, p.files, p.links)
}

// again makes another plan after a digest mismatch. It fails with the mismatch when no
// digest has changed.
func (a asking) again(ctx context.Context, before *planned, mismatch error) error {
	found, err := a.list(ctx)
	if err != nil {
		return err
	}
	if manifest.Fingerprint(found.files) == manifest.Fingerprint(before.files) {
		return mismatch
	}
	a.job.checked = found.compared()
	p, err := a.plan(ctx, found)
	if err != nil {
		return err
	}
	return a.describe(ctx, p)
}

// checkSizes refuses a release with far fewer bytes than the served one, or with a file
// that shrank. While sizes are not known, it accepts the release; Recheck has the true ones.
func (a asking) checkSizes() error {
	j := a.job
	files := j.plan().files
	return cmp.Or(j.entry.CheckFiles(a.cfg.Guards, files, j.sizeOf, j.active), j.entry.CheckBytes(a.cfg.Guards, files, j.sizeOf, j.active))
}

// fullCheckDue is true when a sync must ask for the Manifest and its digests even
// though the release may be the served one.
func (r *run) fullCheckDue(j *job) bool {
	return !j.served && j.staged.Manifest == "" || j.state.Served != "" && j.state.Served != j.active.ID() || r.req.Demand || r.req.Force ||
		!r.sameConfig(j) ||
		j.state.FullAt.After(r.started) || // the clock was set back
		r.deadlines.Passed("recheck of "+j.target.Name, j.state.FullAt.Add(r.cfg.Recheck), clock.Now())
}

// sameConfig is true when the state is of the same source and selection: another source
// has other validators.
func (r *run) sameConfig(j *job) bool { return j.state.Config == r.tree.Fingerprint(j.target) }
