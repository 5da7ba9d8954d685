package syncer

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"time"

	"syncd/internal/golive"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/report"
)

// publish publishes those of jobs that are ready, with one generation, and records all
// jobs. It returns an error only if the context ended or the data directory was lost before
// the swap. Neither is a failure of a manifest.
func (r *run) publish(ctx context.Context, jobs []*job) error {
	publication := &golive.Publication{
		Saver: &saver{r, jobs}, Views: r.views, Whole: r.source.AllOrNothing(), Force: r.req.Force,
		Replaced: r.session.TakeReplaced, Exports: r.exportOptions(), TakeOver: r.req.TakeOver,
	}
	for _, j := range jobs {
		if j.open() {
			r.progress.SetPhase(j.target.Name, report.PhasePublishing)
		}
		publication.Candidates = append(publication.Candidates, &candidate{r, j})
	}
	exported, err := r.tree.Publish(ctx, publication)
	r.noteExports(exported)
	return err
}

// candidate is a job of a run, as golive.Tree publishes it.
type candidate struct {
	run *run
	job *job
}

func (c *candidate) Target() golive.Target { return c.job.target }
func (c *candidate) Orders() mirror.Orders { return c.job.active.Orders }
func (c *candidate) IsOpen() bool          { return c.job.open() }
func (c *candidate) HasFailed() bool       { return c.job.hasFailed() }
func (c *candidate) IsWithdrawn() bool     { return c.job.withdrawn }
func (c *candidate) Fail(why error)        { c.job.fail(why) }
func (c *candidate) Stay()                 { c.job.settle(report.Unchanged) }
func (c *candidate) Staged(isNew bool)     { c.job.newlyStaged = c.job.newlyStaged || isNew }

// Recheck compares a ready job with what is served now. Since the sync began, a
// rollback may have changed that. The release then goes live only if the guards and
// the hold allow it. A hold that is newer than the sync also binds a forced one.
func (c *candidate) Recheck(served mirror.Record, isServed bool) {
	r, j := c.run, c.job
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

// Same notes that the served revision has the digests of the plan.
func (c *candidate) Same() {
	j := c.job
	j.state.Matches = matchOf(manifest.Fingerprint(j.plan.Files), j.active)
	j.settle(report.Unchanged)
}

func (c *candidate) Live(record mirror.Record) {
	j, before := c.job, c.job.active
	j.active = record
	j.republished = c.run.tree.IsRepublished(j.target, j.state, before, record)
	j.settle(report.Updated)
}

// Record is the record of a job whose every file is an object now.
func (c *candidate) Record(now time.Time) mirror.Record {
	r, j := c.run, c.job
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

// judge has the gate look at the revision of a complete job.
func (r *run) judge(ctx context.Context, j *job) {
	if !j.awaitsGate() || ctx.Err() != nil {
		return
	}
	r.progress.SetPhase(j.target.Name, report.PhaseGating)
	asked, err := r.tree.Judge(ctx, &candidate{r, j}, func() []mirror.Record { return r.mates(j) })
	switch {
	case ctx.Err() != nil:
	case refusal.ReasonOf(err) == refusal.Gate && !asked: // hooks were told
		j.repeat(report.Refused, err)
	case err != nil:
		j.fail(err)
	default:
		j.passGate()
	}
}

// mates returns the records of what would go live together with a job: of other complete
// jobs of its group.
func (r *run) mates(j *job) (records []mirror.Record) {
	group := r.cfg.Groups.Of(j.target.Name)
	for _, other := range r.jobs {
		if other != j && slices.Contains(group, other.target.Name) && other.isComplete() {
			records = append(records, (&candidate{r, other}).Record(time.Now().UTC()))
		}
	}
	return records
}

// isKnown is true if a poll that finds the job's release can end at once: it is the
// served one, or staged with nothing left to do.
func (r *run) isKnown(j *job) bool {
	e := j.staged
	if e.Manifest == "" {
		return j.release == j.active.Release
	}
	return j.release == e.Release && (e.Dropped || e.Passes(j.target.Gate.Identity(), j.active.ID()))
}

// settleIfStaged settles the job when the staged revision has the expected digests, and
// no gate must run.
func (r *run) settleIfStaged(j *job) {
	e := r.cfg.Staging.Get(j.target.Name)
	if e.Release != j.release || e.Expected != manifest.Fingerprint(j.files) {
		return
	}
	switch verdict := e.Judged(j.target.Gate.Identity(), j.active.ID()); {
	case e.Dropped && r.req.Demand && !e.IsQuarantined(): // asked for again
	case e.Dropped, e.Passes(j.target.Gate.Identity(), j.active.ID()):
		j.settle(report.Unchanged)
	case verdict != nil:
		j.repeat(report.Refused, refusal.New(refusal.Gate, "%s", verdict.Error))
	}
}
