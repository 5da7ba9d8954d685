package golive

import (
	"cmp"
	"context"

	"syncd/internal/hooks/outbox"
	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

func discardStaged(ctx context.Context, t *Tree, names []string, req request.Activate) (report.Sync, error) {
	op := &discard{Command: NewCommand(t, req.Trigger), req: req, names: names}
	_, err := t.Apply(ctx, op)
	return op.Result, err
}

// discard drops staged and quarantined revisions. The served ones stay.
type discard struct {
	Command
	req     request.Activate
	names   []string
	changes store.Changes
}

func (op *discard) Propose(context.Context) (p Proposal, err error) {
	states, err := op.Store.Manifests()
	if err = cmp.Or(err, op.isMeant(op.req)); err != nil {
		return p, err
	}
	op.changes.Manifests = map[string]store.Manifest{}
	for _, name := range op.names {
		e := op.Staging.Get(name)
		if e.Manifest == "" || e.Dropped {
			continue
		}
		of := op.target(name)
		if err := op.Staging.Discard(name, of.terms(op.Fingerprint(of))); err != nil {
			return p, err
		}
		state := states[name]
		if state.Failure != nil && state.Failure.Reason == string(refusal.Gate) {
			state.Failure = nil
			op.changes.Manifests[name] = state
		}
		record := op.Mirror.Current().Records[name]
		record.Manifest = name // there may be none
		op.Result.Manifests = append(op.Result.Manifests, ResultOf(record, report.Unchanged))
	}
	return p, nil
}

func (op *discard) Settle(o Outcome) (*Commit, error) {
	op.Settled(o)
	if len(op.Result.Manifests) == 0 {
		return nil, o.Err
	}
	op.room.RequestPrune()
	record := op.Record(op.changes, outbox.News{})
	for _, m := range op.Result.Manifests {
		record.Touched = append(record.Touched, m.Name)
	}
	return record, o.Err
}
