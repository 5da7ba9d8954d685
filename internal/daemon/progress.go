package daemon

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"syncd/internal/report"
)

// progressInterval is how often the log says how far a long sync is.
const progressInterval = time.Minute

// logProgress tells of long syncs until ctx ends.
func (d *Daemon) logProgress(ctx context.Context) {
	ticks := time.NewTicker(progressInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticks.C:
			writeProgress(d.log, d.engine.Progress(), now)
		}
	}
}

// writeProgress logs one event for the syncs that have run for longer than the interval.
func writeProgress(log zerolog.Logger, p report.Progress, now time.Time) {
	if !p.Syncing || now.Sub(p.StartedAt) < progressInterval {
		return
	}
	manifests := zerolog.Arr()
	for _, m := range p.Manifests {
		if m.Phase != report.PhaseDone {
			manifests.Dict(zerolog.Dict().Str("manifest", m.Name).Str("phase", m.Phase).Int("files", m.FilesDone).Int("files_total", m.FilesTotal).
				Int64("bytes", m.BytesDone).Int64("bytes_total", m.BytesTotal).Float64("seconds_left", m.SecondsLeft))
		}
	}
	withTrace(log.Info(), p.TraceID).Str("trigger", p.Trigger).Float64("seconds", now.Sub(p.StartedAt).Seconds()).Array("manifests", manifests).Msg("sync goes on")
}
