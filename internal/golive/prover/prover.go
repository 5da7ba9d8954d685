package prover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"syncd/internal/golive"
	"syncd/internal/golive/probe"
	"syncd/internal/hooks/event"
	"syncd/internal/hooks/outbox"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// Prover asks consumers about what went live, and takes back what they do not work with.
type Prover struct {
	*golive.Tree

	// Told waits until hooks had their first try to tell consumers, or the context ends.
	Told func(ctx context.Context)
}

// Pending lists the manifests whose served revision has no verdict yet.
func (p Prover) Pending() []string {
	current := p.Mirror.Current()
	return p.Probes.Pending(func(name string) string { return current.Records[name].ID() })
}

// Again asks once more about served revisions that stayed although their probe failed. They
// stay. It returns an outcome for each.
func (p Prover) Again(ctx context.Context, asked []string) (results []report.ManifestResult, err error) {
	names, err := p.Named(asked)
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
			results = append(results, golive.ResultOf(served, report.Unchanged))
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
func (p Prover) Prove(ctx context.Context, names []string) (all []Proven, err error) {
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
func (p Prover) Outcome(name, id string) Proven {
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
func (p Prover) prove(ctx context.Context, name string) error {
	done, err := p.Probing().Take(ctx, name)
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
		newest := p.Newest()
		of := newest.Targets.Probe(name)
		if !of.IsSet() { // it left the configuration
			return p.Probes.Forget(name)
		}
		err := Prover{newest, p.Told}.try(ctx, of, served, trial)
		if err != nil && !errors.Is(err, probe.ErrOvertaken) {
			return err
		}
	}
}

// try asks until there is a verdict, and does what follows from it.
func (p Prover) try(ctx context.Context, of probe.Probe, served mirror.Record, trial probe.Trial) error {
	name := served.Manifest
	watch, end := p.Probing().Watch(ctx, name)
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
func (p Prover) Ask(ctx context.Context, served mirror.Record) (report.Probe, error) {
	of := p.Targets.Probe(served.Manifest)
	answer, err := of.Ask(ctx, p.subject(served, p.Probes.Of(served.Manifest, served.ID())), of.Within)
	return report.Probe{
		Manifest: served.Manifest, Release: string(served.Release), Revision: served.Revision, Passed: answer.Passed,
		DurationSeconds: answer.Took.Seconds(), Error: p.plain(answer.Error), Lines: p.plainLines(answer.Lines),
	}, err
}

// waitForHooks waits until hooks had their first try to tell the consumer, for half of the
// time at most.
func (p Prover) waitForHooks(ctx context.Context, until time.Time, of probe.Probe) {
	if p.Told == nil {
		return
	}
	ctx, cancel := context.WithDeadline(ctx, until.Add(-of.Within/2))
	defer cancel()
	p.Told(ctx)
}

func (p Prover) subject(served mirror.Record, trial probe.Trial) probe.Subject {
	return probe.Subject{
		Manifest: served.Manifest, Release: string(served.Release), Revision: served.Revision, Previous: trial.Previous,
		Path: p.Mirror.Trees.RevisionPath(served),
	}
}

// answered shows an answer.
func (p Prover) answered(name string, answer probe.Answer) {
	p.Metrics.Probed(name, answer.Passed, time.Now())
	p.Log.Debug().Str("manifest", name).Bool("passed", answer.Passed).Str("error", p.plain(answer.Error)).Msg("probe")
}

// plain makes one printable line of a consumer's text, without the Customer ID.
func (p Prover) plain(text string) string {
	text = report.OneLine(p.Redact(text))
	if runes := []rune(text); len(runes) > maxAnswer {
		return string(runes[:maxAnswer]) + "…"
	}
	return text
}

// maxAnswer limits what is kept of an answer, in characters.
const maxAnswer = 2000

func (p Prover) plainLines(lines []string) []string {
	shown := make([]string, len(lines))
	for i, line := range lines {
		shown[i] = p.plain(line)
	}
	return shown
}

// settle keeps the verdict about a revision that stays.
func (p Prover) settle(ctx context.Context, served mirror.Record, trial probe.Trial, v probe.Verdict) error {
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
			if err := p.Commit(golive.Commit{News: news}); err != nil {
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
func (p Prover) goBack(ctx context.Context, served mirror.Record, trial probe.Trial, v probe.Verdict) error {
	op := &retreat{Command: golive.NewCommand(p.Tree, request.TriggerProbe), name: served.Manifest, id: served.ID(), trial: trial, verdict: v}
	_, err := p.Apply(ctx, op)
	if errors.Is(err, errNoWayBack) {
		v.Error += "; it stays, because " + op.stays
		return p.settle(ctx, served, trial, v)
	}
	return err
}
