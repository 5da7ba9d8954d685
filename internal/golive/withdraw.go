package golive

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"syncd/internal/hooks/event"
	"syncd/internal/hooks/outbox"
	"syncd/internal/mirror"
	"syncd/internal/mirror/lifespan"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

// Withdraw publishes a new generation without the manifests whose data has expired and that
// are configured so. The newest configuration counts. Other manifests of their groups stay:
// a group goes live together, and its data does not expire together.
func Withdraw(ctx context.Context, t *Tree) (report.Sync, error) {
	if len(aging{t}.withdrawable()) == 0 {
		return report.Sync{}, nil
	}
	op := &withdrawal{Command: NewCommand(t, request.TriggerExpiry)}
	exported, err := t.Apply(ctx, op)
	op.Result.Exports = exported
	return op.Result, err
}

// withdrawable names the manifests whose served data is to leave. What the operator let go
// live although it had expired stays.
func (t aging) withdrawable() (names []string) {
	current, now := t.Mirror.Current(), t.Present()
	for _, of := range t.Targets {
		served, isServed := current.Records[of.Name]
		isForced := t.Lifespans.Get(of.Name).Forced == served.ID() || served.Orders.PinForced && served.Orders.Pin == served.Release
		if of.Expires.Withdraw && isServed && !isForced && now.IsProven(t.day(served)) {
			names = append(names, of.Name)
		}
	}
	return names
}

// withdrawal takes expired manifests out of what is served. Views follow, and become empty
// if nothing is left for them.
type withdrawal struct{ Command }

func (op *withdrawal) Propose(context.Context) (p Proposal, err error) {
	if err := op.RefreshLocked(); err != nil {
		return p, err
	}
	t := aging{op.Newest()}
	current := op.Mirror.Current()
	p = Proposal{Views: t.ConfiguredViews(), LateViews: true, Withdraws: true}
	p.Change.Remove = t.withdrawable()
	for _, name := range p.Change.Remove {
		r := current.Records[name]
		gone := lifespan.Withdrawn{
			Release: r.Release, Revision: r.Revision, Fingerprint: r.Fingerprint(), Expired: t.day(r), At: time.Now().UTC(), Orders: r.Orders,
		}
		if err := op.Lifespans.Withdraw(name, gone); err != nil { // before the swap: a crash between the two leaves a served manifest
			return p, err
		}
	}
	for _, name := range t.orphanedViewNames() {
		shows := maps.Keys(current.Views[name].Revisions)
		if slices.ContainsFunc(slices.Collect(shows), func(m string) bool { return slices.Contains(p.Change.Remove, m) }) {
			p.Change.Remove = append(p.Change.Remove, name) // its configuration is gone, so that it cannot follow
		}
	}
	return p, nil
}

func (op *withdrawal) Settle(o Outcome) (*Commit, error) {
	if !op.Settled(o) {
		return nil, o.Err
	}
	op.Result.Removed = o.Change.Remove
	for _, name := range o.Change.Remove {
		r := o.Before.Records[name]
		op.Log.Warn().Str("manifest", name).Str("release", string(r.Release)).Str("revision", r.Revision).Msg("the data expired and was taken out of what is served")
	}
	record := op.Record(store.Changes{}, outbox.News{})
	record.Touched = o.Change.Remove
	return record, o.Err
}

// emptied is a view that shows nothing. It takes the place of one that cannot follow a
// withdrawal, because expired data must not stay there.
func emptied(v ConfiguredView, version string) (*mirror.View, error) {
	made, _, err := v.Arrange(nil, version)
	return &made, err
}

// Aging lists the configured manifests whose data expires soon or has expired, also those
// that were withdrawn for it. It leaves out what the operator let go live all the same.
func Aging(tree *Tree) (all []outbox.Aging) {
	t := aging{tree}
	current, now := t.Mirror.Current(), t.Present()
	for _, of := range t.Targets {
		facts := t.Lifespans.Get(of.Name)
		record, isServed := current.Records[of.Name]
		day, left := t.day(record), "it is still served"
		if gone := facts.Withdrawn; !isServed && gone != nil {
			record = mirror.Record{Manifest: of.Name, Release: gone.Release, Revision: gone.Revision}
			day, left = of.Expires.Day(gone.Release, facts.Told[gone.ID()]), "it is served no more"
		}
		if day == "" || record.Manifest == "" || facts.Forced == record.ID() {
			continue
		}
		a := outbox.Aging{Record: record, Generation: current.Number, Day: string(day), Kind: event.Expired}
		a.Text = fmt.Sprintf("release %s expired on %s, and %s", record.Release, day, left)
		if !isServed && !now.IsPast(day) { // the configuration says otherwise by now
			continue
		}
		if !now.IsPast(day) {
			if !of.Expires.IsExpiring(day, now) {
				continue
			}
			a.Kind, a.Text = event.Expiring, fmt.Sprintf("release %s may be used until %s", record.Release, day)
		}
		all = append(all, a)
	}
	return all
}
