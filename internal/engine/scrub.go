package engine

import (
	"context"
	"path"

	"syncd/internal/manifest"
	"syncd/internal/metrics"
	"syncd/internal/mirror/scrub"
	"syncd/internal/store"
)

// openScrub prepares to go on with the scrub that the state knows.
func (e *Engine) openScrub() error {
	saved, err := e.store.Scrub()
	if err != nil {
		return err
	}
	e.scrubber = scrub.New(scrub.Config{
		Objects: e.mirror, Rate: e.scrubRate, Save: e.store.SetScrub, Repair: e.repairObject,
		Read: func(bytes int64) { e.metrics.ScrubRead(bytes) },
	}, saved)
	return nil
}

// BeginScrub starts a scrub of all objects.
func (e *Engine) BeginScrub(ctx context.Context) error {
	return e.work(ctx, func() error { return e.scrubber.Begin(ctx) })
}

// ScrubSlice re-reads some objects and has damaged ones repaired. It returns true when the
// scrub has ended.
func (e *Engine) ScrubSlice(ctx context.Context) (ended bool, err error) {
	err = e.work(ctx, func() (err error) {
		ended, err = e.scrubber.Slice(ctx)
		return err
	})
	return ended, err
}

// RetryScrub tries again to repair what the last scrub could not.
func (e *Engine) RetryScrub(ctx context.Context) error {
	return e.work(ctx, func() error { return e.scrubber.Retry(ctx) })
}

// EndScrub saves how far the scrub has come.
func (e *Engine) EndScrub() error { return e.scrubber.Close() }

// ScrubProgress returns how far the newest scrub has come.
func (e *Engine) ScrubProgress() store.Scrub { return e.scrubber.Progress() }

// repairObject repairs an object with the configuration in force, and logs an event for
// each file that holds it.
func (e *Engine) repairObject(ctx context.Context, id manifest.ObjectID, damage error, isNew bool) (file string, err error) {
	active := e.active.Load()
	defer e.finish(active)
	files, err := active.syncer.RepairObject(ctx, id, damage, isNew)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	for _, f := range files {
		e.options.Log.Error().Str("manifest", f.Manifest).Str("path", f.Path).Bool("repaired", f.Repaired).Str("error", f.Error).Msg("damage")
	}
	if len(files) > 0 {
		return path.Join(files[0].Manifest, files[0].Path), err
	}
	return "object " + id.String(), err
}

// scrubMetrics is what the metrics show of the newest scrub.
func (e *Engine) scrubMetrics() metrics.Scrub {
	progress := e.scrubber.Progress()
	shown := metrics.Scrub{Completed: progress.CompletedAt, Left: len(progress.Left)}
	if progress.TotalBytes > 0 {
		shown.Share = min(float64(progress.Bytes)/float64(progress.TotalBytes), 1)
	}
	if !progress.FinishedAt.IsZero() {
		shown.Share = 1
	}
	return shown
}
