package report

import "time"

// Snapshot is the state of the running syncs at one moment. Trigger and StartedAt are
// those of the sync that has run longest.
type Snapshot struct {
	Syncing   bool               `json:"syncing"`
	Trigger   string             `json:"trigger,omitempty"`
	StartedAt time.Time          `json:"started_at,omitzero"`
	Manifests []ManifestProgress `json:"manifests,omitempty"`

	StuckSince map[string]time.Time `json:"-"`               // by manifest: since when the provider sends nothing
	Files      []FileProgress       `json:"files,omitempty"` // running downloads
}

// The phases of a manifest in a sync.
const (
	PhaseWaiting     = "waiting"
	PhaseChecking    = "checking"
	PhaseDownloading = "downloading"
	PhaseGating      = "gating" // the gate looks at the complete revision
	PhasePublishing  = "publishing"
	PhaseDone        = "done" // while other manifests of the sync go on
)

// ManifestProgress counts the contents that a manifest has to download.
// BytesTotal grows while sizes become known.
type ManifestProgress struct {
	Name       string `json:"name"`
	Phase      string `json:"phase"`
	FilesTotal int    `json:"files_total"`
	FilesDone  int    `json:"files_done"`
	BytesTotal int64  `json:"bytes_total"`
	BytesDone  int64  `json:"bytes_done"`

	BytesPerSecond float64 `json:"bytes_per_second,omitzero"` // received, over the last seconds
	SecondsLeft    float64 `json:"seconds_left,omitzero"`     // at that speed; 0 when unknown

	StuckSince time.Time `json:"stuck_since,omitzero"` // in a Status: since when the provider sends nothing
}

// FileProgress is one running download; Size is -1 when unknown.
type FileProgress struct {
	Manifest string `json:"manifest"`
	Path     string `json:"path"`
	Size     int64  `json:"size"`
	Done     int64  `json:"done"`

	BytesPerSecond float64 `json:"bytes_per_second,omitzero"` // received, over the last seconds
	SecondsLeft    float64 `json:"seconds_left,omitzero"`     // at that speed; 0 when unknown
}

// Snapshot returns the state now.
func (p *Progress) Snapshot() Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Snapshot{Syncing: len(p.syncs) > 0}
	now := time.Now()
	for _, d := range p.downloads {
		s.Files = append(s.Files, d.snapshotLocked(now))
	}
	for i, running := range p.syncs {
		if i == 0 {
			s.Trigger, s.StartedAt = running.trigger, running.started
		}
		for _, m := range running.manifests {
			s.Manifests = append(s.Manifests, p.manifestLocked(m, now))
		}
	}
	return s
}

// manifestLocked is a manifest's progress including its running downloads.
func (p *Progress) manifestLocked(m *manifestState, now time.Time) ManifestProgress {
	progress, arrived := m.ManifestProgress, m.arrived
	for _, d := range p.downloads {
		if d.file.Manifest == m.Name {
			progress.BytesDone += d.file.Done
			arrived += d.arrived
		}
	}
	if progress.Phase != PhaseDownloading {
		return progress
	}
	progress.BytesPerSecond = m.speed.perSecond(now, arrived)
	progress.SecondsLeft = secondsLeft(progress.BytesTotal-progress.BytesDone, progress.BytesPerSecond)
	return progress
}

func (d *Download) snapshotLocked(now time.Time) FileProgress {
	file := d.file
	file.BytesPerSecond = d.speed.perSecond(now, d.arrived)
	file.SecondsLeft = secondsLeft(file.Size-file.Done, file.BytesPerSecond)
	return file
}

// manifest returns a manifest's progress, nil when it is not syncing.
func (s Snapshot) manifest(name string) *ManifestProgress {
	for _, m := range s.Manifests {
		if m.Name == name && m.Phase != PhaseDone {
			m.StuckSince = s.StuckSince[name]
			return &m
		}
	}
	return nil
}

// Total is the progress of all manifests together.
type Total struct {
	FilesTotal, FilesDone int
	BytesTotal, BytesDone int64
	BytesPerSecond        float64
	SecondsLeft           float64 // 0 when unknown
}

// Total adds up the manifests. BytesTotal is never below BytesDone.
func (s Snapshot) Total() Total {
	var t Total
	for _, m := range s.Manifests {
		t.FilesTotal, t.FilesDone = t.FilesTotal+m.FilesTotal, t.FilesDone+m.FilesDone
		t.BytesTotal, t.BytesDone = t.BytesTotal+m.BytesTotal, t.BytesDone+m.BytesDone
		t.BytesPerSecond += m.BytesPerSecond
	}
	t.BytesTotal = max(t.BytesTotal, t.BytesDone)
	t.SecondsLeft = secondsLeft(t.BytesTotal-t.BytesDone, t.BytesPerSecond)
	return t
}

// secondsLeft is how long bytes take at a speed; 0 when unknown.
func secondsLeft(bytes int64, perSecond float64) float64 {
	if bytes <= 0 || perSecond <= 0 {
		return 0
	}
	return float64(bytes) / perSecond
}
