package get

import (
	"errors"

	"syncd/internal/disk/flock"
	"syncd/internal/disk/fsops"
)

// removeUnfinished closes the lock first: a file that is open keeps its name.
// Another get of the same file may take the folder in between. It then fails, and nothing
// is lost.
func (g *getter) removeUnfinished(name string, unfinished *fsops.Dir, lock *flock.Lock) error {
	return errors.Join(lock.Release(), fsops.RemoveFolder(g.dir, name, unfinished))
}
