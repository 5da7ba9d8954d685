package daemon

import (
	"context"
	"os"
	"time"
)

// headlineInterval is how often systemd is told how things stand, if that changed.
const headlineInterval = 2 * time.Second

// tellHeadline keeps the line that `systemctl status` shows up to date until ctx
// ends. It is no part of the loop that the watchdog follows: it reads the disk.
func (d *Daemon) tellHeadline(ctx context.Context) {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return
	}
	ticks := time.NewTicker(headlineInterval)
	defer ticks.Stop()
	told := ""
	for {
		if status, err := d.Status(); err == nil {
			if headline := status.Headline(); headline != told {
				told = headline
				notify("STATUS=" + told)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}
