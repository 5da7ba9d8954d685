package daemon

import (
	"context"
	"time"
)

// expiryInterval is how often the age of data is looked at, beside each sync. Data expires at
// midnight UTC, or when a Date header proves it.
const expiryInterval = time.Minute

// expire acts on the age of data until ctx ends.
func (d *Daemon) expire(ctx context.Context) {
	ticker := time.NewTicker(expiryInterval)
	defer ticker.Stop()
	for {
		d.engine.Ages.Expire(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
