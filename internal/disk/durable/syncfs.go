package durable

import "syncd/internal/disk/fsops"

// SyncAll makes everything on the file system of dir durable.
func (d *Disk) SyncAll(dir *fsops.Dir) error { return syncFileSystem(dir) }

func syncFileSystem(dir *fsops.Dir) error {
	return fsops.Step("syncfs", dir.Path(), func() error { return syncfs(dir.Self()) })
}
