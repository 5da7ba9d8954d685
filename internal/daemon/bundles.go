package daemon

import (
	"context"
	"time"

	"syncd/internal/report/request"
)

// lookEvery is how often the folder of source.bundles is looked at.
const lookEvery = 2 * time.Second

// takeBundles starts a sync when a bundle has appeared in source.bundles.
func (d *Daemon) takeBundles(ctx context.Context) {
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
		now := d.engine.Bundles.Settled()
		if now == last {
			continue
		}
		if last = now; now == "" {
			continue
		}
		if d.Trigger(ctx, request.Sync{Demand: true, Trigger: request.TriggerImport}) != nil {
			return // the daemon ends
		}
	}
}
