package daemon

import (
	"context"
	"os"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
)

// headlineInterval is how often a changed headline is sent to systemd.
const headlineInterval = 2 * time.Second

// notify sends a message to systemd; without systemd it does nothing.
func notify(message string) { _, _ = systemd.SdNotify(false, message) }

// reportHeadline keeps the line that `systemctl status` shows up to date until ctx
// ends. It reads the disk, so it must not run in the loop that feeds the watchdog.
func (d *Daemon) reportHeadline(ctx context.Context) {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return
	}
	ticks := time.NewTicker(headlineInterval)
	defer ticks.Stop()
	sent := ""
	for {
		if status, err := d.Status(); err == nil {
			if headline := status.Headline(); headline != sent {
				sent = headline
				notify("STATUS=" + sent)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}
