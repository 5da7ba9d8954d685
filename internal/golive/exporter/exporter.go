package exporter

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

// Folders are the exported folders of a data directory, whichever configuration names them.
// One of them is written at a time. Safe for concurrent use.
type Folders struct {
	turn chan struct{} // holds one token while no folder changes

	mu     sync.Mutex // guards what follows; never held across the disk
	failed map[string]status.ExportFailure
}

// NewFolders returns the Folders of a data directory.
func NewFolders() *Folders {
	f := &Folders{turn: make(chan struct{}, 1)}
	f.turn <- struct{}{}
	return f
}

// Hold waits until no exported folder is written, and keeps that so until release.
func (f *Folders) Hold(ctx context.Context) (release func(), err error) {
	select {
	case <-f.turn:
		return func() { f.turn <- struct{}{} }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Failed returns the last failure of each folder that does not follow, by path.
func (f *Folders) Failed() map[string]status.ExportFailure {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.failed)
}

func (f *Folders) note(path string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == nil {
		f.failed = map[string]status.ExportFailure{}
	}
	failure, failedBefore := f.failed[path]
	if !failedBefore {
		failure.Since = time.Now().UTC()
	}
	if failure.Err = err; err == nil {
		delete(f.failed, path)
		return
	}
	f.failed[path] = failure
}

// Exporter makes the folders of one configuration follow. Safe for concurrent use.
type Exporter struct {
	Folders *Folders
	Targets []export.Target
	Mirror  *mirror.Mirror
	Metrics *metrics.Metrics
	Log     zerolog.Logger
}

// Follow makes the folders show what is served. takeOver names the views whose folders
// replace what lies there. The context's end is no failure of a folder.
func (e Exporter) Follow(ctx context.Context, o export.Options, takeOver []string) []report.ExportResult {
	return e.follow(ctx, e.Targets, o, takeOver)
}

func (e Exporter) follow(ctx context.Context, targets []export.Target, o export.Options, takeOver []string) (results []report.ExportResult) {
	if len(targets) == 0 {
		return nil
	}
	release, err := e.Folders.Hold(ctx)
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
		e.Folders.note(target.Path, err)
		status.ShowExport(e.Metrics, status.Exports(e.Mirror, []export.Target{target}, e.Folders.Failed())[0])
		results = append(results, exportResult(target, generation, changed, err))
	}
	return results
}

// exportOne tries again while another generation comes into service: pruning may then
// remove the files that it reads.
func (e Exporter) exportOne(ctx context.Context, target export.Target, o export.Options) (generation int, changed bool, err error) {
	for {
		current := e.Mirror.Current()
		view, served := current.Views[target.View]
		if !served {
			return 0, false, nil
		}
		changed, err = e.followView(ctx, target, current.Number, view, o)
		if err == nil || ctx.Err() != nil || e.Mirror.Current().Views[target.View].Fingerprint == view.Fingerprint {
			return current.Number, changed, err
		}
	}
}

func (e Exporter) followView(ctx context.Context, target export.Target, generation int, view mirror.View, o export.Options) (bool, error) {
	dir, err := e.Mirror.Trees.Open(view)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	source := export.Source{Dir: dir, Fingerprint: view.Fingerprint, Generation: generation, Files: view.TreeFiles}
	return export.Follow(ctx, &durable.Disk{Warn: func(text string) { e.Log.Warn().Ctx(ctx).Str("export", target.Path).Msg(text) }}, target, source, o)
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

// Repair reads the exported folders, and replaces those with damage by new trees,
// after their files were repaired in the data directory.
func (e Exporter) Repair(ctx context.Context, served mirror.Checked, rate int64) (report.Verification, error) {
	result, err := status.VerifyExports(ctx, e.Mirror, served, e.Targets, rate)
	if err != nil || result.OK() {
		return result, err
	}
	damaged := slices.DeleteFunc(slices.Clone(e.Targets), func(target export.Target) bool { return !result.CanMend(target.Path) })
	for _, done := range e.follow(ctx, damaged, export.Options{Mend: true}, nil) {
		result.Mended(done)
	}
	if ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	return result, nil
}
