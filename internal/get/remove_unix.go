//go:build !windows

package get

import (
	"syncd/internal/fsops"
	"syncd/internal/lockfile"
)

// removeUnfinished removes the folder of a download while its lock keeps others out.
func (g *getter) removeUnfinished(name string, _ *fsops.Dir, _ *lockfile.Lock) error {
	return g.dir.RemoveAll(name)
}
