package report

import "time"

// Progress is the state of the running syncs at one moment. Trigger and StartedAt are
// those of the sync that has run longest.
type Progress struct {
	Syncing   bool               `json:"syncing"`
	Trigger   string             `json:"trigger,omitempty"`
	StartedAt time.Time          `json:"started_at,omitzero"`
	TraceID   string             `json:"trace_id,omitempty"` // of that sync; "" while tracing is off
	Manifests []ManifestProgress `json:"manifests,omitempty"`

	StuckSince map[string]time.Time `json:"-"`                 // by manifest: since when the provider sends nothing
	Files      []FileProgress       `json:"files,omitempty"`   // running downloads
	Probing    []string             `json:"probing,omitempty"` // manifests whose consumer is asked about what went live
	Retry      *Retry               `json:"retry,omitempty"`   // what has been retried for the longest time; nil for nothing
}

// The phases of a manifest in a sync.
const (
	PhaseWaiting     = "waiting"
	PhaseChecking    = "checking"
	PhaseDownloading = "downloading"
	PhaseComparing   = "comparing" // the rows of the complete revision are compared with the served ones
	PhaseGating      = "gating"    // the gate looks at the complete revision
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
	Retry      *Retry    `json:"retry,omitempty"`      // the request that is retried; nil for none
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

// Manifest returns a manifest's progress, nil when it is not syncing.
func (p Progress) Manifest(name string) *ManifestProgress {
	for _, m := range p.Manifests {
		if m.Name == name && m.Phase != PhaseDone {
			m.StuckSince = p.StuckSince[name]
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
func (p Progress) Total() Total {
	var t Total
	for _, m := range p.Manifests {
		t.FilesTotal, t.FilesDone = t.FilesTotal+m.FilesTotal, t.FilesDone+m.FilesDone
		t.BytesTotal, t.BytesDone = t.BytesTotal+m.BytesTotal, t.BytesDone+m.BytesDone
		t.BytesPerSecond += m.BytesPerSecond
	}
	t.BytesTotal = max(t.BytesTotal, t.BytesDone)
	t.SecondsLeft = SecondsLeft(t.BytesTotal-t.BytesDone, t.BytesPerSecond)
	return t
}

// SecondsLeft is how long bytes take at a speed; 0 when unknown.
func SecondsLeft(bytes int64, perSecond float64) float64 {
	if bytes <= 0 || perSecond <= 0 {
		return 0
	}
	return float64(bytes) / perSecond
}
