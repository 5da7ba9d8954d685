package rollback

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"syncd/internal/golive"
	"syncd/internal/hooks/outbox"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

// Do publishes a new generation with the revisions of an earlier one. Each
// manifest that goes back is held there, see mirror.Hold. It does not wait for downloads,
// not even of the same manifest. Files that nobody may have read since they were served are
// read before the swap, so that no damage of the disk goes live; other changes go on
// meanwhile.
func Do(ctx context.Context, t *golive.Tree, req request.Rollback) (report.Sync, error) {
	op := &operation{Command: golive.NewCommand(t, request.TriggerRollback), req: req, proven: map[string]bool{}}
	for {
		exported, err := t.Apply(ctx, op)
		var unproven *unprovenError
		if !errors.As(err, &unproven) {
			op.Result.Exports = exported
			return op.Result, err
		}
		if err := (reproof{t}).read(ctx, unproven.records); err != nil {
			return op.Result, err
		}
		for _, r := range unproven.records {
			op.proven[r.Key()] = true
		}
	}
}

// operation goes back as a whole: a view that cannot hold the files prevents it.
type operation struct {
	golive.Command
	req     request.Rollback
	targets golive.Targets
	found   *mirror.Generation // the goal, which stays the same while its files are read
	proven  map[string]bool    // revisions whose files were read, by their keys
}

func (op *operation) Propose(context.Context) (p golive.Proposal, err error) {
	if op.targets, err = op.Targets.Choose(op.req.Manifests, false); err != nil {
		return p, err
	}
	if err := op.RefreshLocked(); err != nil {
		return p, err
	}
	goal, err := op.goal()
	if err != nil {
		return p, err
	}
	current := op.Mirror.Current()
	op.found = &goal
	p = golive.Proposal{Change: ChangeTo(op.Tree, goal, current, op.targets), Whole: true, Views: op.ConfiguredViews(), Orphans: true, Stays: true}
	if op.req.Force {
		p.Forced = op.targets.Names()
	}
	if err := op.expired(p); err != nil {
		return p, err
	}
	var unproven []mirror.Record
	for _, r := range p.Change.Set {
		if op.isUndone(r) {
			return p, refusal.New(refusal.Probe, "the probe refused %s of %s, so nothing was changed: `syncd activate --again %s` tries it again", r.Release, r.Manifest, r.Manifest)
		}
		if !op.proven[r.Key()] {
			unproven = append(unproven, goal.Records[r.Manifest])
		}
	}
	switch {
	case len(p.Change.Set) == 0 && goal.Number == current.Number:
		return p, fmt.Errorf("nothing to go back to: generation %d is the served one", goal.Number)
	case len(p.Change.Set) == 0:
		return p, fmt.Errorf("nothing to go back to: generation %d has the same revisions as the served generation %d", goal.Number, current.Number)
	case len(unproven) > 0:
		return p, &unprovenError{unproven}
	}
	return p, nil
}

// expired says which revision must not go live any more, before files are read.
func (op *operation) expired(p golive.Proposal) error {
	if len(p.Forced) > 0 {
		return nil
	}
	for _, r := range p.Change.Set {
		if why := golive.CheckRevision(op.Tree, r, op.Mirror.Current().Records[r.Manifest]); why != nil {
			op.CountExpired([]string{r.Manifest}, why)
			return fmt.Errorf("%w; `syncd rollback --manifest NAME` rolls back others", why)
		}
	}
	return nil
}

// Settle lists the manifests that went back.
func (op *operation) Settle(o golive.Outcome) (*golive.Commit, error) {
	if !op.Settled(o) {
		return nil, o.Err
	}
	for _, record := range o.Change.Set {
		op.Result.Manifests = append(op.Result.Manifests, op.WentTo(record, o))
	}
	return op.Record(store.Changes{}, outbox.News{}), o.Err
}

// isUndone is true for a revision that the consumer did not work with.
func (op *operation) isUndone(r mirror.Record) bool {
	e := op.Staging.Get(r.Manifest)
	return e.IsUndone() && e.ID() == r.ID()
}

// refusedByProbe names the revisions to which no rollback leads.
func (op *operation) refusedByProbe() (text string) {
	for _, t := range op.targets {
		if e := op.Staging.Get(t.Name); e.IsUndone() {
			text += fmt.Sprintf("; the probe refused %s of %s: `syncd activate --again %s` tries it again", e.Release, t.Name, t.Name)
		}
	}
	return text
}

// goal is the requested generation; without one, the newest generation before the
// current one that has another revision of one of the manifests.
func (op *operation) goal() (mirror.Generation, error) {
	switch {
	case op.found != nil && op.found.Number == 0:
		return *op.found, nil
	case op.found != nil:
		return op.Mirror.Generations.Find(op.found.Number)
	case op.req.Generation > 0:
		return op.Mirror.Generations.Find(op.req.Generation)
	}
	current := op.Mirror.Current()
	all, err := op.Mirror.Generations.All()
	if err != nil {
		return mirror.Generation{}, err
	}
	for _, g := range all {
		differs := slices.ContainsFunc(op.targets, func(t golive.Target) bool {
			then, shown := g.Records[t.Name]
			return shown && then.ID() != current.Records[t.Name].ID()
		}) && !slices.ContainsFunc(op.targets, func(t golive.Target) bool { return op.isUndone(g.Records[t.Name]) })
		if g.Number < current.Number && differs {
			return g, nil
		}
	}
	return op.revisionsBefore()
}

// revisionsBefore makes a generation of the revisions served before the current
// ones, when no earlier generation is on disk.
func (op *operation) revisionsBefore() (mirror.Generation, error) {
	view := mirror.Generation{Records: map[string]mirror.Record{}}
	current := op.Mirror.Current()
	for _, t := range op.targets {
		records, err := op.Mirror.Records.Revisions(t.Name)
		if err != nil {
			return mirror.Generation{}, err
		}
		i := slices.IndexFunc(records, func(r mirror.Record) bool { return r.ID() != current.Records[t.Name].ID() && !op.isUndone(r) })
		if i >= 0 {
			view.Records[t.Name] = records[i]
		}
	}
	if len(view.Records) == 0 {
		return mirror.Generation{}, errors.New("nothing to go back to: no other revision is on disk" + op.refusedByProbe())
	}
	return view, nil
}
