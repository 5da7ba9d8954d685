package golive

import (
	"context"
	"errors"
	"slices"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/export"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/store"
)

// Candidate is a manifest of a sync. Its methods are called with the turn, apart from those
// that only read.
type Candidate interface {
	// Target returns the target with the orders that the sync follows, and Orders these.
	Target() Target
	Orders() mirror.Orders
	// IsOpen is true while the candidate may go live, HasFailed after a failure or a refusal.
	IsOpen() bool
	HasFailed() bool
	// IsWithdrawn is true if the served revision is the newest again.
	IsWithdrawn() bool
	// Recheck compares an open candidate with what is served now. It settles or fails one
	// that must not go live any more.
	Recheck(served mirror.Record, isServed bool)
	// Record returns the record of an open candidate, whose contents are all objects.
	Record(now time.Time) mirror.Record

	// Live is called after the record went live, Staged after it was staged, and Same if it
	// is the served one. Stay settles a candidate that did not go live, without a failure.
	Live(record mirror.Record)
	Staged(isNew bool)
	Same()
	Stay()
	// Fail gets why the candidate cannot go live.
	Fail(why error)
}

// Saver says what is saved of the candidates of a sync, and hears when that is done.
type Saver interface {
	// Save completes a record, which has what follows from the publication itself.
	Save(r *Commit, p *Publication)
	// Saved gets why the record could not be saved.
	Saved(err error)
}

// Publication is the operation of a sync. It publishes the open candidates, with the
// staged revisions that may go live now, and records all of them.
type Publication struct {
	Candidates []Candidate
	Saver      Saver
	Views      []ConfiguredView           // as the sync found them
	Whole      bool                       // by a lock file: all of it, whatever the policies, or nothing
	Force      bool                       // ends holds, also when the revision goes live later
	Replaced   func() []manifest.ObjectID // objects that were downloaded again
	Exports    export.Options
	TakeOver   []string

	Outcome                 // once there is one
	Mates   []mirror.Record // that went live and are of no candidate

	tree *Tree
}

// Publish applies a publication. The error is that of the context or of the data directory,
// and nothing was published then.
func (t *Tree) Publish(ctx context.Context, p *Publication) ([]report.ExportResult, error) {
	p.tree = t
	return t.Apply(ctx, p)
}

var errNotWhole = errors.New("not published, because another manifest of the lock file failed")

// Propose collects the records to publish, stages those that must wait, and settles the
// candidates whose served revision has the same content.
func (p *Publication) Propose(ctx context.Context) (Proposal, error) {
	t, now := p.tree, time.Now().UTC()
	current := t.Mirror.Current()
	for _, c := range p.open() {
		served, isServed := Served(t, c.Target().Name)
		c.Recheck(served, isServed)
		if e := t.Staging.Get(c.Target().Name); c.IsOpen() && e.IsUndone() && e.ID() == c.Record(now).ID() {
			c.Fail(e.Verdict.Refusal())
		}
	}
	if p.Whole && slices.ContainsFunc(p.Candidates, Candidate.HasFailed) {
		for _, c := range p.open() {
			c.Fail(errNotWhole)
		}
	}
	p.relink()
	proposal := Proposal{Whole: p.Whole, Views: p.Views, LateViews: true, Replaces: true, Exports: p.Exports, TakeOver: p.TakeOver}
	for _, c := range p.Candidates {
		proposal.Except = append(proposal.Except, c.Target().Name)
	}
	if p.Force {
		proposal.Forced = proposal.Except
		if err := p.keepExpired(current); err != nil {
			return proposal, err
		}
	}
	change := &proposal.Change
	for _, c := range p.open() {
		p.propose(ctx, c, now, change)
	}
	staged, broken := queue{t, p.endedHolds(current)}.ready(p.unchanged(), now, p.Whole)
	for _, c := range p.Candidates {
		if why := broken[c.Target().Name]; why != nil {
			c.Fail(why)
		}
	}
	change.Set, proposal.Together = append(change.Set, staged...), t.Groups.split(staged)
	change.Orders = map[string]mirror.Orders{}
	if !p.Whole { // the sync after that of a lock file goes on from the orders
		change.Orders = queue{Tree: t}.pins(staged, p.Force)
	}
	for name, orders := range p.endedHolds(current) {
		if moved, isMoved := change.Orders[name]; isMoved {
			orders.Pin, orders.PinForced = moved.Pin, moved.PinForced
		}
		change.Orders[name] = orders
	}
	change.Remove = p.dropped(change.Set)
	return proposal, nil
}

func (p *Publication) open() []Candidate {
	return slices.DeleteFunc(slices.Clone(p.Candidates), func(c Candidate) bool { return !c.IsOpen() })
}

// relink gives earlier revisions the objects that the sync downloaded again.
func (p *Publication) relink() {
	for _, id := range p.Replaced() {
		if err := p.tree.Mirror.Relink(id); err != nil {
			p.tree.Log.Warn().Err(err).Stringer("object", id).Msg("files of earlier revisions stay damaged: run `syncd verify --repair`")
		}
	}
}

// propose adds the record of an open candidate to the change, or stages it.
func (p *Publication) propose(ctx context.Context, c Candidate, now time.Time, change *mirror.Change) {
	t, of, record := p.tree, c.Target(), c.Record(now)
	served, isServed := t.Mirror.Current().Records[of.Name]
	switch isSame := isServed && sameFiles(record, served); {
	case isSame && served.Held == nil:
		c.Same()
		return
	case isSame: // it only ends the hold after a rollback, as a pin to the served release does
		change.Set = append(change.Set, record)
		return
	}
	isAlone := len(t.Groups.Of(of.Name)) == 1
	if of.Gate.ID() == "" && (p.Whole || isAlone && of.Activate.Open(now)) {
		change.Set = append(change.Set, record)
		return
	}
	forced := ""
	if p.Force {
		forced = t.Mirror.Current().Records[of.Name].ID()
	}
	e, isNew, err := t.stage(ctx, record, nil, forced)
	if err == nil && of.Gate.ID() == "" && e.IsQuarantined() { // its gate left the configuration
		_, err = t.Staging.Judge(e, staging.Verdict{At: now, Passed: true})
	}
	if err != nil {
		c.Fail(err)
	} else {
		c.Staged(isNew)
		c.Stay()
	}
}

// sameFiles is true if a revision has the content of the served one.
func sameFiles(record, served mirror.Record) bool {
	return record.ID() == served.ID() && slices.EqualFunc(record.Files, served.Files, func(a, b mirror.File) bool {
		return a.Path == b.Path && a.Object == b.Object
	})
}

// unchanged names the manifests that the sync leaves as they are, unless something of them
// is staged and may go live.
func (p *Publication) unchanged() (names []string) {
	for _, c := range p.Candidates {
		if !c.IsOpen() && !c.HasFailed() && !c.IsWithdrawn() {
			names = append(names, c.Target().Name)
		}
	}
	return names
}

// endedHolds are the holds that a forced sync overrides. It does not override one that is
// newer than the sync.
func (p *Publication) endedHolds(current mirror.Generation) map[string]mirror.Orders {
	ended := map[string]mirror.Orders{}
	for _, c := range p.Candidates {
		orders := current.Records[c.Target().Name].Orders
		if p.Force && !c.HasFailed() && orders.Holds(time.Now()) && orders.Equal(c.Orders()) {
			orders.HoldUntil = time.Time{}
			ended[c.Target().Name] = orders
		}
	}
	return ended
}

// dropped lists what leaves with the generation: with DropRemoved, what left the newest
// configuration. A manifest also takes its name from a view that left.
func (p *Publication) dropped(set []mirror.Record) (names []string) {
	t := p.tree.Newest()
	if t.DropRemoved {
		names = t.orphanedManifests()
	}
	for _, name := range slices.Sorted(slices.Values(t.orphanedViewNames())) {
		if t.DropRemoved || sets(mirror.Change{Set: set}, name) {
			names = append(names, name)
		}
	}
	return names
}

// Leave fails the candidates that cannot be built. Their mates stay staged.
func (p *Publication) Leave(names, _ []string, why error) {
	for _, c := range p.Candidates {
		if slices.Contains(names, c.Target().Name) {
			c.Fail(why)
		}
	}
}

// Settle tells each candidate what became of it.
func (p *Publication) Settle(o Outcome) (*Commit, error) {
	p.Outcome = o
	if o.Err != nil && len(o.Change.Remove) > 0 && len(o.Change.Set) == 0 {
		p.tree.Log.Error().Err(o.Err).Strs("manifests", o.Change.Remove).Msg("publishing failed; manifests that left the configuration stay published")
	}
	for _, c := range p.Candidates {
		name := c.Target().Name
		switch {
		case !c.IsOpen() && !o.Sets(name):
		case o.Err != nil:
			c.Fail(o.Err)
		case o.Sets(name):
			c.Live(o.After.Records[name])
		default: // it waits for its group
			c.Stay()
		}
	}
	record := Commit{Changes: store.Changes{Manifests: map[string]store.Manifest{}}}
	if o.Err == nil {
		p.noteLive(&record)
	}
	p.Saver.Save(&record, p)
	return &record, nil
}

// noteLive records what went live beside the candidates, and what left.
func (p *Publication) noteLive(record *Commit) {
	p.dropWithdrawn()
	if p.Moved() {
		record.Changes.Forgotten = p.Change.Remove
	}
	for _, live := range p.Change.Set {
		if !slices.ContainsFunc(p.Candidates, func(c Candidate) bool { return c.Target().Name == live.Manifest }) {
			p.Mates = append(p.Mates, live)
		}
	}
	NoteLive(p.tree, p.Mates, &record.Changes)
	record.News.Republished = republished(p.Before, p.Mates)
}

// dropWithdrawn removes what is staged of manifests for which the provider offers the
// served revision again.
func (p *Publication) dropWithdrawn() {
	for _, c := range p.Candidates {
		e := p.tree.Staging.Get(c.Target().Name)
		if !c.IsWithdrawn() || e.Manifest == "" || e.IsUndone() {
			continue
		}
		p.tree.Log.Warn().Str("manifest", e.Manifest).Str("release", string(e.Release)).Msg("dropped the staged revision, because the served one is the newest again")
		p.tree.forgetStaged(e.Manifest)
	}
}

// Recorded returns nil: a sync goes on, and the saver keeps the error.
func (p *Publication) Recorded(err error) error {
	p.Saver.Saved(err)
	return nil
}

// MateResults are the outcomes of the manifests that went live and are of no candidate.
func (p *Publication) MateResults() (results []report.ManifestResult) {
	for _, record := range p.Mates {
		results = append(results, ResultOf(record, report.Updated))
	}
	return results
}

// Describe publishes records of served revisions of which more is known now. The revisions
// stay, so that the history and hooks hear nothing.
func (t *Tree) Describe(ctx context.Context, records []mirror.Record) error {
	_, err := t.Apply(ctx, &description{records: records})
	return err
}

type description struct{ records []mirror.Record }

func (d *description) Propose(context.Context) (Proposal, error) {
	return Proposal{Change: mirror.Change{Described: d.records}}, nil
}

func (d *description) Leave([]string, []string, error) {}

func (d *description) Settle(o Outcome) (*Commit, error) { return nil, o.Err }

func (d *description) Recorded(err error) error { return err }
