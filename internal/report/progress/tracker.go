package progress

import (
	"context"
	"slices"
	"sync"
	"time"

	"syncd/internal/report"
)

// Tracker follows the running syncs. One Tracker serves all syncs of a process.
// A manifest is in one running sync at a time. Its methods, and those of its Downloads,
// are safe for concurrent use; calls that name a manifest that is not syncing are
// ignored.
type Tracker struct {
	mu        sync.Mutex
	syncs     []*syncState
	downloads []*Download
	questions []*Wait // without an answer
	retries   map[string]*report.Retry
}

// syncState is one running sync.
type syncState struct {
	trigger   string
	started   time.Time
	context   context.Context // for its log lines
	manifests []*manifestState
}

// manifestState is a manifest's progress without its running downloads.
type manifestState struct {
	report.ManifestProgress
	arrived int64 // bytes that finished downloads received in this sync
	speed   speed
}

// Begin starts a sync of the named manifests, all of them waiting. The caller must
// call end.
func (t *Tracker) Begin(ctx context.Context, trigger string, started time.Time, manifests []string) (end func()) {
	s := &syncState{trigger: trigger, started: started, context: ctx}
	for _, name := range manifests {
		s.manifests = append(s.manifests, &manifestState{ManifestProgress: report.ManifestProgress{Name: name, Phase: report.PhaseWaiting}})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropDoneLocked(manifests)
	t.syncs = append(t.syncs, s)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.syncs = slices.DeleteFunc(t.syncs, func(other *syncState) bool { return other == s })
	}
}

// dropDoneLocked removes what earlier syncs, which still run, did for manifests.
func (t *Tracker) dropDoneLocked(manifests []string) {
	for _, s := range t.syncs {
		s.manifests = slices.DeleteFunc(s.manifests, func(m *manifestState) bool {
			return m.Phase == report.PhaseDone && slices.Contains(manifests, m.Name)
		})
	}
}

// SetPhase moves a manifest to another phase.
func (t *Tracker) SetPhase(manifest, phase string) {
	t.update(manifest, func(m *manifestState) {
		m.Phase = phase
		if phase == report.PhaseDownloading {
			m.speed.perSecond(time.Now(), m.arrived) // take the first sample
		}
	})
}

// SetFiles sets how many contents a manifest has to download, none of them done.
func (t *Tracker) SetFiles(manifest string, files int) {
	t.update(manifest, func(m *manifestState) { m.FilesTotal, m.FilesDone, m.BytesDone = files, 0, 0 })
}

// SetBytes sets the total size of a manifest's downloads, as far as it is known.
func (t *Tracker) SetBytes(manifest string, bytes int64) {
	t.update(manifest, func(m *manifestState) { m.BytesTotal = bytes })
}

// AddDone counts one content of the given size as downloaded.
func (t *Tracker) AddDone(manifest string, bytes int64) {
	t.update(manifest, func(m *manifestState) { m.FilesDone, m.BytesDone = m.FilesDone+1, m.BytesDone+bytes })
}

// ContextOf is the context of the sync that a manifest is in, for log lines about it.
func (t *Tracker) ContextOf(manifest string) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.syncs {
		for _, m := range s.manifests {
			if m.Name == manifest && m.Phase != report.PhaseDone {
				return s.context
			}
		}
	}
	return context.Background()
}

func (t *Tracker) update(manifest string, change func(*manifestState)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.updateLocked(manifest, change)
}

func (t *Tracker) updateLocked(manifest string, change func(*manifestState)) {
	for _, s := range t.syncs {
		for _, m := range s.manifests {
			if m.Name == manifest {
				change(m)
			}
		}
	}
}

// Download is one running download, or one file that is read to be adopted.
type Download struct {
	tracker *Tracker

	// Guarded by tracker.mu.
	file    report.FileProgress
	arrived int64 // received in this sync; a resumed file began with more on disk
	speed   speed
	moved   time.Time // when the provider was last heard of; zero while the download does not wait for it
}

// StartDownload adds a running download; size is -1 when unknown. The caller must
// call Finish.
func (t *Tracker) StartDownload(manifest, path string, size int64) *Download {
	d := &Download{tracker: t, file: report.FileProgress{Manifest: manifest, Path: path, Size: size}}
	t.mu.Lock()
	defer t.mu.Unlock()
	d.speed.perSecond(time.Now(), 0) // take the first sample
	t.downloads = append(t.downloads, d)
	return d
}

// Resize corrects the size, and the manifest's total with it.
func (d *Download) Resize(size int64) {
	d.tracker.mu.Lock()
	defer d.tracker.mu.Unlock()
	before := max(d.file.Size, 0)
	d.file.Size = size
	d.tracker.updateLocked(d.file.Manifest, func(m *manifestState) { m.BytesTotal += size - before })
}

// Move sets how many bytes of the file are on disk. Of those, received bytes have
// just come from the provider; a negative number counts as 0. From the first call on,
// the download waits for the provider.
func (d *Download) Move(received, done int64) {
	d.tracker.mu.Lock()
	defer d.tracker.mu.Unlock()
	d.arrived += max(received, 0)
	d.moved = time.Now()
	d.file.Done = done
}

// Write counts bytes that come from a disk instead of the provider. It never fails.
func (d *Download) Write(b []byte) (int, error) {
	d.tracker.mu.Lock()
	defer d.tracker.mu.Unlock()
	d.arrived += int64(len(b))
	d.file.Done += int64(len(b))
	return len(b), nil
}

// Received notes that the download waits for nothing more from the provider.
func (d *Download) Received() {
	d.tracker.mu.Lock()
	defer d.tracker.mu.Unlock()
	d.moved = time.Time{}
}

// Finish removes the download, whether it succeeded or failed.
func (d *Download) Finish() {
	t := d.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	t.updateLocked(d.file.Manifest, func(m *manifestState) { m.arrived += d.arrived })
	t.downloads = slices.DeleteFunc(t.downloads, func(other *Download) bool { return other == d })
}
