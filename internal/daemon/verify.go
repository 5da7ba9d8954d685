package daemon

import (
	"context"
	"time"

	"syncd/internal/engine/operation"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

// verifyBucket verifies the bucket by the schedule of the scrub, until ctx ends, and uploads
// again what it lost.
func (d *Daemon) verifyBucket(ctx context.Context) {
	var plan scrubPlan
	var retryAt time.Time
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(d.verifyBucketStep(ctx, &plan, &retryAt)):
		}
	}
}

// verifyBucketStep does what is to be done now. It returns how long there is nothing more to
// do.
func (d *Daemon) verifyBucketStep(ctx context.Context, plan *scrubPlan, retryAt *time.Time) time.Duration {
	schedule, now := d.engine.Config().Scrub.Schedule, time.Now()
	last, hasPlace := d.engine.Uploads.Verified()
	if !schedule.IsSet() || !hasPlace {
		return maxSleep
	}
	plan.follow(schedule, store.Scrub{StartedAt: last}, now)
	next := plan.next()
	if retryAt.After(next) {
		next = *retryAt
	}
	if next.After(now) {
		return min(maxSleep, time.Until(next))
	}
	*retryAt = now.Add(retryRepair) // if it fails, which the log says
	_, err := operation.Upload.Do(ctx, d.operations, request.Upload{Verify: true, Repair: true, Paced: true})
	if err == nil {
		*retryAt = time.Time{}
	}
	return 0
}
