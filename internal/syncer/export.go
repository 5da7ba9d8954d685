package syncer

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"syncd/internal/disk/durable"
	"syncd/internal/manifest/refusal"
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

// Failed returns the last failure of each folder that does not follow, by path.
func (s *Shared) Failed() map[string]status.ExportFailure {
	s.exports.mu.Lock()
	defer s.exports.mu.Unlock()
	return maps.Clone(s.exports.failed)
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

// export makes folders follow what is served. takeOver names the views whose folders
// replace what lies there. The context's end is no failure of a folder.
func (c *Config) export(ctx context.Context, targets []export.Target, o export.Options, takeOver []string) (results []report.ExportResult) {
	if len(targets) == 0 {
		return nil
	}
	select {
	case <-c.Shared.exports.turn:
	case <-ctx.Done():
		return nil
	}
	defer func() { c.Shared.exports.turn <- struct{}{} }()
	for _, t := range targets {
		o.TakeOver = slices.Contains(takeOver, t.View)
		generation, changed, err := c.exportOne(ctx, t, o)
		if ctx.Err() != nil {
			break
		}
		if generation == 0 {
			continue // the view is not served yet
		}
		c.Shared.exports.note(t.Path, err)
		status.ShowExport(c.Metrics, status.Exports(c.Mirror, []export.Target{t}, c.Shared.Failed())[0])
		results = append(results, exportResult(t, generation, changed, err))
	}
	return results
}

// exportOne tries again while another generation comes into service: pruning may then
// remove the files that it reads.
func (c *Config) exportOne(ctx context.Context, t export.Target, o export.Options) (generation int, changed bool, err error) {
	for {
		current := c.Mirror.Current()
		view, served := current.Views[t.View]
		if !served {
			return 0, false, nil
		}
		changed, err = c.followView(ctx, t, current.Number, view, o)
		if err == nil || ctx.Err() != nil || c.Mirror.Current().Views[t.View].Fingerprint == view.Fingerprint {
			return current.Number, changed, err
		}
	}
}

func (c *Config) followView(ctx context.Context, t export.Target, generation int, view mirror.View, o export.Options) (bool, error) {
	dir, err := c.Mirror.OpenTree(view)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	source := export.Source{Dir: dir, Fingerprint: view.Fingerprint, Generation: generation, Files: func() (files []export.File) {
		for _, f := range view.TreeFiles() {
			files = append(files, export.File{Path: f.Path, Size: f.Size, Object: f.Object})
		}
		return files
	}}
	return export.Follow(ctx, &durable.Disk{Warn: func(text string) { c.Log.Warn().Str("export", t.Path).Msg(text) }}, t, source, o)
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

// exportMeanwhile makes the folders follow what is served when the sync begins: a crash
// may have come between a swap and its export. wait ends when that is done.
func (r *run) exportMeanwhile(ctx context.Context) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.export(ctx)
	}()
	return func() { <-done }
}

func (r *run) export(ctx context.Context) {
	results := r.cfg.export(ctx, r.cfg.Exports, export.Options{Thorough: r.req.Demand}, r.req.TakeOver)
	r.exportsMu.Lock()
	defer r.exportsMu.Unlock()
	for _, result := range results {
		i := slices.IndexFunc(r.exports, func(old report.ExportResult) bool { return old.Path == result.Path })
		switch {
		case i < 0:
			r.exports = append(r.exports, result)
		case result.Result != report.Unchanged || r.exports[i].Error != "":
			r.exports[i] = result
		default:
			r.exports[i].Generation = result.Generation
		}
	}
}

func (r *run) exportResults() []report.ExportResult {
	r.exportsMu.Lock()
	defer r.exportsMu.Unlock()
	return r.exports
}

// repairExports reads the exported folders, and replaces those with damage by new trees,
// after their files were repaired in the data directory.
func (c *Config) repairExports(ctx context.Context, served mirror.Checked, rate int64) (report.Verification, error) {
	result, err := status.VerifyExports(ctx, c.Mirror, served, c.Exports, rate)
	if err != nil || result.OK() {
		return result, err
	}
	damaged := slices.DeleteFunc(slices.Clone(c.Exports), func(t export.Target) bool { return !result.CanMend(t.Path) })
	for _, done := range c.export(ctx, damaged, export.Options{Mend: true}, nil) {
		result.Mended(done)
	}
	if ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	return result, nil
}
