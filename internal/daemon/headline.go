package daemon

import (
	"context"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
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
		if status, err := d.Status(); err == nil && status.Headline() != told {
			told = status.Headline()
			_, _ = daemon.SdNotify(false, "STATUS="+told) // like notify
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}
