package daemon

import (
	"context"
	"time"
)

// How often the daemon looks whether something is due to be destroyed. Syncs look by
// themselves.
const (
	minDestroyPause = time.Second
	maxDestroyPause = time.Minute
)

// destroyDue destroys what is due until ctx ends.
func (d *Daemon) destroyDue(ctx context.Context) {
	for {
		now := time.Now()
		next := d.engine.Destruction.Next()
		if !next.After(now) {
			d.engine.Destruction.OnTime(ctx)
			next = d.engine.Destruction.Next()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(max(next.Sub(now), minDestroyPause), maxDestroyPause)):
		}
	}
}
