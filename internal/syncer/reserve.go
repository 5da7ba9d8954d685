package syncer

import (
	"context"

	"syncd/internal/golive/room"
)

// reserveSpace goes through the manifests in the order of the configuration. It
// refuses each that does not fit in addition to those before it, even after pruning.
func (r *run) reserveSpace(ctx context.Context, jobs []*job) {
	_ = r.tree.Change(ctx, func() error { // it may prune; the error is the context's
		reservation := r.tree.Room().NewReservation(r.tree.RoomConfig(), namesOfJobs(jobs), r.servedFiles, r.req.DryRun)
		for _, j := range openJobs(jobs) {
			if ctx.Err() != nil {
				break // a sync that ends must not displace an old revision
			}
			r.reserve(ctx, reservation, j)
		}
		return nil
	})
}

func (r *run) reserve(ctx context.Context, reservation *room.Reservation, j *job) {
	need := reservation.Need(room.Plan{Manifest: j.target.Name, Plan: j.plan, Sizes: j.sizes})
	if !r.req.DryRun {
		r.cfg.Metrics.DiskNeeded(j.target.Name, need.Bytes)
	}
	need, err := reservation.Take(ctx, j.target.Name, need)
	if err != nil {
		j.fail(err)
	} else if !r.req.DryRun {
		j.reserve(need)
	}
}

// servedFiles is how many files each manifest of an open job serves now.
func (r *run) servedFiles() map[string]int {
	files := map[string]int{}
	for _, j := range openJobs(r.jobs) {
		files[j.target.Name] = len(j.active.Files)
	}
	return files
}

func namesOfJobs(jobs []*job) []string {
	names := make([]string, len(jobs))
	for i, j := range jobs {
		names[i] = j.target.Name
	}
	return names
}
