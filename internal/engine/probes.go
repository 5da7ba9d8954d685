package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"syncd/internal/config"
	"syncd/internal/disk/durable"
	"syncd/internal/golive/probe"
	"syncd/internal/golive/prover"
	"syncd/internal/host/claims"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/mirror/record"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// probePause is how long the daemon waits after a probe that could not be asked, or a
// rollback that could not be published.
const probePause = time.Minute

// Probes ask consumers about what went live.
type Probes struct {
	*base
	engine  *Engine
	changed chan struct{} // signals that there may be something to ask
	asked   claims.Set    // manifests that Run asks about
}

// open reads what was to be asked before.
func (p *Probes) open(disk *durable.Disk) (err error) {
	if p.notes, err = probe.Open(p.mirror.Root(), disk); err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	p.notes.Changed = func() {
		p.engine.Followers.refresh()
		p.engine.Patches.Wake()
		select {
		case p.changed <- struct{}{}:
		default: // a signal waits already
		}
	}
	return nil
}

// of returns what asks by a configuration.
func (p *Probes) of(a *active) prover.Prover {
	return prover.Prover{Tree: a.syncer.Tree(), Told: func(ctx context.Context) { p.engine.Hooks.runner.Drain(ctx) }}
}

// drop forgets what was to be asked of manifests that have no probe any more.
func (p *Probes) drop(a *active) {
	proving := p.of(a)
	for _, name := range proving.Pending() {
		if proving.Targets.Probe(name).IsSet() {
			continue
		}
		p.options.Log.Warn().Str("manifest", name).Msg("the manifest has no probe any more: what went live stays without a verdict")
		if err := p.notes.Forget(name); err != nil {
			p.options.Log.Warn().Err(err).Str("manifest", name).Msg("dropping the probe failed; the next start tries again")
		}
	}
}

// Run asks until the context ends: what a process before this one left, and what the end of
// a command left.
func (p *Probes) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		for _, name := range p.of(p.active.Load()).Pending() {
			if claim := p.asked.TryTake([]string{name}); claim != nil {
				running.Go(func() {
					defer claim.Close()
					p.finish(ctx, name)
				})
			}
		}
		select {
		case <-p.changed:
		case <-time.After(probePause):
		case <-ctx.Done():
			return
		}
	}
}

// finish waits for the verdict about a manifest.
func (p *Probes) finish(ctx context.Context, name string) {
	err := p.work(ctx, func() error {
		a := p.begin()
		defer p.engine.finish(a)
		all, err := p.of(a).Prove(ctx, []string{name})
		for _, o := range all {
			if o.Why != nil {
				p.options.Log.Error().Err(o.Why).Str("manifest", o.Manifest).Msg("the consumer does not work with what went live")
			}
		}
		if err == nil {
			p.engine.Uploads.Upload(ctx)
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		p.options.Log.Error().Err(err).Str("manifest", name).Msg("probing failed; it is tried again")
	}
}

// prove waits for the verdicts about what a piece of work brought, and about what was
// pending. The result tells those that failed.
func (p *Probes) prove(ctx context.Context, a *active, result report.Sync) (report.Sync, error) {
	proving := p.of(a)
	isAbout := func(name string) bool {
		return slices.ContainsFunc(result.Manifests, func(m report.ManifestResult) bool { return m.Name == name })
	}
	pending := slices.DeleteFunc(proving.Pending(), func(name string) bool { return !isAbout(name) })
	if len(pending) == 0 {
		return result, nil
	}
	p.engine.Hooks.Deliver() // consumers hear of the swap first
	all, err := proving.Prove(ctx, pending)
	result.Manifests = slices.Clone(result.Manifests)
	for i := range result.Manifests {
		m := &result.Manifests[i]
		about := slices.IndexFunc(all, func(o prover.Proven) bool { return o.Manifest == m.Name })
		switch {
		case about >= 0:
			p.tell(m, all[about])
		case m.Result == report.Updated: // it may have gone back with its group
			p.tell(m, proving.Outcome(m.Name, m.Release+"-"+m.Revision))
		}
	}
	result.Generation = p.mirror.Current().Number
	return result, err
}

// tell puts a verdict into a result.
func (p *Probes) tell(m *report.ManifestResult, o prover.Proven) {
	if o.Why == nil {
		return
	}
	served := p.mirror.Current().Records[m.Name]
	tried, _ := record.SplitID(o.ID)
	m.Release, m.Revision, m.Tried = string(served.Release), served.Revision, string(tried)
	m.Result, m.Reason, m.Error = report.Refused, string(refusal.Probe), o.Why.Error()
}

// again asks once more about served revisions whose probe failed, if the request says so.
func (p *Probes) again(m method[request.Activate, report.Sync]) method[request.Activate, report.Sync] {
	return func(ctx context.Context, a *active, req request.Activate) (report.Sync, error) {
		result, err := m(ctx, a, req)
		if !req.Again || err != nil {
			return result, err
		}
		asked, err := p.of(a).Again(ctx, req.Names)
		result.Manifests = append(result.Manifests, asked...)
		return result, err
	}
}

// proving waits for the verdicts about what m brought.
func proving[Request any](p *Probes, m method[Request, report.Sync]) method[Request, report.Sync] {
	return func(ctx context.Context, a *active, req Request) (report.Sync, error) {
		result, err := m(ctx, a, req)
		if err != nil && !result.Changed {
			return result, err
		}
		result, unproven := p.prove(ctx, a, result)
		return result, errors.Join(err, unproven)
	}
}

// ask asks consumers once, and changes nothing.
func (p *Probes) ask(ctx context.Context, a *active, req request.Probe) (report.Probes, error) {
	proving, current := p.of(a), p.mirror.Current()
	names := req.Manifests
	if len(names) == 0 {
		for _, t := range proving.Targets {
			if t.Probe.IsSet() {
				names = append(names, t.Name)
			}
		}
	}
	if len(names) == 0 {
		return report.Probes{}, errors.New("no manifest has a probe: write `probe:` into the configuration")
	}
	result := report.Probes{Probes: []report.Probe{}}
	for _, name := range names {
		switch served := current.Records[name]; {
		case !proving.Targets.Has(name):
			return result, &request.UnknownManifestError{Name: name}
		case !proving.Targets.Probe(name).IsSet():
			return result, fmt.Errorf("%s has no probe: write `probe:` into its entry in the configuration", name)
		case served.Manifest == "":
			return result, fmt.Errorf("%s has no data yet: run `syncd sync %s`", name, name)
		default:
			answer, err := proving.Ask(ctx, served)
			if err != nil {
				return result, err
			}
			result.Probes = append(result.Probes, answer)
		}
	}
	return result, nil
}

// withheld is the mirror as other hosts see it: a revision without a verdict is not passed on.
type withheld struct {
	*mirror.Mirror
	notes *probe.Notes
}

// Current returns the served generation, with what was served before in place of what has no
// verdict yet.
func (w withheld) Current() mirror.Generation {
	g, cloned := w.Mirror.Current(), false
	for _, name := range w.notes.Names() {
		served, isServed := g.Records[name]
		proven := w.notes.Proven(name, served.ID())
		if !isServed || proven == served.ID() {
			continue
		}
		if !cloned {
			g.Records, cloned = maps.Clone(g.Records), true
		}
		delete(g.Records, name)
		if before, err := w.Mirror.Records.Revision(name, proven); err == nil {
			g.Records[name] = before
		}
	}
	return g
}

// undone is outbox.Config.Undone.
func (h *Hooks) undone(name, id string) string {
	if undone := h.notes.Of(name, id).Undone; len(undone) > 0 {
		return undone[0].Error
	}
	return ""
}

// showProbes adds what consumers said to a status.
func showProbes(s *report.Status, cfg *config.Config, trials map[string][]probe.Trial) {
	for i := range s.Manifests {
		m := &s.Manifests[i]
		at := slices.IndexFunc(cfg.Manifests, func(c config.Manifest) bool { return c.Name == m.Name && c.Probe.IsSet() })
		trial := probe.Find(trials[m.Name], m.Release+"-"+m.Revision)
		if at < 0 || trial.Release == "" || trial.Unasked {
			continue
		}
		shown := &report.ProbeStatus{State: report.ProbePending, Release: m.Release, Revision: m.Revision, Since: trial.Since, Lines: []string{}}
		if len(trial.Undone) > 0 {
			shown.Undone = string(trial.Undone[0].Release)
		}
		switch v := trial.Verdict; {
		case v == nil:
			until := trial.Since.Add(cfg.Manifests[at].Probe.Within)
			shown.Until = &until
		case v.Passed:
			shown.State, shown.At = report.ProbeProven, &v.At
		default:
			shown.State, shown.At, shown.Error, shown.Lines = report.ProbeFailed, &v.At, v.Error, append(shown.Lines, v.Lines...)
		}
		m.Probe = shown
	}
}
