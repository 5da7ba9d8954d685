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
	manifests []*ManifestProgress
	bars      []*bar
}

// bar is one download under way.
type bar struct {
	manifest, path string
	size           atomic.Int64 // -1 when unknown
	done           atomic.Int64
}

// Snapshot is the state of a sync at one moment.
type Snapshot struct {
	Syncing   bool               `json:"syncing"`
	Trigger   string             `json:"trigger,omitempty"`
	StartedAt time.Time          `json:"started_at,omitzero"`
	Manifests []ManifestProgress `json:"manifests,omitempty"`
	Files     []FileProgress     `json:"files,omitempty"` // downloads under way
}

// ManifestProgress counts the contents that a manifest misses. Bytes grow while
// sizes become known.
type ManifestProgress struct {
	Name       string `json:"name"`
	Phase      string `json:"phase"` // waiting, checking, downloading, publishing
	FilesTotal int    `json:"files_total"`
	FilesDone  int    `json:"files_done"`
	BytesTotal int64  `json:"bytes_total"`
	BytesDone  int64  `json:"bytes_done"`
}

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
	for _, m := range p.manifests {
		s.Manifests = append(s.Manifests, *m)
	}
	for _, b := range p.bars {
		f := FileProgress{Manifest: b.manifest, Path: b.path, Size: b.size.Load(), Done: b.done.Load()}
		s.Files = append(s.Files, f)
		for i := range s.Manifests {
			if s.Manifests[i].Name == b.manifest {
				s.Manifests[i].BytesDone += f.Done
			}
		}
	}
	return s
}

func (p *Progress) begin(trigger string, started time.Time, targets []Target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.syncing, p.trigger, p.started, p.manifests = true, trigger, started, nil
	for _, t := range targets {
		p.manifests = append(p.manifests, &ManifestProgress{Name: t.Name, Phase: "waiting"})
	}
}

func (p *Progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.syncing, p.trigger, p.started, p.manifests, p.bars = false, "", time.Time{}, nil, nil
}

func (p *Progress) update(name string, change func(*ManifestProgress)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.manifests {
		if m.Name == name {
			change(m)
		}
	}
}

func (p *Progress) phase(name, phase string) {
	p.update(name, func(m *ManifestProgress) { m.Phase = phase })
}

// planned sets how many contents are to be fetched; sized adds their bytes.
func (p *Progress) planned(name string, plan manifest.Plan) {
	p.update(name, func(m *ManifestProgress) { m.FilesTotal, m.FilesDone, m.BytesDone = len(plan.Missing), 0, 0 })
}

func (p *Progress) sized(name string, bytes int64) {
	p.update(name, func(m *ManifestProgress) { m.BytesTotal = bytes })
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
	p.update(b.manifest, func(m *ManifestProgress) { m.BytesTotal += size - before })
}

func (p *Progress) moved(b *bar, done int64) { b.done.Store(done) }

func (p *Progress) finish(b *bar) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bars = slices.DeleteFunc(p.bars, func(other *bar) bool { return other == b })
}

func (p *Progress) done(name string, bytes int64) {
	p.update(name, func(m *ManifestProgress) { m.FilesDone, m.BytesDone = m.FilesDone+1, m.BytesDone+bytes })
}
