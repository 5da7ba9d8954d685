package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"syncd/internal/engine/bundles"
	"syncd/internal/host/claims"
	"syncd/internal/metrics/tracing"
	"syncd/internal/mirror/export"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// sync serves one request with one or more syncs. The free manifests are synced at once.
// Manifests that are in a sync of another request follow as soon as they are free. A dry
// run waits for none.
func (e *Engine) sync(ctx context.Context, req request.Sync) (result report.Sync, err error) {
	tracing.Of(ctx).Set(tracing.Trigger, req.Trigger)
	names, err := e.namesOf(req)
	if err != nil {
		return report.Sync{}, err
	}
	for _, view := range req.TakeOver {
		if !slices.ContainsFunc(Exports(e.Config()), func(t export.Target) bool { return t.View == view }) {
			return report.Sync{}, fmt.Errorf("--take-over: view %q has no export in the configuration of the running syncd: send it SIGHUP (`systemctl reload syncd`) if the file has one", view)
		}
	}
	parts := &parts{names: names}
	if folder := e.active.Load().source.folder; folder != nil && len(req.Lockfile) == 0 {
		if parts.source, err = e.Bundles.fromFolder(ctx, folder, req.Force); err != nil {
			return report.Sync{}, err
		}
		defer parts.source.Close()
	}
	return e.syncFrom(ctx, req, parts)
}

// syncFrom is sync for manifests that are known, from their source.
func (e *Engine) syncFrom(ctx context.Context, req request.Sync, parts *parts) (result report.Sync, err error) {
	names := parts.names
	err = e.work(ctx, func() error {
		if req.DryRun { // it changes nothing, so it needs no claim
			parts.add(e.syncNow(ctx, req, names, parts.source))
			return parts.err
		}
		before := e.begin()
		defer e.finish(before)
		e.syncAll(ctx, req, names, parts)
		if again := e.renewed(before, parts.merged()); len(again) > 0 && parts.err == nil {
			parts.forget(again)
			e.syncAll(ctx, req, again, parts)
		}
		if parts.err == nil {
			parts.results[0], parts.err = e.Probes.prove(ctx, before, parts.merged())
			parts.results = parts.results[:1]
		}
		return parts.err
	})
	result = parts.merged()
	if req.DryRun {
		return result, err
	}
	if err == nil && parts.source != nil {
		err = parts.source.Taken()
		if issued := parts.source.Issued(); !issued.IsZero() {
			e.witness.Carry(issued)
		}
	}
	e.Followers.withhold()
	e.Ages.Expire(ctx).addTo(&result)
	e.Destruction.Due(ctx)
	if err == nil {
		result.Upload = e.Uploads.Upload(ctx)
	}
	return result, err
}

// syncAll syncs each of the manifests as soon as it is free.
func (e *Engine) syncAll(ctx context.Context, req request.Sync, names []string, parts *parts) {
	for waiting := names; len(waiting) > 0; {
		claim, err := e.syncing.Take(ctx, waiting)
		if err != nil {
			parts.add(report.Sync{}, err)
			break
		}
		claimed := claim.Keys()
		waiting = slices.DeleteFunc(slices.Clone(waiting), func(name string) bool { return slices.Contains(claimed, name) })
		parts.group.Go(func() { parts.add(e.syncClaimed(ctx, req, claim, parts.source)) })
	}
	parts.group.Wait()
}

// namesOf returns the manifests of a request. Unknown ones are an error, unless the
// request has waited.
func (e *Engine) namesOf(req request.Sync) ([]string, error) {
	cfg := e.Config()
	if len(req.Manifests) == 0 {
		return cfg.Names(), nil
	}
	for _, name := range req.Manifests {
		if !cfg.Has(name) && !req.SkipUnknown {
			return nil, &request.UnknownManifestError{Name: name}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(req.Manifests))), nil
}

// syncClaimed does one sync of the claimed manifests with the configuration in force.
// Each manifest is free again once its outcome is recorded.
func (e *Engine) syncClaimed(ctx context.Context, req request.Sync, claim *claims.Claim, from *bundles.Source) (report.Sync, error) {
	defer claim.Close()
	finished := req.Finished
	req.Finished = func(name string) {
		claim.Release(name)
		if finished != nil {
			finished(name)
		}
	}
	return e.syncNow(ctx, req, claim.Keys(), from)
}

// syncNow syncs from a bundle, or from the configured source if that is nil.
func (e *Engine) syncNow(ctx context.Context, req request.Sync, names []string, from *bundles.Source) (report.Sync, error) {
	if err := e.mayChange(); err != nil {
		return report.Sync{}, err
	}
	req.Manifests, req.SkipUnknown = names, true
	active := e.begin()
	defer e.finish(active)
	if from != nil {
		return e.Bundles.carried(active, from).Sync(ctx, req)
	}
	if active.list != nil {
		return active.list.Sync(ctx, req)
	}
	return active.syncer.Sync(ctx, req)
}

// parts are the syncs that serve one request.
type parts struct {
	names  []string        // of the request, in the order of the result
	source *bundles.Source // nil for the configured one
	group  sync.WaitGroup

	mu      sync.Mutex // guards what follows
	results []report.Sync
	err     error // the first
}

func (p *parts) add(result report.Sync, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.results = append(p.results, result)
	if p.err == nil {
		p.err = err
	}
}

// forget removes the outcome of manifests that are synced again.
func (p *parts) forget(names []string) {
	for i := range p.results {
		p.results[i].Manifests = slices.DeleteFunc(p.results[i].Manifests, func(m report.ManifestResult) bool { return slices.Contains(names, m.Name) })
	}
}

func (p *parts) merged() report.Sync {
	if len(p.results) == 0 {
		return report.Sync{}
	}
	merged := p.results[0]
	merged.Manifests = slices.Clone(merged.Manifests)
	for _, result := range p.results[1:] {
		merged.Generation = max(merged.Generation, result.Generation)
		merged.Changed = merged.Changed || result.Changed
		merged.Manifests = append(merged.Manifests, result.Manifests...)
		merged.Views = report.AddViews(merged.Views, result.Views)
		merged.Exports = report.AddExports(merged.Exports, result.Exports)
	}
	slices.SortStableFunc(merged.Manifests, func(a, b report.ManifestResult) int {
		return slices.Index(p.names, a.Name) - slices.Index(p.names, b.Name)
	})
	return merged
}

// HasDue is true if something staged may go live now; DueAt is when the next window opens
// for something staged, the zero time for never.
func (e *Engine) HasDue(now time.Time) bool { return e.active.Load().syncer.Tree().HasDue(now) }

// DueAt is described at HasDue.
func (e *Engine) DueAt(now time.Time) time.Time { return e.active.Load().syncer.Tree().DueAt(now) }
