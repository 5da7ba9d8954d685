package golive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"syncd/internal/disk/space"
	"syncd/internal/golive/probe"
	"syncd/internal/hooks/outbox"
	"syncd/internal/manifest/layout"
	"syncd/internal/manifest/refusal"
	"syncd/internal/metrics/tracing"
	"syncd/internal/mirror"
	"syncd/internal/mirror/export"
	"syncd/internal/report"
	"syncd/internal/report/status"
	"syncd/internal/store"
)

// Operation is one kind of change of what is served. Apply calls its methods in their order
// here, all of them with the turn.
type Operation interface {
	// Propose compares what the operation wants with what is served, and returns the change.
	// It may stage or discard revisions, which readers do not see. The error ends the
	// operation.
	Propose(ctx context.Context) (Proposal, error)
	// Leave is called for manifests that an error is about, which the change is published
	// without. mates are left out with them, because they go live together.
	Leave(names, mates []string, why error)
	// Settle returns what is to be saved, nil for nothing, and why the operation failed.
	Settle(o Outcome) (*Commit, error)
	// Recorded gets the error of Settle and why the record could not be saved, and returns the
	// error of the operation.
	Recorded(err error) error
}

// Proposal is a change, and how it is published.
type Proposal struct {
	Change    mirror.Change
	Together  [][]string // manifests of the change that go live together or not at all
	Whole     bool       // the change is published as a whole or not at all
	Withdraws bool       // manifests leave, and views must follow, whatever else they show then
	Forced    []string   // manifests of which the operator lets expired revisions go live

	Views     []ConfiguredView // that follow the change, and their exports with them
	LateViews bool             // a view that cannot be made stays as it is, and holds up no manifest
	Orphans   bool             // views that left the configuration follow, too, if they showed the same before
	Except    []string         // manifests whose reserved space is free for the views

	Stays  bool                    // what the change brings stays, whatever a probe says
	Undone map[string]probe.Undone // revisions that the change takes back because of their probe, by manifest

	Replaces bool // staged revisions of the manifests go, because something newer is served
	Exports  export.Options
	TakeOver []string // views whose exported folders replace what lies there
}

// Outcome is what became of a proposal.
type Outcome struct {
	Change mirror.Change // without what was left out
	Views  []report.ViewResult
	Before mirror.Generation
	After  mirror.Generation // Before unless something was published
	Err    error             // why the change was not published, or may not be durable
}

// Moved is true if readers have another generation now, even if it may not be durable.
func (o Outcome) Moved() bool { return o.After.Number != o.Before.Number }

// Sets is true for a manifest of the change.
func (o Outcome) Sets(name string) bool { return sets(o.Change, name) }

func sets(change mirror.Change, name string) bool {
	return slices.ContainsFunc(change.Set, func(record mirror.Record) bool { return record.Manifest == name })
}

// Commit is what is saved of an operation, in one transaction.
type Commit struct {
	Changes store.Changes
	News    outbox.News
	Touched []string // manifests that metrics show again, in addition to those of the changes
}

// Apply changes what is served. Everything that follows a swap happens here: pruning is
// requested, what was staged is forgotten, metrics show the change, one transaction records
// it with the events for hooks, and the exported folders follow. The order of a publish is
// the order of mirror.Publish, and the state comes after `current`: CatchUp completes what a crash
// between the two leaves out.
func (t *Tree) Apply(ctx context.Context, op Operation) (exported []report.ExportResult, err error) {
	a := &application{tree: t, op: op}
	err = t.Change(ctx, func() error { return a.run(ctx) })
	if a.outcome.Moved() && len(a.proposal.Views) > 0 {
		exported = t.Exporter().Follow(ctx, a.proposal.Exports, a.proposal.TakeOver)
	}
	return exported, err
}

// application is one run of Apply.
type application struct {
	tree     *Tree
	op       Operation
	proposal Proposal
	late     map[string]error // why views stay as they are
	outcome  Outcome
}

func (a *application) run(ctx context.Context) (err error) {
	if a.proposal, err = a.op.Propose(ctx); err != nil {
		return err
	}
	m := a.tree.Mirror
	a.outcome.Change, a.outcome.Before = a.proposal.Change, m.Current()
	err = a.publish(ctx)
	a.outcome.Err, a.outcome.After = err, m.Current()
	if err != nil && !a.outcome.Moved() && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return err // nothing has happened, and the end of the context is no failure of a manifest
	}
	a.follow()
	record, err := a.op.Settle(a.outcome)
	if record == nil {
		return err
	}
	a.tree.showManifests(*record, a.outcome)
	record.News.Trace = tracing.Parent(ctx)
	return a.op.Recorded(errors.Join(err, a.tree.Commit(*record)))
}

// publish publishes the change with the views that follow from it, and again without what
// cannot be built.
func (a *application) publish(ctx context.Context) error {
	for {
		if err := a.refuseExpired(); err != nil {
			return err
		}
		if err := a.arrange(); err != nil {
			return err
		}
		if a.isEmpty() {
			return nil
		}
		err := a.noteForced()
		if err == nil {
			err = a.swap(ctx)
		}
		if err == nil || !a.leaveBroken(err) {
			return space.RefuseIfFull(err)
		}
	}
}

// swap publishes the change, in a span of its own.
func (a *application) swap(ctx context.Context) error {
	ctx, span := tracing.Start(ctx, "publish", "")
	made, err := a.makeLive(ctx)
	var names, releases []string
	for _, record := range a.outcome.Change.Set {
		names, releases = append(names, record.Manifest), append(releases, string(record.Release))
	}
	span.Set(tracing.Manifest, strings.Join(names, ","))
	span.Set(tracing.Release, strings.Join(releases, ","))
	span.SetNumber(tracing.Generation, int64(made.Number))
	span.End(err)
	return err
}

// makeLive publishes the change. The trials of what it brings are durable before.
func (a *application) makeLive(ctx context.Context) (mirror.Generation, error) {
	tried, err := trials{a}.begin()
	if err != nil {
		return mirror.Generation{}, err
	}
	made, err := a.tree.Mirror.Publish(ctx, a.outcome.Change)
	if a.tree.Mirror.Current().Number != a.outcome.Before.Number {
		trials{a}.went(tried)
	}
	return made, err
}

// isEmpty is true if nothing is left to publish. Views alone are published only by a sync,
// which also follows changed maps.
func (a *application) isEmpty() bool {
	c := a.outcome.Change
	isLeft := len(c.Set)+len(c.Remove)+len(c.Orders)+len(c.Described) > 0
	return !isLeft && (len(c.Views) == 0 || !a.proposal.LateViews)
}

// arrange completes the change with the views that follow from it, and without manifests
// whose files cannot lie in a view.
func (a *application) arrange() error {
	a.outcome.Change.Views, a.outcome.Views = nil, nil
	for i := 0; i < len(a.proposal.Views); i++ {
		v := a.proposal.Views[i]
		if v.Err == nil {
			v.Err = a.late[v.Name]
		}
		made, err := a.tree.arrange(v, a.outcome.Before, a.outcome.Change, a.tree.room.Reserved(a.proposal.Except))
		if err != nil && a.proposal.Withdraws {
			a.tree.Log.Error().Err(err).Str("view", v.Name).Msg("the view cannot follow a withdrawal, so it is empty until the next sync")
			made, err = emptied(v, a.tree.Version)
		}
		var misplaced *layout.PlaceError
		switch {
		case errors.As(err, &misplaced) && a.leave(misplaced.Names(), err):
			a.outcome.Change.Views, a.outcome.Views, i = nil, nil, -1 // the others may have been arranged with its files
			continue
		case refusal.ReasonOf(err) != "" && (!a.proposal.LateViews || a.proposal.Whole && misplaced != nil):
			return err
		case made != nil:
			a.outcome.Change.Views = append(a.outcome.Change.Views, *made)
		}
		a.outcome.Views = append(a.outcome.Views, viewResult(v, a.outcome.Before.Views[v.Name], made, err))
	}
	if !a.proposal.Orphans {
		return nil
	}
	earlier, err := a.tree.orphanedViews(a.outcome.Before, a.outcome.Change)
	a.outcome.Change.Views = append(a.outcome.Change.Views, earlier...)
	return err
}

// leaveBroken leaves out of the change what an error of Publish is about. It is false if
// the change cannot be published without that.
func (a *application) leaveBroken(err error) bool {
	var broken *mirror.BuildError
	if a.proposal.Whole || !errors.As(err, &broken) {
		return false
	}
	if a.late[broken.View] != nil { // it is empty already
		return false
	}
	why := space.RefuseIfFull(broken.Err)
	i := slices.IndexFunc(a.proposal.Views, func(v ConfiguredView) bool { return v.Name == broken.View })
	switch {
	case i < 0:
		return a.leave([]string{broken.Manifest}, why)
	case !a.proposal.LateViews:
		return a.leave(a.proposal.Views[i].Manifests, why)
	}
	if a.late == nil {
		a.late = map[string]error{}
	}
	a.late[broken.View] = why
	return true
}

// leave leaves those of the named manifests out of the change that it sets, with their
// groups. It is false if there are none, or the change is published as a whole.
func (a *application) leave(names []string, why error) bool {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !a.outcome.Sets(name) })
	if len(names) == 0 || a.proposal.Whole {
		return false
	}
	var mates []string
	for _, group := range a.proposal.Together {
		if slices.ContainsFunc(group, func(name string) bool { return slices.Contains(names, name) }) {
			mates = append(mates, group...)
		}
	}
	mates = slices.DeleteFunc(mates, func(name string) bool { return slices.Contains(names, name) })
	a.outcome.Change.Set = slices.DeleteFunc(slices.Clone(a.outcome.Change.Set), func(r mirror.Record) bool {
		return slices.Contains(names, r.Manifest) || slices.Contains(mates, r.Manifest)
	})
	a.outcome.Change.Orders = maps.Clone(a.outcome.Change.Orders)
	for _, name := range slices.Concat(names, mates) { // such as a pin that was to move along
		delete(a.outcome.Change.Orders, name)
	}
	a.op.Leave(names, mates, why)
	return true
}

// follow does what every swap brings, apart from the record.
func (a *application) follow() {
	if a.outcome.Moved() {
		a.tree.room.RequestPrune()
		a.noteServed()
	}
	if a.outcome.Err != nil {
		a.failViews()
	}
	if a.outcome.Err == nil || a.proposal.LateViews {
		for _, v := range a.outcome.Views {
			status.ShowView(a.tree.Metrics, v.Name, v.State())
		}
	}
	if a.outcome.Err == nil && a.proposal.Replaces {
		for _, record := range a.outcome.Change.Set {
			isSame := record.ID() == a.outcome.Before.Records[record.Manifest].ID() // such as when a hold ends
			if e := a.tree.Staging.Get(record.Manifest); !isSame || !e.IsUndone() {
				a.tree.forgetStaged(record.Manifest)
			}
		}
	}
}

// failViews notes that the views of the change were not published.
func (a *application) failViews() {
	a.outcome.Views = nil
	for _, v := range a.proposal.Views {
		if slices.ContainsFunc(a.outcome.Change.Views, func(made mirror.View) bool { return made.Name == v.Name }) {
			err := fmt.Errorf("view %s: %w", v.Name, a.outcome.Err)
			a.outcome.Views = append(a.outcome.Views, viewResult(v, a.outcome.After.Views[v.Name], nil, err))
		}
	}
}

// showManifests puts the manifests of a record or of its change into the metrics.
func (t *Tree) showManifests(r Commit, o Outcome) {
	names := slices.AppendSeq(slices.Clone(r.Touched), maps.Keys(o.Change.Orders))
	for _, record := range o.Change.Set {
		names = append(names, record.Manifest)
	}
	states := maps.Clone(r.Changes.Manifests)
	if slices.ContainsFunc(names, func(name string) bool { _, known := states[name]; return !known }) {
		saved, err := t.Store.Manifests()
		if err != nil {
			t.Log.Warn().Err(err).Msg("reading the state failed; the next sync shows it in the metrics")
			return
		}
		maps.Copy(saved, states)
		states = saved
	}
	current := t.Mirror.Current()
	names = slices.AppendSeq(names, maps.Keys(r.Changes.Manifests))
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		status.ShowManifest(t.Metrics, name, current.Records[name], states[name], t.Staging.Get(name), ageOf(t, name))
	}
}
