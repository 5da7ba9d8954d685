package syncer

import (
	"maps"
	"sync"

	"syncd/internal/disk/space"
)

// adoptions are what the running adoptions need of the disk. Safe for concurrent use.
type adoptions struct {
	mu    sync.Mutex
	files map[string]bool // in the folder of unfinished downloads, which pruning keeps
	need  space.Amount    // for files that are still to be copied
}

// keep keeps a file from pruning until done is called.
func (a *adoptions) keep(name string) (done func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.files == nil {
		a.files = map[string]bool{}
	}
	a.files[name] = true
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.files, name)
	}
}

// partials returns the files to keep, in a new map.
func (a *adoptions) partials() map[string]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	files := make(map[string]bool, len(a.files))
	maps.Copy(files, a.files)
	return files
}

// reserve adds to the reserved space; a negative amount gives space back.
func (a *adoptions) reserve(bytes, inodes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.need.Bytes += bytes
	a.need.Inodes += inodes
}

func (a *adoptions) reserved() space.Amount {
	a.mu.Lock()
	defer a.mu.Unlock()
	return space.Amount{Bytes: max(a.need.Bytes, 0), Inodes: max(a.need.Inodes, 0)}
}
