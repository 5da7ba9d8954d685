package syncer

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"syncd/internal/disk/space"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/report"
)

// publish swaps those of jobs that are ready into service, with one generation, and
// records all jobs. With Config.DropRemoved, it also removes manifests that left the
// configuration. It returns an error only if the context ended or the data directory was lost before the swap.
// Neither is a failure of a manifest.
func (r *run) publish(ctx context.Context, jobs []*job) error {
	before := r.cfg.Mirror.Current().Number
	err := r.cfg.Shared.change(ctx, func() error {
		for _, j := range openJobs(jobs) {
			r.recheck(j)
		}
		r.requireAll()
		r.relinkReplaced()
		if err := r.publishReady(ctx, jobs); err != nil {
			return err
		}
		r.recordErr = errors.Join(r.recordErr, r.record(jobs))
		return nil
	})
	if r.cfg.Mirror.Current().Number != before {
		r.export(ctx)
	}
	return err
}

// relinkReplaced gives earlier revisions the objects that this sync downloaded again.
func (r *run) relinkReplaced() {
	for _, id := range r.session.TakeReplaced() {
		if err := r.cfg.Mirror.Relink(id); err != nil {
			r.cfg.Log.Warn().Err(err).Stringer("object", id).Msg("files of earlier revisions stay damaged: run `syncd verify --repair`")
		}
	}
}

func (r *run) publishReady(ctx context.Context, jobs []*job) error {
	change, served := r.change(ctx, jobs), r.cfg.Mirror.Current()
	err := r.swap(ctx, jobs, &change)
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return err
	}
	if err != nil {
		r.failViews(change.Views, err)
	}
	if err != nil && len(change.Remove) > 0 && len(change.Set) == 0 {
		r.cfg.Log.Error().Err(err).Strs("manifests", change.Remove).Msg("publishing failed; manifests that left the configuration stay published")
	}
	for _, j := range jobs {
		switch {
		case !j.open() && !sets(change, j.target.Name):
		case err != nil:
			j.fail(space.RefuseIfFull(err))
		case sets(change, j.target.Name):
			before := j.active
			j.active = r.cfg.Mirror.Current().Records[j.target.Name]
			j.republished = r.cfg.isRepublished(j.target, j.state, before, j.active)
			j.settle(report.Updated)
		default: // it waits for its group
			j.settle(report.Unchanged)
		}
	}
	if err == nil {
		r.noteLive(jobs, change, served)
	}
	return nil
}

// noteLive forgets what is staged of the manifests that went live. served is what was
// served before.
func (r *run) noteLive(jobs []*job, change mirror.Change, served mirror.Generation) {
	r.dropWithdrawn(jobs)
	for _, record := range change.Set {
		r.forgetStaged(record.Manifest)
		if !slices.ContainsFunc(jobs, func(j *job) bool { return j.target.Name == record.Manifest }) {
			r.mateRecords = append(r.mateRecords, record)
		}
	}
	r.republished = republished(served, r.mateRecords)
}

// recheck compares a ready job with what is served now. Since the sync began, a
// rollback may have changed that. The release then goes live only if the guards and
// the hold allow it. A hold that is newer than the sync also binds a forced one.
func (r *run) recheck(j *job) {
	served, isServed := r.cfg.Mirror.Current().Records[j.target.Name]
	if r.newOrdersKeep(j, served) {
		j.active, j.served = served, isServed
		j.settle(report.Unchanged)
		return
	}
	if isServed == j.served && served.ID() == j.active.ID() && reflect.DeepEqual(served.Held, j.active.Held) {
		j.failIf(r.checkBytes(j))
		return
	}
	j.active, j.served = served, isServed
	if r.holdKeeps(j, j.plan.Files) || r.isCurrent(j, j.plan.Files) {
		j.settle(report.Unchanged)
		return
	}
	j.failIf(cmp.Or(j.entry.CheckDowngrade(served), j.entry.CheckCount(r.cfg.guards(), j.listed, served), r.checkBytes(j)))
}

// change collects the records to publish, stages what must wait, and settles the jobs
// whose served revision has the same content.
func (r *run) change(ctx context.Context, jobs []*job) mirror.Change {
	change := mirror.Change{}
	if newest := r.cfg.Shared.newest.Load(); newest.DropRemoved {
		change.Remove = newest.orphanedManifests()
	}
	now := time.Now().UTC()
	for _, j := range openJobs(jobs) {
		record := r.recordOf(j, now)
		if j.served && slices.EqualFunc(record.Files, j.active.Files, sameContent) && record.ID() == j.active.ID() && j.active.Held == nil {
			j.state.Matches = matchOf(manifest.Fingerprint(j.plan.Files), j.active)
			j.settle(report.Unchanged)
			continue
		}
		r.progress.SetPhase(j.target.Name, report.PhasePublishing)
		if r.goesDirectly(j.target, now) {
			change.Set = append(change.Set, record)
			continue
		}
		_, isNew, err := r.cfg.stage(ctx, record, nil)
		if err != nil {
			j.fail(err)
			continue
		}
		j.newlyStaged = j.newlyStaged || isNew
		j.settle(report.Unchanged)
	}
	staged := r.cfg.ready(unchanged(jobs), now, r.source.AllOrNothing())
	change.Set, r.together = append(change.Set, staged...), r.cfg.groupsOf(staged)
	r.endHolds(jobs, &change)
	change.Remove = append(change.Remove, r.removedViews(change.Set)...)
	return change
}

// unchanged names the manifests that a sync leaves as they are, unless something of them
// is staged and may go live.
func unchanged(jobs []*job) (names []string) {
	for _, j := range jobs {
		if !j.open() && !j.hasFailed() && !j.withdrawn {
			names = append(names, j.target.Name)
		}
	}
	return names
}

// swap publishes the change with the views that follow from it, and without the manifests
// and views whose trees cannot be built.
func (r *run) swap(ctx context.Context, jobs []*job, change *mirror.Change) error {
	before := r.cfg.Mirror.Current().Number
	for {
		views := r.arrangeViews(jobs, change)
		if len(change.Set)+len(change.Views)+len(change.Remove)+len(change.Orders) == 0 {
			r.noteViews(views)
			return nil
		}
		_, err := r.cfg.Mirror.Publish(ctx, *change)
		if r.cfg.Mirror.Current().Number != before { // also after an error: readers may have it
			r.published, r.isNew = true, true
		}
		var broken *mirror.BuildError
		if !errors.As(err, &broken) || r.source.AllOrNothing() { // a lock is made as a whole
			if err == nil {
				r.noteViews(views)
				r.cfg.Shared.room.RequestPrune()
				r.removed = append(r.removed, change.Remove...)
			}
			return err
		}
		for _, j := range jobs {
			if j.target.Name == broken.Manifest && sets(*change, broken.Manifest) {
				j.fail(space.RefuseIfFull(broken.Err))
			}
		}
		for i := range r.views {
			if r.views[i].Name == broken.View {
				r.views[i].err = space.RefuseIfFull(broken.Err)
			}
		}
		change.Set = slices.DeleteFunc(change.Set, func(record mirror.Record) bool { return record.Manifest == broken.Manifest })
		change.Set = wholeGroups(change.Set, r.together)
	}
}

func sameContent(a, b mirror.File) bool { return a.Path == b.Path && a.Object == b.Object }

// recordOf is the record of a job whose every file is an object now.
func (r *run) recordOf(j *job, now time.Time) mirror.Record {
	record := mirror.Record{
		Manifest: j.target.Name, Source: r.cfg.Source, Release: j.release, Listed: j.listed,
		MirroredAt: now, PublishedAt: now, Version: r.cfg.Version,
		Chosen: j.entry.IsChosen(),
	}
	sums := make([]manifest.Sum, len(j.plan.Files))
	record.Files = make([]mirror.File, 0, len(j.plan.Files))
	for i, f := range j.plan.Files {
		object := j.plan.Known[f.Expected]
		sums[i] = manifest.Sum{Object: object.ID, Path: f.Path}
		record.Bytes += object.Size
		record.Files = append(record.Files, mirror.File{
			Path: f.Path, Reference: f.Reference, Size: object.Size,
			Object: object.ID, Expected: f.Expected, Slash: f.Slash, Position: f.Position,
		})
	}
	record.Revision = manifest.RevisionID(sums)
	j.told.Fill(&record)
	return record
}

var errNotAllLocked = errors.New("not published, because another manifest of the lock file failed")

// requireAll fails every manifest when one of the lock file failed: the lock is made as a
// whole, or not at all.
func (r *run) requireAll() {
	if !r.source.AllOrNothing() || !slices.ContainsFunc(r.jobs, func(j *job) bool { return j.hasFailed() }) {
		return
	}
	for _, j := range openJobs(r.jobs) {
		j.fail(errNotAllLocked)
	}
}
