package syncer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"syncd/internal/changes"
	"syncd/internal/golive"
	"syncd/internal/golive/rows"
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
		Replaced: r.takeReplaced, Exports: r.exportOptions(), TakeOver: r.req.TakeOver,
	}
	for _, j := range jobs {
		if j.open() {
			r.progress.SetPhase(j.target.Name, report.PhasePublishing)
		}
		publication.Candidates = append(publication.Candidates, &candidate{asking{r, j}})
	}
	exported, err := r.tree.Publish(ctx, publication)
	if r.hasReplaced && !publication.Moved() {
		exported = r.tree.Exporter().Follow(ctx, r.exportOptions(), nil)
	}
	r.hasReplaced = false
	r.results.NoteExports(exported)
	return err
}

// takeReplaced returns the objects that were downloaded again since the last call. Exported
// folders still show the damaged ones.
func (r *run) takeReplaced() []manifest.ObjectID {
	replaced := r.session.TakeReplaced()
	r.hasReplaced = r.hasReplaced || len(replaced) > 0
	return replaced
}

// candidate is a job of a run, as golive.Tree publishes it.
type candidate struct{ asking }

func (c *candidate) Target() golive.Target { return c.job.target }
func (c *candidate) Orders() mirror.Orders { return c.job.active.Orders }
func (c *candidate) IsOpen() bool          { return c.job.open() }
func (c *candidate) HasFailed() bool       { return c.job.hasFailed() }
func (c *candidate) IsWithdrawn() bool     { return c.job.withdrawn }
func (c *candidate) Fail(why error)        { c.job.finish(why) }
func (c *candidate) Stay()                 { c.job.settle(report.Unchanged) }
func (c *candidate) Staged(isNew bool)     { c.job.newlyStaged = c.job.newlyStaged || isNew }

// Recheck compares a ready job with what is served now. Since the sync began, a
// rollback may have changed that. The release then goes live only if the guards and
// the hold allow it. A hold that is newer than the sync also binds a forced one.
func (c *candidate) Recheck(served mirror.Record, isServed bool) {
	c.job.finish(c.recheck(served, isServed))
}

func (c *candidate) recheck(served mirror.Record, isServed bool) error {
	j := c.job
	if _, found, err := c.destroyed(j.plan().files); err != nil || found { // since it was planned
		return cmp.Or(err, c.stays("it was destroyed"))
	}
	ordered := c.newOrdersKeep(served)
	if !ordered && isServed == j.served && served.ID() == j.active.ID() && reflect.DeepEqual(served.Held, j.active.Held) {
		return c.checkSizes()
	}
	before := j.active
	j.active, j.served = served, isServed
	p := j.plan()
	switch {
	case ordered:
		return c.stays("an order like `syncd hold` came")
	case c.holdKeeps(p.files), c.isCurrent(p.files):
		return unchanged()
	}
	if isServed && served.ID() != before.ID() && j.target.Rows.Guards() && !c.req.Force {
		return errors.New("another revision is served since the rows were compared: the next sync compares them again")
	}
	return cmp.Or(j.entry.CheckDowngrade(served), j.entry.CheckCount(c.cfg.Guards, p.count, served), c.checkSizes())
}

// stays ends a ready job that must not go live after all. By a lock file, nothing else goes
// live then.
func (c *candidate) stays(why string) error {
	if c.source.AllOrNothing() {
		return fmt.Errorf("%s while the sync ran: `syncd explain %s` shows it", why, c.job.target.Name)
	}
	return unchanged()
}

// Same notes that the served revision has the digests of the plan.
func (c *candidate) Same() {
	j := c.job
	j.state.Matches = matchOf(manifest.Fingerprint(j.plan().files), j.active)
	j.settle(report.Unchanged)
}

func (c *candidate) Live(record mirror.Record) {
	j, before := c.job, c.job.active
	if _, known := changes.Find(j.state.Compared, before.ID(), record.ID()); !known && before.Manifest != "" {
		j.state.Compared = changes.Keep(j.state.Compared, rows.OfFiles(before, record))
	}
	j.plan().told.Forget() // the record has it
	j.active = record
	j.republished = c.tree.IsRepublished(j.target, j.state, before, record)
	j.settle(report.Updated)
}

// Record is the record of a job whose every file is an object now.
func (c *candidate) Record(now time.Time) mirror.Record {
	j, p, objects := c.job, c.job.plan(), c.job.objects()
	record := mirror.Record{
		Manifest: j.target.Name, Release: j.release, Listed: p.count,
		MirroredAt: now, PublishedAt: now, Version: c.cfg.Version,
		Chosen: j.entry.IsChosen(),
	}
	sums := make([]manifest.Sum, len(p.files))
	record.Files = make([]mirror.File, 0, len(p.files))
	for i, f := range p.files {
		object, _ := objects.Get(f.Expected)
		sums[i] = manifest.Sum{Object: object.ID, Path: f.Path}
		record.Bytes += object.Size
		record.Files = append(record.Files, mirror.File{
			Path: f.Path, Reference: f.Reference, Size: object.Size,
			Object: object.ID, Expected: f.Expected, Slash: f.Slash, Position: f.Position,
		})
	}
	record.Revision = manifest.RevisionID(sums)
	c.originOf(&record)
	p.told.Fill(&record)
	return record
}

// judge compares the rows of the revision of a complete job, and has the gate look at it.
func (r *run) judge(ctx context.Context, j *job) {
	if !j.awaitsGate() || ctx.Err() != nil {
		return
	}
	if err := r.compareRows(ctx, j); err != nil || len(j.target.Gate.Command) == 0 {
		switch {
		case ctx.Err() != nil:
		case err != nil:
			j.finish(err)
		default:
			j.passGate()
		}
		return
	}
	r.progress.SetPhase(j.target.Name, report.PhaseGating)
	ctx, span := j.startSpan(ctx, "gate")
	asked, err := r.tree.Judge(ctx, &candidate{asking{r, j}}, func() []mirror.Record { return r.mates(j) })
	span.End(err)
	switch {
	case ctx.Err() != nil:
	case (refusal.ReasonOf(err) == refusal.Gate || refusal.ReasonOf(err) == refusal.Probe) && !asked: // hooks were told
		j.finish(repeated(report.Refused, err))
	case err != nil:
		j.finish(err)
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
			records = append(records, (&candidate{asking{r, other}}).Record(time.Now().UTC()))
		}
	}
	return records
}
