package golive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"syncd/internal/hooks/outbox"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

// Rollback publishes a new generation with the revisions of an earlier one. Each
// manifest that goes back is held there, see mirror.Hold. It does not wait for downloads,
// not even of the same manifest. Files that nobody may have read since they were served are
// read before the swap, so that no damage of the disk goes live; other changes go on
// meanwhile.
func Rollback(ctx context.Context, t *Tree, req request.Rollback) (report.Sync, error) {
	op := &rollback{command: t.command(request.TriggerRollback), req: req, proven: map[string]bool{}}
	for {
		exported, err := t.Apply(ctx, op)
		var unproven *unprovenError
		if !errors.As(err, &unproven) {
			op.result.Exports = exported
			return op.result, err
		}
		if err := (reproof{t}).read(ctx, unproven.records); err != nil {
			return op.result, err
		}
		for _, r := range unproven.records {
			op.proven[r.Key()] = true
		}
	}
}

// rollback goes back as a whole: a view that cannot hold the files prevents it.
type rollback struct {
	command
	req     request.Rollback
	targets Targets
	found   *mirror.Generation // the goal, which stays the same while its files are read
	proven  map[string]bool    // revisions whose files were read, by their keys
}

func (op *rollback) Propose(context.Context) (p Proposal, err error) {
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
	p = Proposal{Change: op.changeTo(goal, current, op.targets), Whole: true, Views: op.ConfiguredViews(), Orphans: true, Stays: true}
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
func (op *rollback) expired(p Proposal) error {
	if len(p.Forced) > 0 {
		return nil
	}
	for _, r := range p.Change.Set {
		if why := (aging{op.Tree}).refusal(r, op.Mirror.Current().Records[r.Manifest]); why != nil {
			op.countExpired([]string{r.Manifest}, why)
			return fmt.Errorf("%w; `syncd rollback --manifest NAME` rolls back others", why)
		}
	}
	return nil
}

// Settle lists the manifests that went back.
func (op *rollback) Settle(o Outcome) (*Commit, error) {
	if !op.settled(o) {
		return nil, o.Err
	}
	for _, record := range o.Change.Set {
		result := resultOf(record, report.Updated)
		if _, moved := o.Change.Orders[record.Manifest]; moved {
			result.PinnedBefore = string(o.Before.Records[record.Manifest].Orders.Pin)
			op.Log.Warn().Str("manifest", record.Manifest).Str("pin", string(record.Release)).Str("pinned_before", result.PinnedBefore).Msg("the rollback moved the pin")
		}
		op.result.Manifests = append(op.result.Manifests, result)
	}
	return op.record(store.Changes{}, outbox.News{}), o.Err
}

// isUndone is true for a revision that the consumer did not work with.
func (op *rollback) isUndone(r mirror.Record) bool {
	e := op.Staging.Get(r.Manifest)
	return e.IsUndone() && e.ID() == r.ID()
}

// refusedByProbe names the revisions to which no rollback leads.
func (op *rollback) refusedByProbe() (text string) {
	for _, t := range op.targets {
		if e := op.Staging.Get(t.Name); e.IsUndone() {
			text += fmt.Sprintf("; the probe refused %s of %s: `syncd activate --again %s` tries it again", e.Release, t.Name, t.Name)
		}
	}
	return text
}

// goal is the requested generation; without one, the newest generation before the
// current one that has another revision of one of the manifests.
func (op *rollback) goal() (mirror.Generation, error) {
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
		differs := slices.ContainsFunc(op.targets, func(t Target) bool {
			then, shown := g.Records[t.Name]
			return shown && then.ID() != current.Records[t.Name].ID()
		}) && !slices.ContainsFunc(op.targets, func(t Target) bool { return op.isUndone(g.Records[t.Name]) })
		if g.Number < current.Number && differs {
			return g, nil
		}
	}
	return op.revisionsBefore()
}

// revisionsBefore makes a generation of the revisions served before the current
// ones, when no earlier generation is on disk.
func (op *rollback) revisionsBefore() (mirror.Generation, error) {
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

// changeTo returns the change that leads to a generation. A pin goes along.
func (op *command) changeTo(goal, current mirror.Generation, targets Targets) (change mirror.Change) {
	for _, t := range targets {
		then, shown := goal.Records[t.Name]
		now := current.Records[t.Name]
		if !shown || then.ID() == now.ID() {
			continue
		}
		orders := aging{op.Tree}.orders(t.Name)
		if orders.Pin != "" && orders.Pin != then.Release { // or the next sync would undo the rollback
			orders.Pin, orders.PinForced = then.Release, false
			if change.Orders == nil {
				change.Orders = map[string]mirror.Orders{}
			}
			change.Orders[t.Name] = orders
		}
		then = op.Mirror.Records.Described(then)
		then.Held, then.PublishedAt = op.holdFrom(t.With(orders), now, then), time.Now().UTC()
		change.Set = append(change.Set, then)
	}
	return change
}

// holdFrom is the hold of a manifest that goes from one record to another. Going
// forward ends a hold; a manifest that stays behind the release that it left keeps
// the hold from there, also if the configured release or the pin changed since.
func (op *command) holdFrom(t Target, now, then mirror.Record) *mirror.Hold {
	if hold := now.Held; hold != nil {
		if then.Release.Newer(hold.Release) || then.Release == hold.Release && then.Revision == hold.Revision {
			return nil
		}
		still := *hold
		still.Setting = t.Release
		return &still
	}
	if now.Manifest == "" || then.Release.Newer(now.Release) {
		return nil
	}
	return &mirror.Hold{
		Release: now.Release, Revision: now.Revision, Fingerprint: now.Fingerprint(),
		Setting: t.Release, Selection: op.Selection(t),
	}
}
