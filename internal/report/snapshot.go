package report

import "time"

// Snapshot is the state of a running sync at one moment.
type Snapshot struct {
	Syncing   bool               `json:"syncing"`
	Trigger   string             `json:"trigger,omitempty"`
	StartedAt time.Time          `json:"started_at,omitzero"`
	Manifests []ManifestProgress `json:"manifests,omitempty"`
	Files     []FileProgress     `json:"files,omitempty"` // running downloads
}

// The phases of a manifest in a sync.
const (
	PhaseWaiting     = "waiting"
	PhaseChecking    = "checking"
	PhaseDownloading = "downloading"
	PhasePublishing  = "publishing"
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
}

// FileProgress is one running download; Size is -1 when unknown.
type FileProgress struct {
	Manifest string `json:"manifest"`
	Path     string `json:"path"`
	Size     int64  `json:"size"`
	Done     int64  `json:"done"`
}

// Snapshot returns the state now.
func (p *Progress) Snapshot() Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Snapshot{Syncing: p.syncing, Trigger: p.trigger, StartedAt: p.started}
	now := time.Now()
	for _, d := range p.downloads {
		s.Files = append(s.Files, d.file)
	}
	for _, m := range p.manifests {
		s.Manifests = append(s.Manifests, p.manifestLocked(m, now))
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
	if left := progress.BytesTotal - progress.BytesDone; left > 0 && progress.BytesPerSecond > 0 {
		progress.SecondsLeft = float64(left) / progress.BytesPerSecond
	}
	return progress
}

// manifest returns a manifest's progress, nil when it is not syncing.
func (s Snapshot) manifest(name string) *ManifestProgress {
	for _, m := range s.Manifests {
		if m.Name == name {
			return &m
		}
	}
	return nil
}
