package engine

import (
	"context"
	"path"

	"syncd/internal/host/rate"
	"syncd/internal/manifest"
	"syncd/internal/metrics"
	"syncd/internal/mirror/scrub"
	"syncd/internal/store"
)

// Scrub re-reads all objects, slice by slice.
type Scrub struct {
	*base
	rate     *rate.Budget
	scrubber *scrub.Scrubber
	finish   func(*active)
}

func newScrub(e *Engine) *Scrub {
	return &Scrub{base: e.base, rate: rate.NewBudget(rate.Timetable{}), finish: e.finish}
}

// open prepares to go on with the scrub that the state knows.
func (s *Scrub) open() error {
	saved, err := s.store.Scrub()
	if err != nil {
		return err
	}
	s.scrubber = scrub.New(scrub.Config{
		Objects: s.mirror.Objects, Missing: s.mirror.Missing, Rate: s.rate, Save: s.store.SetScrub, Repair: s.repairObject,
		Read: func(bytes int64) { s.metrics.ScrubRead(bytes) },
	}, saved)
	return nil
}

// Begin starts a scrub of all objects.
func (s *Scrub) Begin(ctx context.Context) error {
	return s.work(ctx, func() error { return s.scrubber.Begin(ctx) })
}

// Slice re-reads some objects and has damaged ones repaired. It returns true when the
// scrub has ended.
func (s *Scrub) Slice(ctx context.Context) (ended bool, err error) {
	err = s.work(ctx, func() (err error) {
		ended, err = s.scrubber.Slice(ctx)
		return err
	})
	return ended, err
}

// Retry tries again to repair what the last scrub could not.
func (s *Scrub) Retry(ctx context.Context) error {
	return s.work(ctx, func() error { return s.scrubber.Retry(ctx) })
}

// End saves how far the scrub has come.
func (s *Scrub) End() error { return s.scrubber.Close() }

// Progress returns how far the newest scrub has come.
func (s *Scrub) Progress() store.Scrub { return s.scrubber.Progress() }

// repairObject repairs an object with the configuration in force, and logs an event for
// each file that holds it.
func (s *Scrub) repairObject(ctx context.Context, id manifest.ObjectID, damage error, isNew bool) (file string, err error) {
	active := s.begin()
	defer s.finish(active)
	files, err := active.syncer.RepairObject(ctx, id, damage, isNew)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	for _, f := range files {
		s.options.Log.Error().Str("manifest", f.Manifest).Str("path", f.Path).Bool("repaired", f.Repaired).Str("error", f.Error).Msg("damage")
	}
	if len(files) > 0 {
		return path.Join(files[0].Manifest, files[0].Path), err
	}
	return "object " + id.String(), err
}

// shown is what the metrics show of the newest scrub.
func (s *Scrub) shown() metrics.Scrub {
	progress := s.scrubber.Progress()
	shown := metrics.Scrub{Completed: progress.CompletedAt, Left: len(progress.Left)}
	if progress.TotalBytes > 0 {
		shown.Share = min(float64(progress.Bytes)/float64(progress.TotalBytes), 1)
	}
	if !progress.FinishedAt.IsZero() {
		shown.Share = 1
	}
	return shown
}
