package adopt

import (
	"maps"
	"sync"

	"syncd/internal/disk/space"
)

// Ledger says what the running adoptions of a data directory need of the disk. The zero
// value is ready to use. Safe for concurrent use.
type Ledger struct {
	mu    sync.Mutex
	files map[string]bool // in the folder of unfinished downloads, which pruning keeps
	need  space.Amount    // for files that are still to be copied
}

// keep keeps a file from pruning until done is called.
func (l *Ledger) keep(name string) (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.files == nil {
		l.files = map[string]bool{}
	}
	l.files[name] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.files, name)
	}
}

// Partials returns the files to keep, in a new map.
func (l *Ledger) Partials() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	files := make(map[string]bool, len(l.files))
	maps.Copy(files, l.files)
	return files
}

// reserve adds to the reserved space; a negative amount gives space back.
func (l *Ledger) reserve(bytes, inodes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.need.Bytes += bytes
	l.need.Inodes += inodes
}

// Reserved is the space that will still be taken.
func (l *Ledger) Reserved() space.Amount {
	l.mu.Lock()
	defer l.mu.Unlock()
	return space.Amount{Bytes: max(l.need.Bytes, 0), Inodes: max(l.need.Inodes, 0)}
}
