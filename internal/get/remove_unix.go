//go:build !windows

package get

import (
	"syncd/internal/disk/flock"
	"syncd/internal/disk/fsops"
)

// removeUnfinished removes the folder of a download while its lock keeps others out.
func (g *getter) removeUnfinished(name string, unfinished *fsops.Dir, _ *flock.Lock) error {
	return fsops.RemoveFolder(g.dir, name, unfinished)
}
