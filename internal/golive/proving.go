package golive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"syncd/internal/golive/probe"
	"syncd/internal/hooks/event"
	"syncd/internal/hooks/outbox"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/report"
)

// Proving asks consumers about what went live, and takes back what they do not work with.
type Proving struct {
	*Tree

	// Told waits until hooks had their first try to tell consumers, or the context ends.
	Told func(ctx context.Context)
}

// trials begins the trials of an application.
type trials struct{ *application }

// begin makes the trials of a change durable, before its swap. It returns the IDs of their
// revisions, by manifest.
func (a trials) begin() (ids map[string]string, err error) {
	before, t := a.outcome.Before.Records, a.tree
	changed := map[string]probe.Swapped{}
	for _, r := range a.outcome.Change.Set {
		if was, isServed := before[r.Manifest]; was.ID() != r.ID() {
			changed[r.Manifest] = probe.Swapped{ID: r.ID()}
			if isServed {
				changed[r.Manifest] = probe.Swapped{ID: r.ID(), Back: was.ID()}
			}
		}
	}
	ids = map[string]string{}
	for _, r := range a.outcome.Change.Set {
		swapped, isChanged := changed[r.Manifest]
		undone, isUndone := a.proposal.Undone[r.Manifest]
		hasProbe := t.Targets.find(r.Manifest).Probe.IsSet()
		if !isChanged || !isUndone && !hasProbe {
			continue
		}
		trial := probe.Trial{
			Release: r.Release, Revision: r.Revision, Since: time.Now().UTC(), Previous: before[r.Manifest].Revision, Unasked: !hasProbe,
			Back: swapped.Back, Stays: a.proposal.Stays, With: map[string]probe.Swapped{},
		}
		for _, mate := range t.Groups.Of(r.Manifest) {
			if with, isChanged := changed[mate]; isChanged && mate != r.Manifest {
				trial.With[mate] = with
			}
		}
		if isUndone {
			left := t.Probes.Of(r.Manifest, before[r.Manifest].ID())
			trial.Undone = append([]probe.Undone{undone}, left.Undone...)
			if then := t.Probes.Of(r.Manifest, r.ID()); then.IsWithheld() { // it had no verdict when it was replaced
				trial.Back, trial.With, trial.Stays = then.Back, then.With, false
			}
		}
		if err := t.Probes.Begin(r.Manifest, before[r.Manifest].ID(), trial); err != nil {
			return nil, fmt.Errorf("note the probe of %s: %w", r.Manifest, err)
		}
		ids[r.Manifest] = r.ID()
	}
	return ids, nil
}

// went notes when the revisions went live, and ends the watches of those before them.
func (a trials) went(ids map[string]string) {
	now := time.Now()
	for name, id := range ids {
		if err := a.tree.Probes.Went(name, id, now); err != nil {
			a.tree.Log.Warn().Err(err).Str("manifest", name).Msg("noting when the release went live failed; after a restart its probe may end early")
		}
	}
	for _, r := range a.outcome.Change.Set {
		if a.outcome.Before.Records[r.Manifest].ID() != r.ID() {
			a.tree.probing.Overtake(r.Manifest)
		}
	}
}

// WaysBack returns the revisions to which a probe without a verdict may go back.
func WaysBack(t *Tree) []mirror.Record { return court{t}.backs() }

// backs returns the revisions that failed probes go back to.
func (c court) backs() (records []mirror.Record) {
	for name, ids := range c.Probes.Backs() {
		for _, id := range ids {
			if then, err := c.Mirror.Records.Revision(name, id); err == nil { // else there is nothing to keep
				records = append(records, then)
			}
		}
	}
	return records
}

// Pending lists the manifests whose served revision has no verdict yet.
func (p Proving) Pending() []string {
	current := p.Mirror.Current()
	return p.Probes.Pending(func(name string) string { return current.Records[name].ID() })
}

// Again asks once more about served revisions that stayed although their probe failed. They
// stay. It returns an outcome for each.
func (p Proving) Again(ctx context.Context, asked []string) (results []report.ManifestResult, err error) {
	names, err := p.named(asked)
	if err != nil {
		return nil, err
	}
	err = p.Change(ctx, func() error {
		for _, name := range names {
			served := p.Mirror.Current().Records[name]
			if v := p.Probes.Of(name, served.ID()).Verdict; v == nil || v.Passed {
				continue
			}
			if err := p.Probes.Again(name, served.ID(), time.Now()); err != nil {
				return err
			}
			results = append(results, resultOf(served, report.Unchanged))
		}
		return nil
	})
	return results, err
}

// Proven is what became of the revision of a manifest.
type Proven struct {
	Manifest string
	ID       string      // of the revision
	Undone   report.Sync // the rollback, if it went back
	Why      error       // nil unless the consumer does not work with the revision
}

// Prove waits for the verdicts about the manifests, and takes back what failed with its group.
// After that it asks about what came back, too, which stays. The error says why there is no
// verdict.
func (p Proving) Prove(ctx context.Context, names []string) (all []Proven, err error) {
	current := p.Mirror.Current()
	for err == nil {
		pending := slices.DeleteFunc(p.Pending(), func(name string) bool { return !slices.Contains(names, name) })
		if len(pending) == 0 {
			break
		}
		errs := make([]error, len(pending))
		var running sync.WaitGroup
		for i, name := range pending {
			running.Go(func() { errs[i] = p.prove(ctx, name) })
		}
		running.Wait()
		err = errors.Join(errs...)
	}
	for _, name := range names { // a group may have taken back what had passed
		all = append(all, p.Outcome(name, current.Records[name].ID()))
	}
	return all, err
}

// Outcome is what is known of a revision that was served.
func (p Proving) Outcome(name, id string) Proven {
	served := p.Mirror.Current().Records[name]
	trial := p.Probes.Of(name, served.ID())
	o := Proven{Manifest: name, ID: id}
	switch v := trial.Verdict; {
	case served.ID() == id && v != nil && !v.Passed:
		o.Why = refusal.New(refusal.Probe, "%s", v.Error)
	case served.ID() != id:
		for _, undone := range trial.Undone {
			if undone.ID() == id {
				o.Why = refusal.New(refusal.Probe, "%s", undone.Error)
			}
		}
	}
	return o
}

// prove asks about a manifest until its served revision has a verdict.
func (p Proving) prove(ctx context.Context, name string) error {
	done, err := p.probing.Take(ctx, name)
	if err != nil {
		return err
	}
	defer done()
	for {
		served := p.Mirror.Current().Records[name]
		trial := p.Probes.Of(name, served.ID())
		if !trial.IsPending() {
			return nil
		}
		newest := p.newest.Load()
		of := newest.target(name).Probe
		if !of.IsSet() { // it left the configuration
			return p.Probes.Forget(name)
		}
		err := Proving{newest, p.Told}.try(ctx, of, served, trial)
		if err != nil && !errors.Is(err, probe.ErrOvertaken) {
			return err
		}
	}
}

// try asks until there is a verdict, and does what follows from it.
func (p Proving) try(ctx context.Context, of probe.Probe, served mirror.Record, trial probe.Trial) error {
	name := served.Manifest
	watch, end := p.probing.Watch(ctx, name)
	defer end()
	if p.Mirror.Current().Records[name].ID() != served.ID() {
		return probe.ErrOvertaken
	}
	until := trial.Since.Add(of.Within)
	if now := time.Now(); until.After(now.Add(of.Within)) { // the clock was set back
		until = now.Add(of.Within)
	}
	p.Log.Info().Str("manifest", name).Str("release", string(served.Release)).Str("revision", served.Revision).Time("until", until).Msg("probing")
	p.waitForHooks(watch, until, of)
	answer, err := of.Watch(watch, p.subject(served, trial), until, func(answer probe.Answer) { p.answered(name, answer) })
	if err != nil {
		return err
	}
	answer.Error, answer.Lines = p.plain(answer.Error), p.plainLines(answer.Lines)
	verdict := probe.Verdict{At: time.Now().UTC(), Passed: answer.Passed, Error: answer.Error, Lines: answer.Lines, Seconds: max(time.Since(trial.Since).Seconds(), 0)}
	ctx = context.WithoutCancel(ctx) // there is a verdict
	if !answer.Passed && !trial.Stays {
		return p.goBack(ctx, served, trial, verdict)
	}
	return p.settle(ctx, served, trial, verdict)
}

// Ask asks about a served revision once, and changes nothing.
func (p Proving) Ask(ctx context.Context, served mirror.Record) (report.Probe, error) {
	of := p.Targets.Probe(served.Manifest)
	answer, err := of.Ask(ctx, p.subject(served, p.Probes.Of(served.Manifest, served.ID())), of.Within)
	return report.Probe{
		Manifest: served.Manifest, Release: string(served.Release), Revision: served.Revision, Passed: answer.Passed,
		DurationSeconds: answer.Took.Seconds(), Error: p.plain(answer.Error), Lines: p.plainLines(answer.Lines),
	}, err
}

// waitForHooks waits until hooks had their first try to tell the consumer, for half of the
// time at most.
func (p Proving) waitForHooks(ctx context.Context, until time.Time, of probe.Probe) {
	if p.Told == nil {
		return
	}
	ctx, cancel := context.WithDeadline(ctx, until.Add(-of.Within/2))
	defer cancel()
	p.Told(ctx)
}

func (p Proving) subject(served mirror.Record, trial probe.Trial) probe.Subject {
	return probe.Subject{
		Manifest: served.Manifest, Release: string(served.Release), Revision: served.Revision, Previous: trial.Previous,
		Path: p.Mirror.Trees.RevisionPath(served),
	}
}

// answered shows an answer.
func (p Proving) answered(name string, answer probe.Answer) {
	p.Metrics.Probed(name, answer.Passed, time.Now())
	p.Log.Debug().Str("manifest", name).Bool("passed", answer.Passed).Str("error", p.plain(answer.Error)).Msg("probe")
}

// plain makes one printable line of a consumer's text, without the Customer ID.
func (p Proving) plain(text string) string {
	text = report.OneLine(p.Redact(text))
	if runes := []rune(text); len(runes) > maxAnswer {
		return string(runes[:maxAnswer]) + "…"
	}
	return text
}

// maxAnswer limits what is kept of an answer, in characters.
const maxAnswer = 2000

func (p Proving) plainLines(lines []string) []string {
	shown := make([]string, len(lines))
	for i, line := range lines {
		shown[i] = p.plain(line)
	}
	return shown
}

// settle keeps the verdict about a revision that stays.
func (p Proving) settle(ctx context.Context, served mirror.Record, trial probe.Trial, v probe.Verdict) error {
	name := served.Manifest
	return p.Change(ctx, func() error {
		current := p.Mirror.Current()
		if current.Records[name].ID() != served.ID() {
			return probe.ErrOvertaken
		}
		p.Metrics.ProbeEnded(time.Duration(v.Seconds * float64(time.Second)))
		log := p.Log.Info()
		if v.Passed { // told first: telling it twice is harmless
			news := outbox.News{Events: []event.Event{p.Outbox.Proven(served, trial.Previous, current.Number)}}
			if err := p.Commit(Commit{News: news}); err != nil {
				return err
			}
		} else {
			log = log.Str("error", v.Error).Str("stays", staysBecause(trial))
		}
		log.Str("manifest", name).Str("release", string(served.Release)).Str("revision", served.Revision).Bool("passed", v.Passed).Float64("seconds", v.Seconds).Msg("probe")
		return p.Probes.Settle(name, served.ID(), v)
	})
}

// staysBecause says why a revision stays although the consumer does not work with it.
func staysBecause(trial probe.Trial) string {
	switch {
	case len(trial.Undone) > 0:
		return fmt.Sprintf("it came back for %s, which the consumer did not work with either", trial.Undone[0].Release)
	case trial.Stays:
		return "it was asked for"
	}
	return "nothing was served before"
}

// goBack publishes what was served before the swap. Where that cannot be, the revision stays,
// with the reason.
func (p Proving) goBack(ctx context.Context, served mirror.Record, trial probe.Trial, v probe.Verdict) error {
	op := &retreat{command: p.command(triggerProbe), name: served.Manifest, id: served.ID(), trial: trial, verdict: v}
	_, err := p.Apply(ctx, op)
	if errors.Is(err, errNoWayBack) {
		v.Error += "; it stays, because " + op.stays
		return p.settle(ctx, served, trial, v)
	}
	return err
}

// names of the manifests that go back together.
func (op *retreat) names() []string {
	return append(slices.Sorted(maps.Keys(op.trial.With)), op.name)
}
