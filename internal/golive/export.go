package golive

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"syncd/internal/disk/durable"
	"syncd/internal/manifest/refusal"
	"syncd/internal/metrics"
	"syncd/internal/mirror"
	"syncd/internal/mirror/export"
	"syncd/internal/report"
	"syncd/internal/report/status"
)

// exports makes the exported folders follow the served generation, one folder at a time.
// It runs outside of the turn, because copies to another file system take long. Safe for
// concurrent use.
type exports struct {
	turn chan struct{} // holds one token while no folder changes

	mu     sync.Mutex // guards what follows; never held across the disk
	failed map[string]status.ExportFailure
}

// take waits for the turn to change folders.
func (e *exports) take(ctx context.Context) (release func(), err error) {
	select {
	case <-e.turn:
		return func() { e.turn <- struct{}{} }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// FailedExports returns the last failure of each folder that does not follow, by path.
func (d *Directory) FailedExports() map[string]status.ExportFailure { return d.exports.failures() }

func (e *exports) failures() map[string]status.ExportFailure {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.failed)
}

func (e *exports) note(path string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed == nil {
		e.failed = map[string]status.ExportFailure{}
	}
	failure, failedBefore := e.failed[path]
	if !failedBefore {
		failure.Since = time.Now().UTC()
	}
	if failure.Err = err; err == nil {
		delete(e.failed, path)
		return
	}
	e.failed[path] = failure
}

// Export makes the configured folders follow what is served. takeOver names the views whose
// folders replace what lies there. The context's end is no failure of a folder.
func (t *Tree) Export(ctx context.Context, o export.Options, takeOver []string) []report.ExportResult {
	return t.exporter().follow(ctx, t.Exports, o, takeOver)
}

// HoldExports waits until no exported folder is written, and keeps that so until release.
func (d *Directory) HoldExports(ctx context.Context) (release func(), err error) {
	return d.exports.take(ctx)
}

// exporter makes folders follow what is served.
type exporter struct {
	*exports
	mirror  *mirror.Mirror
	metrics *metrics.Metrics
	log     zerolog.Logger
}

func (t *Tree) exporter() exporter { return exporter{&t.exports, t.Mirror, t.Metrics, t.Log} }

func (e exporter) follow(ctx context.Context, targets []export.Target, o export.Options, takeOver []string) (results []report.ExportResult) {
	if len(targets) == 0 {
		return nil
	}
	release, err := e.take(ctx)
	if err != nil {
		return nil
	}
	defer release()
	for _, target := range targets {
		o.TakeOver = slices.Contains(takeOver, target.View)
		generation, changed, err := e.exportOne(ctx, target, o)
		if ctx.Err() != nil {
			break
		}
		if generation == 0 {
			continue // the view is not served yet
		}
		e.note(target.Path, err)
		status.ShowExport(e.metrics, status.Exports(e.mirror, []export.Target{target}, e.failures())[0])
		results = append(results, exportResult(target, generation, changed, err))
	}
	return results
}

// exportOne tries again while another generation comes into service: pruning may then
// remove the files that it reads.
func (e exporter) exportOne(ctx context.Context, target export.Target, o export.Options) (generation int, changed bool, err error) {
	for {
		current := e.mirror.Current()
		view, served := current.Views[target.View]
		if !served {
			return 0, false, nil
		}
		changed, err = e.followView(ctx, target, current.Number, view, o)
		if err == nil || ctx.Err() != nil || e.mirror.Current().Views[target.View].Fingerprint == view.Fingerprint {
			return current.Number, changed, err
		}
	}
}

func (e exporter) followView(ctx context.Context, target export.Target, generation int, view mirror.View, o export.Options) (bool, error) {
	dir, err := e.mirror.Trees.Open(view)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	source := export.Source{Dir: dir, Fingerprint: view.Fingerprint, Generation: generation, Files: view.TreeFiles}
	return export.Follow(ctx, &durable.Disk{Warn: func(text string) { e.log.Warn().Ctx(ctx).Str("export", target.Path).Msg(text) }}, target, source, o)
}

func exportResult(t export.Target, generation int, changed bool, err error) report.ExportResult {
	result := report.ExportResult{View: t.View, Path: t.Path, Generation: generation, Result: report.Unchanged}
	if changed {
		result.Result = report.Updated
	}
	if err == nil {
		return result
	}
	mark, _ := export.Look(t) // its error is the same
	result.Generation, result.Result, result.Error = mark.Generation, report.Failed, report.OneLine(err.Error())
	if result.Reason = string(refusal.ReasonOf(err)); result.Reason != "" || export.IsRefused(err) {
		result.Result = report.Refused
	}
	return result
}

// RepairExports reads the exported folders, and replaces those with damage by new trees,
// after their files were repaired in the data directory.
func (t *Tree) RepairExports(ctx context.Context, served mirror.Checked, rate int64) (report.Verification, error) {
	result, err := status.VerifyExports(ctx, t.Mirror, served, t.Exports, rate)
	if err != nil || result.OK() {
		return result, err
	}
	damaged := slices.DeleteFunc(slices.Clone(t.Exports), func(target export.Target) bool { return !result.CanMend(target.Path) })
	for _, done := range t.exporter().follow(ctx, damaged, export.Options{Mend: true}, nil) {
		result.Mended(done)
	}
	if ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	return result, nil
}
