package golive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"syncd/internal/hooks/outbox"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

// Order notes what an operator says about manifests in a new generation with the same
// revisions. A manifest without data has no record that could hold it.
func Order(ctx context.Context, t *Tree, req request.Order) (report.Sync, error) {
	op := &order{Command: NewCommand(t, req.Trigger), req: req}
	_, err := t.Apply(ctx, op)
	return op.Result, err
}

// order changes no revision, so that no view follows.
type order struct {
	Command
	req       request.Order
	withdrawn []string // manifests that nothing is served of, whose orders changed
}

func (op *order) Propose(context.Context) (p Proposal, err error) {
	if err := op.RefreshLocked(); err != nil {
		return p, err
	}
	targets, err := op.Targets.Choose(op.req.Manifests, false)
	if err != nil {
		return p, err
	}
	p.Change.Orders = map[string]mirror.Orders{}
	for _, t := range targets {
		record, served := Served(op.Tree, t.Name)
		gone := op.Lifespans.Get(t.Name).Withdrawn
		if !served && gone == nil {
			return p, fmt.Errorf("%s has no data yet, so there is no record to keep this in: set `release` in the configuration, or sync first", t.Name)
		}
		orders, err := newOrders(record, op.req)
		if err != nil {
			return p, err
		}
		if op.req.Trigger == request.TriggerPin && !op.req.Force {
			if err := (aging{op.Tree}).checkPin(t.Name, orders.Pin); err != nil {
				op.CountExpired([]string{t.Name}, err)
				return p, err
			}
		}
		if op.req.Trigger == request.TriggerPin { // the operator wants it, also if it was destroyed
			if err := op.Destroyed.Allow(t.Name, orders.Pin, time.Now()); err != nil {
				return p, err
			}
		}
		switch {
		case orders.Equal(record.Orders):
		case served:
			p.Change.Orders[t.Name] = orders
		default: // no record of current has them
			op.withdrawn = append(op.withdrawn, t.Name)
			if err := op.Lifespans.Order(t.Name, orders); err != nil {
				return p, err
			}
		}
		record.Manifest = t.Name
		result := ResultOf(record, report.Unchanged)
		if orders.Holds(time.Now()) {
			result.HoldUntil = &orders.HoldUntil
		}
		if record.Held != nil {
			result.HeldFrom = string(record.Held.Release)
		}
		op.Result.Manifests = append(op.Result.Manifests, result)
	}
	return p, nil
}

// newOrders applies a request to the orders of a record.
func newOrders(record mirror.Record, req request.Order) (mirror.Orders, error) {
	orders := record.Orders
	switch req.Trigger {
	case request.TriggerPin:
		orders.Pin, orders.PinForced = manifest.Release(req.Release), req.Force
	case request.TriggerUnpin:
		orders.Pin, orders.PinForced = "", false
	case request.TriggerHold:
		orders.HoldUntil = req.Until.UTC()
	case request.TriggerSkip:
		release := manifest.Release(req.Release)
		if release == record.Release && !req.Undo {
			return orders, fmt.Errorf("release %s of %s is served: `syncd rollback --manifest %s` goes back first", release, record.Manifest, record.Manifest)
		}
		orders.Skip = slices.DeleteFunc(slices.Clone(orders.Skip), func(r manifest.Release) bool { return r == release })
		if !req.Undo {
			orders.Skip = append(orders.Skip, release)
			slices.Sort(orders.Skip)
		}
	}
	return orders, nil
}

// Settle drops what is staged against the new orders.
func (op *order) Settle(o Outcome) (*Commit, error) {
	if !op.Settled(o) && len(op.withdrawn) == 0 {
		return nil, o.Err
	}
	err := o.Err
	for _, name := range slices.AppendSeq(op.withdrawn, maps.Keys(o.Change.Orders)) {
		t, e := op.target(name), op.Staging.Get(name)
		isOther := t.Release.IsMonth() && e.Release != t.Release
		isSkipped := aging{op.Tree}.orders(name).Skips(e.Release)
		switch {
		case e.IsUndone() && isSkipped && !e.Dropped: // it stays known, so that no rollback leads there
			err = errors.Join(err, op.Staging.Discard(name, t.terms(op.Fingerprint(t))))
		case e.Manifest != "" && !e.IsUndone() && (isOther || isSkipped):
			err = errors.Join(err, op.Staging.Remove(name))
		}
		op.Metrics.Pinned(name, t.Release != manifest.Latest)
	}
	return op.Record(store.Changes{}, outbox.News{}), err
}
