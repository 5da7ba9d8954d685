package destroy

import (
	"path/filepath"
	"sync"
	"time"

	"syncd/internal/manifest/destruction"
	"syncd/internal/mirror"
)

// Public is what this host tells others of its destructions. It reads the ledger only when
// that changed, because each poll of a follower asks. Safe for concurrent use.
type Public struct {
	mirror *mirror.Mirror

	mu sync.Mutex // guards what follows
	of map[string]public
}

// public is what is told of one manifest.
type public struct {
	gone []destruction.Gone
	seen [2]time.Time // when the folders of its notes and of its revisions changed
	read time.Time
}

// NewPublic returns the Public of a data directory.
func NewPublic(m *mirror.Mirror) *Public { return &Public{mirror: m, of: map[string]public{}} }

// slowClock is longer than the steps in which a file system counts the times of folders.
const slowClock = time.Second

// Gone returns the newest destroyed revisions of a manifest, see GoneOf. What cannot be read
// is told as soon as it can.
func (p *Public) Gone(name string) []destruction.Gone {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, found := p.of[name]
	seen := [2]time.Time{p.changed(filepath.Join(dir, name)), p.changed(filepath.Join("revisions", name))}
	if seen[0].IsZero() { // nothing of it was destroyed
		return nil
	}
	isSettled := known.read.Sub(known.seen[0]) > slowClock && known.read.Sub(known.seen[1]) > slowClock
	if found && known.seen == seen && isSettled {
		return known.gone
	}
	next := public{seen: seen, read: time.Now()}
	done, err := NewLedger(p.mirror.Root(), nil).Heads(name)
	if next.gone = GoneOf(done, p.mirror.Records.RevisionIDs(name)); err != nil && len(done) == 0 {
		return known.gone
	}
	p.of[name] = next
	return next.gone
}

// changed is when a folder changed; the zero time if there is none.
func (p *Public) changed(folder string) time.Time {
	info, err := p.mirror.Root().Lstat(folder)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
