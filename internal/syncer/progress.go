package syncer

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"syncd/internal/manifest"
)

// Progress is what the running sync has done so far. One Progress outlives the
// Syncers of a process; safe for concurrent use.
type Progress struct {
	mu        sync.Mutex
	syncing   bool
	trigger   string
	started   time.Time
	manifests []*tracked
	bars      []*bar
}

// tracked is a manifest's progress with what its speed is computed from.
type tracked struct {
	ManifestProgress
	arrived int64 // by downloads that are over
	speed   speed
}

// bar is one download under way.
type bar struct {
	manifest, path string
	size           atomic.Int64 // -1 when unknown
	done           atomic.Int64
	arrived        atomic.Int64 // without what an earlier sync left
}

// Snapshot is the state of a sync at one moment.
type Snapshot struct {
	Syncing   bool               `json:"syncing"`
	Trigger   string             `json:"trigger,omitempty"`
	StartedAt time.Time          `json:"started_at,omitzero"`
	Manifests []ManifestProgress `json:"manifests,omitempty"`
	Files     []FileProgress     `json:"files,omitempty"` // downloads under way
}

// of returns a manifest's progress, nil when it is not being synced.
func (s Snapshot) of(name string) *ManifestProgress {
	for _, m := range s.Manifests {
		if m.Name == name {
			return &m
		}
	}
	return nil
}

// ManifestProgress counts the contents that a manifest misses. Bytes grow while
// sizes become known.
type ManifestProgress struct {
	Name       string `json:"name"`
	Phase      string `json:"phase"`
	FilesTotal int    `json:"files_total"`
	FilesDone  int    `json:"files_done"`
	BytesTotal int64  `json:"bytes_total"`
	BytesDone  int64  `json:"bytes_done"`

	BytesPerSecond float64 `json:"bytes_per_second,omitzero"` // lately
	SecondsLeft    float64 `json:"seconds_left,omitzero"`     // at that speed; 0 when unknown
}

// The phases of a manifest in a sync.
const (
	waiting     = "waiting"
	checking    = "checking"
	downloading = "downloading"
	publishing  = "publishing"
)

// FileProgress is one download under way; Size is -1 when unknown.
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
	for _, b := range p.bars {
		s.Files = append(s.Files, FileProgress{Manifest: b.manifest, Path: b.path, Size: b.size.Load(), Done: b.done.Load()})
	}
	for _, m := range p.manifests {
		s.Manifests = append(s.Manifests, p.lookLocked(m, now))
	}
	return s
}

// lookLocked is a manifest's progress with that of its downloads under way.
func (p *Progress) lookLocked(m *tracked, now time.Time) ManifestProgress {
	seen, arrived := m.ManifestProgress, m.arrived
	for _, b := range p.bars {
		if b.manifest == m.Name {
			seen.BytesDone += b.done.Load()
			arrived += b.arrived.Load()
		}
	}
	if seen.Phase != downloading {
		return seen
	}
	seen.BytesPerSecond = m.speed.perSecond(now, arrived)
	if left := seen.BytesTotal - seen.BytesDone; left > 0 && seen.BytesPerSecond > 0 {
		seen.SecondsLeft = float64(left) / seen.BytesPerSecond
	}
	return seen
}

func (p *Progress) begin(trigger string, started time.Time, targets []Target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.syncing, p.trigger, p.started, p.manifests = true, trigger, started, nil
	for _, t := range targets {
		p.manifests = append(p.manifests, &tracked{ManifestProgress: ManifestProgress{Name: t.Name, Phase: waiting}})
	}
}

func (p *Progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.syncing, p.trigger, p.started, p.manifests, p.bars = false, "", time.Time{}, nil, nil
}

func (p *Progress) update(name string, change func(*tracked)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.manifests {
		if m.Name == name {
			change(m)
		}
	}
}

func (p *Progress) phase(name, phase string) {
	p.update(name, func(m *tracked) {
		m.Phase = phase
		if phase == downloading {
			m.speed.perSecond(time.Now(), m.arrived) // from here on it counts
		}
	})
}

// planned sets how many contents are to be fetched; sized adds their bytes.
func (p *Progress) planned(name string, plan manifest.Plan) {
	p.update(name, func(m *tracked) { m.FilesTotal, m.FilesDone, m.BytesDone = len(plan.Missing), 0, 0 })
}

func (p *Progress) sized(name string, bytes int64) {
	p.update(name, func(m *tracked) { m.BytesTotal = bytes })
}

func (p *Progress) start(name, path string, size int64) *bar {
	b := &bar{manifest: name, path: path}
	b.size.Store(size)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bars = append(p.bars, b)
	return b
}

// resize corrects a size that was not, or wrongly, foreseen.
func (p *Progress) resize(b *bar, size int64) {
	before := max(b.size.Swap(size), 0)
	p.update(b.manifest, func(m *tracked) { m.BytesTotal += size - before })
}

// moved sets how much of a file is there, of which bytes have just arrived.
func (p *Progress) moved(b *bar, bytes, done int64) {
	b.arrived.Add(max(bytes, 0))
	b.done.Store(done)
}

func (p *Progress) finish(b *bar) {
	p.update(b.manifest, func(m *tracked) { m.arrived += b.arrived.Load() })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bars = slices.DeleteFunc(p.bars, func(other *bar) bool { return other == b })
}

func (p *Progress) done(name string, bytes int64) {
	p.update(name, func(m *tracked) { m.FilesDone, m.BytesDone = m.FilesDone+1, m.BytesDone+bytes })
}
