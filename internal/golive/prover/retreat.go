package prover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"syncd/internal/golive"
	"syncd/internal/golive/probe"
	"syncd/internal/golive/rollback"
	"syncd/internal/hooks/outbox"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/mirror/record"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/store"
)

// errNoWayBack says that a revision stays although its probe failed.
var errNoWayBack = errors.New("there is no way back")

// retreat takes back a revision that the consumer does not work with, and what the same swap
// brought of its group. All of it is kept back as after a rollback, and the revision is
// quarantined.
type retreat struct {
	golive.Command
	name, id string // of the revision
	trial    probe.Trial
	verdict  probe.Verdict
	stays    string // why it stays, with errNoWayBack
}

func (op *retreat) Propose(ctx context.Context) (p golive.Proposal, err error) {
	if err := op.RefreshLocked(); err != nil {
		return p, err
	}
	current := op.Mirror.Current()
	if current.Records[op.name].ID() != op.id {
		return p, probe.ErrOvertaken
	}
	goal, targets, err := op.goal(current)
	if err != nil {
		return p, err
	}
	change := rollback.ChangeTo(op.Tree, goal, current, targets)
	op.verdict.Error += fmt.Sprintf("; went back to %s", goal.Records[op.name].Release)
	if _, moved := change.Orders[op.name]; moved {
		op.verdict.Error += ", to which it is pinned now"
	}
	for _, t := range targets {
		if err := op.quarantine(ctx, current.Records[t.Name]); err != nil {
			return p, err
		}
	}
	return golive.Proposal{
		Change: change, Whole: true, Views: op.ConfiguredViews(), Orphans: true, Stays: true,
		Undone: op.undone(current, targets),
	}, nil
}

// undone describes what goes back.
func (op *retreat) undone(current mirror.Generation, targets golive.Targets) map[string]probe.Undone {
	undone := map[string]probe.Undone{}
	for _, t := range targets {
		left, why := current.Records[t.Name], op.verdict.Error
		if t.Name != op.name {
			why = op.name + ", of its group: " + why
		}
		undone[t.Name] = probe.Undone{Release: left.Release, Revision: left.Revision, Error: why, Lines: op.verdict.Lines}
	}
	return undone
}

// goal has the revisions that were served before the swap, of the manifests that still
// serve what it brought.
func (op *retreat) goal(current mirror.Generation) (goal mirror.Generation, targets golive.Targets, err error) {
	goal.Records = map[string]mirror.Record{}
	for _, name := range op.names() {
		swapped, isMate := op.trial.With[name]
		if !isMate {
			swapped = probe.Swapped{ID: op.id, Back: op.trial.Back}
		}
		if current.Records[name].ID() != swapped.ID {
			continue
		}
		if swapped.Back == "" {
			return goal, nil, op.stay("nothing of %s was served before", name)
		}
		then, err := op.Mirror.Records.Revision(name, swapped.Back)
		if err != nil {
			release, _ := record.SplitID(swapped.Back)
			return goal, nil, op.stay("%s of %s is not on disk any more", release, name)
		}
		if golive.CheckRevision(op.Tree, then, current.Records[name]) != nil {
			return goal, nil, op.stay("%s of %s has expired", then.Release, name)
		}
		goal.Records[name] = then
		targets = append(targets, op.Targets.Find(name))
	}
	return goal, targets, nil
}

// names of the manifests that go back together.
func (op *retreat) names() []string {
	return append(slices.Sorted(maps.Keys(op.trial.With)), op.name)
}

func (op *retreat) stay(format string, args ...any) error {
	op.stays = fmt.Sprintf(format, args...)
	return errNoWayBack
}

// quarantine stages a served revision, so that it stays on disk and its sync knows it. Only
// the one that failed is refused: the others of its group wait for that. Something newer that
// is staged stays.
func (op *retreat) quarantine(ctx context.Context, served mirror.Record) error {
	name, back := served.Manifest, op.trial.Back
	if with, isMate := op.trial.With[name]; isMate {
		back = with.Back
	}
	if e := op.Staging.Get(name); e.ID() != served.ID() && (e.IsStaged() || e.IsUndone()) {
		if e.Again == "" {
			return nil
		}
		e.Again = back // it went back before, to the revision that goes back now
		return op.Staging.Put(e)
	}
	if err := op.Mirror.Stage(ctx, served, nil); err != nil {
		return err
	}
	e := staging.Of(served, nil, time.Now())
	e.Again = back // `syncd activate --again` overrides the hold
	if err := op.Staging.Put(e); err != nil || name != op.name {
		return err
	}
	_, err := op.Staging.Judge(e, staging.Verdict{
		At: op.verdict.At, Error: op.verdict.Error, Lines: op.verdict.Lines, Reason: refusal.Probe,
	})
	return err
}

// Settle lists the manifests that went back.
func (op *retreat) Settle(o golive.Outcome) (*golive.Commit, error) {
	if !op.Settled(o) {
		return nil, o.Err
	}
	changes := store.Changes{Manifests: map[string]store.Manifest{}}
	golive.NoteLive(op.Tree, o.Change.Set, &changes)
	why := refusal.New(refusal.Probe, "%s", op.verdict.Error)
	for _, now := range o.Change.Set {
		left := o.Before.Records[now.Manifest]
		op.Result.Manifests = append(op.Result.Manifests, golive.StayResult(now, now.Manifest, string(left.Release), why))
		op.Metrics.Synced(now.Manifest, string(report.Refused), string(refusal.Probe))
		op.Log.Info().Str("manifest", now.Manifest).Str("release", string(left.Release)).Str("back_to", string(now.Release)).Str("error", op.verdict.Error).Msg("rolled back, because the probe failed")
	}
	op.Metrics.ProbeEnded(time.Duration(op.verdict.Seconds * float64(time.Second)))
	return op.Record(changes, outbox.News{}), o.Err
}
