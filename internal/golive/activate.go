package golive

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"syncd/internal/hooks/outbox"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

// Activate publishes what is staged, or discards it. It does not wait for downloads, not
// even of the same manifest. A manifest whose gate refuses it, or that cannot be built,
// holds up its group and no other. With names, it is also a failure if something of them is
// staged and must wait. The error says why nothing went live.
func Activate(ctx context.Context, t *Tree, req request.Activate) (report.Sync, error) {
	names, err := t.Named(req.Names)
	if err != nil {
		return report.Sync{}, err
	}
	if req.Discard {
		return discardStaged(ctx, t, names, req)
	}
	stay := court{t}.judgeStaged(ctx, names, req)
	if ctx.Err() != nil {
		return report.Sync{}, context.Cause(ctx)
	}
	op := &activation{Command: NewCommand(t, req.Trigger), req: req, names: names, stay: stay}
	exported, err := t.Apply(ctx, op)
	op.Result.Exports = exported
	return op.Result, err
}

// isMeant fails if another revision waits than the one that the request names. A sync can
// stage a newer one while a person reads what was staged before.
func (c Command) isMeant(req request.Activate) error {
	for _, name := range req.Names {
		if e := c.Staging.Get(name); req.Revision != "" && e.Revision != req.Revision {
			return fmt.Errorf("%s: revision %s does not wait any longer, so nothing was done: see `syncd status` for what waits now", name, req.Revision)
		}
	}
	return nil
}

// reasons say why manifests do not go live, by name.
type reasons map[string]error

// with adds a reason.
func (r reasons) with(name string, why error) reasons {
	if r == nil {
		r = reasons{}
	}
	r[name] = why
	return r
}

// err is nil for no reason. It is one line, as a daemon's answers are.
func (r reasons) err() (err error) {
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if err == nil {
			err = fmt.Errorf("%s: %w", name, r[name])
		} else {
			err = fmt.Errorf("%w; %s: %w", err, name, r[name])
		}
	}
	return err
}

// activation publishes the staged revisions that are ready, each with its whole group.
type activation struct {
	Command
	req   request.Activate
	names []string
	stay  reasons // what gates said before
}

func (op *activation) Propose(context.Context) (p Proposal, err error) {
	if err := cmp.Or(op.RefreshLocked(), op.isMeant(op.req)); err != nil {
		return p, err
	}
	asked := op.req.Trigger != request.TriggerWindow
	names := op.names
	if !asked {
		names = aging{op.Tree}.fresh(names, op.Staging.All())
	}
	records, broken := queue{Tree: op.Tree}.ready(names, op.Started, asked)
	maps.Copy(op.stay, broken)
	if asked && (len(op.req.Names) > 0 || len(records) == 0) {
		op.addWaiting(records)
	}
	if len(records) == 0 {
		return p, nil
	}
	if op.req.Force {
		p.Forced = op.names
	}
	return Proposal{
		Forced: p.Forced,
		Change: mirror.Change{Set: records, Orders: queue{Tree: op.Tree}.pins(records, op.req.Force)}, Together: op.Groups.split(records),
		Views: op.ConfiguredViews(), Orphans: true, Replaces: true,
	}, nil
}

// addWaiting adds the manifests whose staged or quarantined revision is not among the
// records, each with the reason.
func (op *activation) addWaiting(records []mirror.Record) {
	entries := op.Staging.All()
	for _, name := range op.names {
		e := entries[name]
		goes := sets(mirror.Change{Set: records}, name)
		switch {
		case e.Manifest == "" || e.Dropped && !op.req.Again || goes || op.stay[name] != nil:
		case e.Dropped:
			op.stay[name] = fmt.Errorf("release %s was discarded: `syncd sync --force %s` fetches it again", e.Release, name)
		case e.IsQuarantined():
			op.stay[name] = fmt.Errorf("the %s refused release %s: `syncd activate --again %s` asks it again", cmp.Or(e.Verdict.Reason, refusal.Gate), e.Release, name)
		default:
			waits := staging.Waits(queue{Tree: op.Tree}.members(op.Groups.Of(name), entries, op.Started), op.Started, true)
			op.stay[name] = fmt.Errorf("release %s stays staged: %s", e.Release, waits)
		}
	}
}

// Leave keeps manifests that cannot be built staged, with their groups. The mates need the
// names of what holds them up.
func (op *activation) Leave(names, mates []string, why error) {
	op.CountExpired(names, why)
	why = fmt.Errorf("%s: %w", strings.Join(names, ", "), why)
	for _, name := range slices.Concat(names, mates) {
		op.stay[name] = why
	}
}

// Settle lists the manifests that went live and those that were to.
func (op *activation) Settle(o Outcome) (*Commit, error) {
	if !op.Settled(o) {
		return nil, cmp.Or(o.Err, op.stay.err())
	}
	for _, record := range o.Change.Set {
		op.Result.Manifests = append(op.Result.Manifests, op.WentTo(record, o))
	}
	for _, name := range slices.Sorted(maps.Keys(op.stay)) {
		op.Result.Manifests = append(op.Result.Manifests, StayResult(o.After.Records[name], name, string(op.Staging.Get(name).Release), op.stay[name]))
	}
	changes := store.Changes{Manifests: map[string]store.Manifest{}}
	NoteLive(op.Tree, o.Change.Set, &changes)
	return op.Record(changes, outbox.News{Republished: republished(o.Before, o.Change.Set)}), o.Err
}
