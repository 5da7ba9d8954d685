package report

import (
	"slices"
	"sync"
	"time"
)

// Progress follows the running syncs. One Progress serves all syncs of a process.
// A manifest is in one running sync at a time. Its methods, and those of its Downloads,
// are safe for concurrent use; calls that name a manifest that is not syncing are
// ignored.
type Progress struct {
	mu        sync.Mutex
	syncs     []*syncState
	downloads []*Download
	questions []*Wait // without an answer
}

// syncState is one running sync.
type syncState struct {
	trigger   string
	started   time.Time
	manifests []*manifestState
}

// manifestState is a manifest's progress without its running downloads.
type manifestState struct {
	ManifestProgress
	arrived int64 // bytes that finished downloads received in this sync
	speed   speed
}

// Begin starts a sync of the named manifests, all of them waiting. The caller must
// call end.
func (p *Progress) Begin(trigger string, started time.Time, manifests []string) (end func()) {
	s := &syncState{trigger: trigger, started: started}
	for _, name := range manifests {
		s.manifests = append(s.manifests, &manifestState{ManifestProgress: ManifestProgress{Name: name, Phase: PhaseWaiting}})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropDoneLocked(manifests)
	p.syncs = append(p.syncs, s)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.syncs = slices.DeleteFunc(p.syncs, func(other *syncState) bool { return other == s })
	}
}

// dropDoneLocked removes what earlier syncs, which still run, did for manifests.
func (p *Progress) dropDoneLocked(manifests []string) {
	for _, s := range p.syncs {
		s.manifests = slices.DeleteFunc(s.manifests, func(m *manifestState) bool {
			return m.Phase == PhaseDone && slices.Contains(manifests, m.Name)
		})
	}
}

// SetPhase moves a manifest to another phase.
func (p *Progress) SetPhase(manifest, phase string) {
	p.update(manifest, func(m *manifestState) {
		m.Phase = phase
		if phase == PhaseDownloading {
			m.speed.perSecond(time.Now(), m.arrived) // take the first sample
		}
	})
}

// SetFiles sets how many contents a manifest has to download, none of them done.
func (p *Progress) SetFiles(manifest string, files int) {
	p.update(manifest, func(m *manifestState) { m.FilesTotal, m.FilesDone, m.BytesDone = files, 0, 0 })
}

// SetBytes sets the total size of a manifest's downloads, as far as it is known.
func (p *Progress) SetBytes(manifest string, bytes int64) {
	p.update(manifest, func(m *manifestState) { m.BytesTotal = bytes })
}

// AddDone counts one content of the given size as downloaded.
func (p *Progress) AddDone(manifest string, bytes int64) {
	p.update(manifest, func(m *manifestState) { m.FilesDone, m.BytesDone = m.FilesDone+1, m.BytesDone+bytes })
}

func (p *Progress) update(manifest string, change func(*manifestState)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.updateLocked(manifest, change)
}

func (p *Progress) updateLocked(manifest string, change func(*manifestState)) {
	for _, s := range p.syncs {
		for _, m := range s.manifests {
			if m.Name == manifest {
				change(m)
			}
		}
	}
}

// Download is one running download, or one file that is read to be adopted.
type Download struct {
	progress *Progress

	// Guarded by progress.mu.
	file    FileProgress
	arrived int64 // received in this sync; a resumed file began with more on disk
	speed   speed
	moved   time.Time // when the provider was last heard of; zero while the download does not wait for it
}

// StartDownload adds a running download; size is -1 when unknown. The caller must
// call Finish.
func (p *Progress) StartDownload(manifest, path string, size int64) *Download {
	d := &Download{progress: p, file: FileProgress{Manifest: manifest, Path: path, Size: size}}
	p.mu.Lock()
	defer p.mu.Unlock()
	d.speed.perSecond(time.Now(), 0) // take the first sample
	p.downloads = append(p.downloads, d)
	return d
}

// Resize corrects the size, and the manifest's total with it.
func (d *Download) Resize(size int64) {
	d.progress.mu.Lock()
	defer d.progress.mu.Unlock()
	before := max(d.file.Size, 0)
	d.file.Size = size
	d.progress.updateLocked(d.file.Manifest, func(m *manifestState) { m.BytesTotal += size - before })
}

// Move sets how many bytes of the file are on disk. Of those, received bytes have
// just come from the provider; a negative number counts as 0. From the first call on,
// the download waits for the provider.
func (d *Download) Move(received, done int64) {
	d.progress.mu.Lock()
	defer d.progress.mu.Unlock()
	d.arrived += max(received, 0)
	d.moved = time.Now()
	d.file.Done = done
}

// Write counts bytes that come from a disk instead of the provider. It never fails.
func (d *Download) Write(b []byte) (int, error) {
	d.progress.mu.Lock()
	defer d.progress.mu.Unlock()
	d.arrived += int64(len(b))
	d.file.Done += int64(len(b))
	return len(b), nil
}

// Received notes that the download waits for nothing more from the provider.
func (d *Download) Received() {
	d.progress.mu.Lock()
	defer d.progress.mu.Unlock()
	d.moved = time.Time{}
}

// Finish removes the download, whether it succeeded or failed.
func (d *Download) Finish() {
	p := d.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	p.updateLocked(d.file.Manifest, func(m *manifestState) { m.arrived += d.arrived })
	p.downloads = slices.DeleteFunc(p.downloads, func(other *Download) bool { return other == d })
}
