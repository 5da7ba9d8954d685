//go:build linux

package doctor

import (
	"errors"
	"io/fs"

	"syncd/internal/disk/fsops"
)

// checkFolder looks at source.bundles. The checks of a network do not follow it.
func (p *provider) checkFolder() []Finding {
	folder := p.cfg.Source.Bundles
	err := p.worker.Do(func() error {
		dir, err := fsops.OpenDir(folder)
		if err != nil {
			return err
		}
		return dir.Close() // its names may be endless
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []Finding{skipped("no network is needed: bundles come from %s, which does not exist by now: mount a disk there, or make the folder", folder)}
	case err != nil:
		return []Finding{failure("let user "+p.worker.Name+" read the folder and the bundles in it", "source.bundles: user %s cannot read %s: %v", p.worker.Name, folder, cause(err))}
	}
	return []Finding{skipped("no network is needed: bundles come from %s, which user %s can read", folder, p.worker.Name)}
}
