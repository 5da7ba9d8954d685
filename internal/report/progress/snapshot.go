package progress

import (
	"time"

	"syncd/internal/metrics/tracing"
	"syncd/internal/report"
)

// Snapshot returns the state now.
func (t *Tracker) Snapshot() report.Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := report.Progress{Syncing: len(t.syncs) > 0, Retry: t.longestRetryLocked()}
	now := time.Now()
	for _, d := range t.downloads {
		s.Files = append(s.Files, d.snapshotLocked(now))
	}
	for i, running := range t.syncs {
		if i == 0 {
			s.Trigger, s.StartedAt, s.TraceID = running.trigger, running.started, tracing.ID(running.context)
		}
		for _, m := range running.manifests {
			s.Manifests = append(s.Manifests, t.manifestLocked(m, now))
		}
	}
	return s
}

// manifestLocked is a manifest's progress including its running downloads.
func (t *Tracker) manifestLocked(m *manifestState, now time.Time) report.ManifestProgress {
	progress, arrived := m.ManifestProgress, m.arrived
	if progress.Phase != report.PhaseDone {
		progress.Retry = t.retries[m.Name]
	}
	for _, d := range t.downloads {
		if d.file.Manifest == m.Name {
			progress.BytesDone += d.file.Done
			arrived += d.arrived
		}
	}
	if progress.Phase != report.PhaseDownloading {
		return progress
	}
	progress.BytesPerSecond = m.speed.perSecond(now, arrived)
	progress.SecondsLeft = report.SecondsLeft(progress.BytesTotal-progress.BytesDone, progress.BytesPerSecond)
	return progress
}

func (d *Download) snapshotLocked(now time.Time) report.FileProgress {
	file := d.file
	file.BytesPerSecond = d.speed.perSecond(now, d.arrived)
	file.SecondsLeft = report.SecondsLeft(file.Size-file.Done, file.BytesPerSecond)
	return file
}
