package daemon

import (
	"context"
	"sync"
	"time"

	"syncd/internal/config/schedule"
	"syncd/internal/store"
)

// retryRepair is the pause between attempts to repair what a scrub found.
const retryRepair = time.Hour

// scrubPlan knows when the next scrub starts. Safe for concurrent use.
type scrubPlan struct {
	mu       sync.Mutex // guards what follows
	known    bool
	schedule schedule.Schedule
	from     time.Time // the next scrub is the schedule's first after this
}

// follow takes over a schedule. A scrub that was due while no daemon ran starts at once. A
// schedule that a reload changed counts from the reload.
func (p *scrubPlan) follow(schedule schedule.Schedule, last store.Scrub, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.known && !last.StartedAt.IsZero() && !last.StartedAt.After(now):
		p.from = last.StartedAt
	case !p.known, !p.schedule.Equal(schedule):
		p.from = now
	case p.from.After(now): // the clock was set back
		p.from = now
	case last.StartedAt.After(p.from) && !last.StartedAt.After(now):
		p.from = last.StartedAt
	}
	p.known, p.schedule = true, schedule
}

// next is when the next scrub starts; zero for never.
func (p *scrubPlan) next() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.schedule.Next(p.from)
}

// scrub re-reads all objects by the schedule, until ctx ends. It goes on with a scrub that
// an earlier process began.
func (d *Daemon) scrub(ctx context.Context) {
	var retryAt time.Time
	for ctx.Err() == nil {
		pause, err := d.scrubStep(ctx, &retryAt)
		if err != nil && ctx.Err() == nil {
			d.log.Error().Err(err).Msg("scrub stopped, it goes on in 30 seconds")
			pause = maxSleep
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	if err := d.engine.Scrub.End(); err != nil {
		d.log.Warn().Err(err).Msg("saving the progress of the scrub failed")
	}
}

// scrubStep does what is to be done now. It returns how long there is nothing more to do.
func (d *Daemon) scrubStep(ctx context.Context, retryAt *time.Time) (pause time.Duration, err error) {
	schedule, progress, now := d.engine.Config().Scrub.Schedule, d.engine.Scrub.Progress(), time.Now()
	d.scrubs.follow(schedule, progress, now)
	next := d.scrubs.next()
	switch {
	case !schedule.IsSet():
		return maxSleep, nil
	case progress.IsRunning():
		return 0, d.scrubSlice(ctx)
	case !next.After(now):
		d.log.Info().Msg("scrub started")
		return 0, d.engine.Scrub.Begin(ctx)
	case len(progress.Left) > 0 && !retryAt.After(now):
		*retryAt = now.Add(retryRepair)
		return 0, d.engine.Scrub.Retry(ctx)
	}
	return min(maxSleep, time.Until(next)), nil
}

func (d *Daemon) scrubSlice(ctx context.Context) error {
	ended, err := d.engine.Scrub.Slice(ctx)
	if err != nil || !ended {
		return err
	}
	p := d.engine.Scrub.Progress()
	event := d.log.Info()
	if len(p.Left) > 0 {
		event = d.log.Error()
	}
	event.Int("objects", p.Objects).Int64("bytes", p.Bytes).Int("damaged", p.Damaged).Int("repaired", p.Repaired).
		Float64("seconds", p.FinishedAt.Sub(p.StartedAt).Seconds()).Msg("scrub finished")
	return nil
}
